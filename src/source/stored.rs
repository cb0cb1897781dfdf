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
mod tests {
    use super::*;

    /// Field 1 between fields of every other type, spelt out byte by byte.
    fn document() -> Vec<u8> {
        let mut bytes = vec![0x80 | 13];
        let mut value = |field: u8, payload: &[u8]| {
            bytes.extend_from_slice(&[field, 0, 0, 0]);
            bytes.extend_from_slice(payload);
        };
        value(0, b"\x00\x83abc");
        value(1, b"\x00\x84d\xc3\xbcx");
        value(2, &[1, 1, 0, 0, 0, 0, 0, 0, 0]);
        value(1, &[1, 7, 0, 0, 0, 0, 0, 0, 0]);
        value(2, b"\x08{\"a\":[1,{\"b\":\"}\"}]}");
        value(2, &[9, 1]);
        value(2, &[10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        value(2, b"\x0d\x84\x00\x81k\x0c\x82\x0b\x09\x01\x00\x81l\x00\x81v");
        value(1, b"\x0c\x83\x0b\x00\x81y\x0d\x82\x00\x81k\x00\x81v");
        value(1, &[2, 255, 255, 255, 255, 255, 255, 255, 255]);
        value(1, b"\x07\x00\x98{\"text\":\"z\",\"tokens\":[]}");
        value(1, &[5, 0, 0, 0, 0, 0, 0, 0, 0]);
        value(2, b"\x03\x81f");
        bytes
    }

    fn shown(document: &[u8], field: u32) -> Result<Vec<String>, &'static str> {
        let mut values = Vec::new();
        visit_values(document, field, &mut |value| values.push(format!("{value:?}")))?;
        Ok(values)
    }

    #[test]
    fn only_the_values_of_the_field_are_shown_whatever_stands_between_them() {
        let expected = [
            "Text(\"düx\")",
            "Unsigned(7)",
            "Text(\"y\")",
            "Other(\"a JSON object\")",
            "Signed(-1)",
            "Text(\"z\")",
            "Other(\"a date\")",
        ];
        assert_eq!(shown(&document(), 1).unwrap(), expected);
        assert_eq!(shown(&document(), 9).unwrap(), [""; 0]);
    }

    #[test]
    fn json_is_text_where_old_versions_wrote_it() {
        assert_eq!(holds_json_text(&document()), Ok(true));
        assert_eq!(holds_json_text(b"\x81\x01\0\0\0\x0d\x82\0\x81k\0\x83\x08{}"), Ok(false));
    }

    #[test]
    fn a_document_cut_anywhere_is_an_error_and_never_a_panic() {
        let whole = document();
        for len in 0..whole.len() {
            assert!(shown(&whole[..len], 1).is_err(), "{len} of {} bytes", whole.len());
            assert!(holds_json_text(&whole[..len]).is_err(), "{len} of {} bytes", whole.len());
        }
    }

    #[test]
    fn a_document_is_fit_for_decoding_if_it_is_whole_and_not_nested_without_end() {
        let whole = document();
        assert_eq!(check_document(&whole), Ok(()));
        assert!((0..whole.len()).all(|len| check_document(&whole[..len]).is_err()));
        let nested = |depth: usize| [&[0x81, 1, 0, 0, 0][..], &[12, 0x81].repeat(depth), &[11]].concat();
        assert_eq!(check_document(&nested(DEEPEST)), Ok(()));
        assert!(check_document(&nested(DEEPEST + 1)).unwrap_err().contains("deeply"));
        // A text that claims a terabyte.
        let long = [&[0x81, 1, 0, 0, 0, 0][..], &[0, 0, 0, 0, 0, 0xa0], b"abc"].concat();
        assert_eq!(check_document(&long), Err(CUT));
    }

    #[test]
    fn a_flipped_byte_never_panics() {
        let whole = document();
        for position in 0..whole.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[position] ^= flip;
                let _ = shown(&damaged, 1);
            }
        }
    }

    #[test]
    fn an_array_cannot_claim_more_values_than_there_are_bytes() {
        assert_eq!(shown(&[0x81, 1, 0, 0, 0, 12, 0x7f, 0x7f, 0x7f, 0xff], 1), Err(CUT));
    }
}
