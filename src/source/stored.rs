//! Walking a stored document without materialising it: the values of one field, or where dates and old JSON stand.
//!
//! Format (tantivy 0.27, `src/schema/document/{se,de}.rs`): a VInt number of values, then per value the field id as
//! u32 LE, a type code, and the payload. VInt: seven bits a byte, low ones first, the top bit set on the last byte.
//!
//! | code | type | payload |
//! |---|---|---|
//! | 0, 3, 4 | text, facet, bytes | VInt length, bytes |
//! | 1, 2, 5, 6 | u64, i64, date, f64 | 8 bytes LE |
//! | 7 | extension | code 0 (pre-tokenised text), VInt length, JSON with the key `text` |
//! | 8 | JSON object of old versions | JSON text, self-delimiting |
//! | 9 | bool | 1 byte |
//! | 10 | IP address | 16 bytes |
//! | 11 | null | nothing |
//! | 12 | array | VInt number of values, then each as code and payload |
//! | 13 | object | twice the number of entries as VInt, then names (as text) and values alternating |

use serde::de::IgnoredAny;

use super::bytes::Bytes;

/// A value of the field that was asked for.
#[derive(Debug, PartialEq)]
pub(crate) enum StoredValue<'a> {
    Text(&'a str),
    Unsigned(u64),
    Signed(i64),
    /// Of a type that cannot be a key.
    Other(&'static str),
}

/// Calls `visit` with the values of field number `field` in `document`; arrays are flattened, nulls are no values.
///
/// # Errors
/// What is wrong with the document's bytes.
pub(crate) fn visit_values(
    document: &[u8],
    field: u32,
    visit: &mut dyn FnMut(StoredValue<'_>),
) -> Result<(), &'static str> {
    let mut values = Values(Bytes::new(document));
    for _ in 0..values.vint()? {
        if u32::from_le_bytes(values.array()?) == field {
            values.show(visit)?;
        } else {
            values.skip(1)?;
        }
    }
    Ok(())
}

/// Calls `visit` with the offset of every date in `document`, however deep: eight bytes, an i64 LE.
///
/// # Errors
/// What is wrong with the document's bytes.
pub(crate) fn visit_dates(document: &[u8], visit: &mut dyn FnMut(usize)) -> Result<(), &'static str> {
    visit_payloads(document, &mut |payload, end| {
        if matches!(payload, Payload::Date) {
            visit(end - DATE);
        }
    })
}

/// Whether a JSON object of old versions, which is its text, stands in `document`.
///
/// # Errors
/// What is wrong with the document's bytes.
pub(crate) fn holds_json_text(document: &[u8]) -> Result<bool, &'static str> {
    let mut found = false;
    visit_payloads(document, &mut |payload, _| found |= matches!(payload, Payload::JsonText))?;
    Ok(found)
}

