//! Stored values and terms as readable text that differs where they do.

use tantivy::schema::OwnedValue;

/// A stored value as a key; numbers in decimal digits.
pub fn key_string(value: &OwnedValue) -> String {
    match value {
        OwnedValue::Str(text) => text.clone(),
        OwnedValue::PreTokStr(text) => text.text.clone(),
        OwnedValue::U64(number) => number.to_string(),
        OwnedValue::I64(number) => number.to_string(),
        other => panic!("{other:?} is no key"),
    }
}

/// A stored value; dates as nanoseconds, floats so that every bit pattern has its own text.
pub fn render_value(value: &OwnedValue) -> String {
    match value {
        OwnedValue::F64(number) => format!("F64({number:?}/{:x})", number.to_bits()),
        OwnedValue::Date(date) => format!("Date({})", date.into_timestamp_nanos()),
        OwnedValue::Array(values) => format!("[{}]", values.iter().map(render_value).collect::<Vec<_>>().join(", ")),
        OwnedValue::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{key:?}: {}", render_value(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        other => format!("{other:?}"),
    }
}

/// Bytes as a quoted string where they are one, else as hexadecimal digits.
pub fn render(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => format!("{text:?}"),
        Err(_) => format!("0x{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
    }
}
