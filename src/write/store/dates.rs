//! Dates of version 1 stores: microseconds become the nanoseconds of version 2, in place.
//!
//! A stored document is a VInt number of values, then per value the field id as u32 LE and the value: a type byte and
//! its bytes (tantivy 0.27, `src/schema/document/{se,de}.rs`): 0 text, 3 facet, 4 bytes: VInt length and bytes; 1 u64,
//! 2 i64, 5 date, 6 f64: 8 bytes; 7 extension: a further byte, 0 for a pre-tokenised string: VInt-prefixed text and a
//! VInt number of tokens; 8 old JSON object: JSON text; 9 bool: 1 byte; 10 IP address: 16 bytes; 11 null; 12 array: VInt
//! number of values; 13 object: VInt twice the number of entries, then keys and values in turn.

/// Deepest nesting that is followed; deeper documents are damage, not data (serde_json itself stops at 128).
const DEEPEST: u32 = 512;

/// Converts all dates of a document from microseconds to nanoseconds.
pub(super) fn to_nanoseconds(doc: &mut [u8]) -> Result<(), String> {
    let mut cursor = Cursor { doc, at: 0 };
    let values = cursor.vint()?;
    for _ in 0..values {
        cursor.skip(4)?;
        cursor.value(0)?;
    }
    Ok(())
}

struct Cursor<'a> {
    doc: &'a mut [u8],
    at: usize,
}

impl Cursor<'_> {
    fn value(&mut self, depth: u32) -> Result<(), String> {
        if depth > DEEPEST {
            return Err(format!("a document is nested deeper than {DEEPEST}"));
        }
        match self.byte()? {
            0 | 3 | 4 => self.skip_prefixed(),
            1 | 2 | 6 => self.skip(8),
            5 => self.date(),
            7 => Err("a document has an extension value, which stores never hold".to_owned()),
            8 => self.json(),
            9 => self.skip(1),
            10 => self.skip(16),
            11 => Ok(()),
            12 | 13 => {
                let values = self.vint()?;
                (0..values).try_for_each(|_| self.value(depth + 1))
            }
            other => Err(format!("a document has a value of unknown type {other}")),
        }
    }

    fn date(&mut self) -> Result<(), String> {
        let end = self.at + 8;
        let bytes = self.doc.get_mut(self.at..end).and_then(|bytes| bytes.first_chunk_mut::<8>());
        let bytes = bytes.ok_or_else(short)?;
        let micros = i64::from_le_bytes(*bytes);
        let nanos = micros.checked_mul(1000).ok_or_else(|| {
            format!("a stored date of {micros} microseconds does not fit nanoseconds, which is how tantivy 0.27 stores dates")
        })?;
        *bytes = nanos.to_le_bytes();
        self.at = end;
        Ok(())
    }

    /// JSON text has no length; it ends where its outermost value ends.
    fn json(&mut self) -> Result<(), String> {
        let rest = self.doc.get(self.at..).unwrap_or(&[]);
        let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<serde::de::IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => {
                self.at += values.byte_offset();
                Ok(())
            }
            _ => Err("a document has a JSON value that does not parse".to_owned()),
        }
    }

    fn skip_prefixed(&mut self) -> Result<(), String> {
        let len = self.vint()?;
        self.skip(usize::try_from(len).map_err(|_| short())?)
    }

    fn skip(&mut self, len: usize) -> Result<(), String> {
        let end = self.at.checked_add(len).filter(|&end| end <= self.doc.len()).ok_or_else(short)?;
        self.at = end;
        Ok(())
    }

    fn byte(&mut self) -> Result<u8, String> {
        let byte = self.doc.get(self.at).copied().ok_or_else(short)?;
        self.at += 1;
        Ok(byte)
    }

    fn vint(&mut self) -> Result<u64, String> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 != 0 {
                return Ok(value);
            }
        }
        Err(short())
    }
}

fn short() -> String {
    "a document ends early".to_owned()
}

#[cfg(test)]
mod tests {
    use super::to_nanoseconds;

    /// One value of field 1.
    fn doc(value: &[u8]) -> Vec<u8> {
        [&[0x81, 1, 0, 0, 0], value].concat()
    }

    #[test]
    fn dates_are_scaled_wherever_they_are_nested_and_nothing_else_is_touched() {
        let date = |value: i64| [&[5][..], &value.to_le_bytes()].concat();
        let text = |text: &str| [&[0, 0x80 | text.len() as u8][..], text.as_bytes()].concat();
        let build = |stamp: i64| {
            let inner = [&[12, 0x83][..], &date(stamp), &text("5"), &[2][..], &stamp.to_le_bytes()].concat();
            // {"a": [date, "5", i64], "b": null}
            doc(&[&[13, 0x84][..], &text("a"), &inner, &text("b"), &[11]].concat())
        };
        let mut converted = build(123);
        to_nanoseconds(&mut converted).unwrap();
        let mut expected = build(123);
        let at = expected.windows(9).position(|window| window == date(123)).unwrap();
        expected[at..at + 9].copy_from_slice(&date(123_000));
        assert_eq!(converted, expected);
    }

    #[test]
    fn a_date_that_does_not_fit_is_refused() {
        let mut bytes = doc(&[&[5][..], &i64::MAX.to_le_bytes()].concat());
        assert!(to_nanoseconds(&mut bytes).unwrap_err().contains("does not fit"));
    }

    #[test]
    fn every_truncation_is_an_error() {
        let whole = doc(&[&[13, 0x82][..], &[0, 0x81, b'k'], &[12, 0x82, 9, 1, 10], &[7; 16]].concat());
        to_nanoseconds(&mut whole.clone()).unwrap();
        for len in 0..whole.len() {
            assert!(to_nanoseconds(&mut whole[..len].to_vec()).is_err(), "cut to {len} bytes");
        }
    }

    #[test]
    fn an_old_json_object_is_stepped_over() {
        let mut bytes =
            [&[0x82, 1, 0, 0, 0, 8][..], br#"{"a":[1,"}"]}"#, &[2, 0, 0, 0, 5], &7i64.to_le_bytes()].concat();
        to_nanoseconds(&mut bytes).unwrap();
        assert!(bytes.ends_with(&7000i64.to_le_bytes()));
    }
}