/// Calls `visit` with every value, however deep, and the offset at which it ends.
fn visit_payloads(document: &[u8], visit: &mut dyn FnMut(&Payload<'_>, usize)) -> Result<(), &'static str> {
    let mut values = Values(Bytes::new(document));
    for _ in 0..values.vint()? {
        values.array::<4>()?;
        let mut left = 1u64;
        while left > 0 {
            left -= 1;
            let payload = values.payload()?;
            visit(&payload, document.len() - values.0.len());
            if let Payload::Array(count) | Payload::Object(count) = payload {
                left = left.checked_add(count).ok_or(CUT)?;
            }
        }
    }
    Ok(())
}

/// Arrays and objects within each other that a document may have: decoders go into themselves for each.
const DEEPEST: usize = 500;

/// Whether a decoder that believes what it reads can be let at `document`: every length in it is one that its bytes can
/// keep, and nothing is nested without end.
///
/// # Errors
/// What is wrong with the document's bytes.
pub(crate) fn check_document(document: &[u8]) -> Result<(), &'static str> {
    let mut values = Values(Bytes::new(document));
    // Values still to come, per array or object that is open.
    let mut open: Vec<u64> = Vec::new();
    for _ in 0..values.vint()? {
        values.array::<4>()?;
        loop {
            match values.payload()? {
                Payload::Array(count) | Payload::Object(count) if count > 0 => {
                    open.push(count);
                    if open.len() > DEEPEST {
                        return Err("its values are nested too deeply");
                    }
                    continue;
                }
                _ => {}
            }
            while let Some(left) = open.last_mut() {
                *left -= 1;
                if *left > 0 {
                    break;
                }
                open.pop();
            }
            if open.is_empty() {
                break;
            }
        }
    }
    Ok(())
}

/// Bytes of a date.
const DATE: usize = 8;

const CUT: &str = "it ends within a value";

/// A type code and what follows it; of arrays and objects the number of values that follow.
enum Payload<'a> {
    Text(&'a [u8]),
    PreTokenised(&'a [u8]),
    Unsigned(u64),
    Signed(i64),
    Date,
    JsonText,
    Other(&'static str),
    Null,
    Array(u64),
    Object(u64),
}

struct Values<'a>(Bytes<'a>);

impl<'a> Values<'a> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        self.0.array().ok_or(CUT)
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], &'static str> {
        self.0.take(len).ok_or(CUT)
    }

    fn vint(&mut self) -> Result<u64, &'static str> {
        self.0.vint().ok_or("a length in it does not end, or is none")
    }

    fn with_len(&mut self) -> Result<&'a [u8], &'static str> {
        let len = self.vint()?;
        self.take(usize::try_from(len).map_err(|_| CUT)?)
    }

    /// A number of values to follow: each of them takes a byte at least.
    fn count(&mut self) -> Result<u64, &'static str> {
        let count = self.vint()?;
        if count <= self.0.len() as u64 { Ok(count) } else { Err(CUT) }
    }

    fn payload(&mut self) -> Result<Payload<'a>, &'static str> {
        let [code] = self.array()?;
        Ok(match code {
            0 => Payload::Text(self.with_len()?),
            1 => Payload::Unsigned(u64::from_le_bytes(self.array()?)),
            2 => Payload::Signed(i64::from_le_bytes(self.array()?)),
            3 => self.with_len().map(|_| Payload::Other("a facet"))?,
            4 => self.with_len().map(|_| Payload::Other("bytes"))?,
            5 => self.take(DATE).map(|_| Payload::Date)?,
            6 => self.take(8).map(|_| Payload::Other("a floating-point number"))?,
            7 => match self.array()? {
                [0] => Payload::PreTokenised(self.with_len()?),
                _ => return Err("a value in it has an unknown extension code"),
            },
            8 => {
                let mut json = serde_json::Deserializer::from_slice(self.0.rest()).into_iter::<IgnoredAny>();
                let Some(Ok(_)) = json.next() else { return Err("a JSON object in it does not parse") };
                let len = json.byte_offset();
                self.take(len).map(|_| Payload::JsonText)?
            }
            9 => self.take(1).map(|_| Payload::Other("a boolean"))?,
            10 => self.take(16).map(|_| Payload::Other("an IP address"))?,
            11 => Payload::Null,
            12 => Payload::Array(self.count()?),
            13 => Payload::Object(self.count()?),
            _ => return Err("a value in it has an unknown type code"),
        })
    }

    /// Skips `left` values and all that is nested in them. Not recursive: the depth is a number from disk.
    fn skip(&mut self, mut left: u64) -> Result<(), &'static str> {
        while left > 0 {
            left -= 1;
            if let Payload::Array(count) | Payload::Object(count) = self.payload()? {
                left = left.checked_add(count).ok_or(CUT)?;
            }
        }
        Ok(())
    }

    /// Shows one value, or the values of an array.
    fn show(&mut self, visit: &mut dyn FnMut(StoredValue<'_>)) -> Result<(), &'static str> {
        let mut left = 1u64;
        while left > 0 {
            left -= 1;
            match self.payload()? {
                Payload::Text(text) => {
                    visit(StoredValue::Text(std::str::from_utf8(text).map_err(|_| "a text in it is not UTF-8")?));
                }
                Payload::PreTokenised(json) => {
                    let value: PreTokenised =
                        serde_json::from_slice(json).map_err(|_| "a pre-tokenised text in it does not parse")?;
                    visit(StoredValue::Text(&value.text));
                }
                Payload::Unsigned(number) => visit(StoredValue::Unsigned(number)),
                Payload::Signed(number) => visit(StoredValue::Signed(number)),
                Payload::Date => visit(StoredValue::Other("a date")),
                Payload::JsonText => visit(StoredValue::Other("a JSON object")),
                Payload::Other(kind) => visit(StoredValue::Other(kind)),
                Payload::Null => {}
                Payload::Array(count) => left = left.checked_add(count).ok_or(CUT)?,
                Payload::Object(count) => {
                    self.skip(count)?;
                    visit(StoredValue::Other("a JSON object"));
                }
            }
        }
        Ok(())
    }
}

#[derive(serde::Deserialize)]
struct PreTokenised {
    text: String,
}

#[cfg(test)]
mod tests;
