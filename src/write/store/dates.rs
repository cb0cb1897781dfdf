//! Dates of version 1 stores: microseconds become the nanoseconds of version 2, in place.

use crate::source::visit_dates;

/// Converts all dates of a document from microseconds to nanoseconds.
pub(super) fn to_nanoseconds(doc: &mut [u8]) -> Result<(), String> {
    let mut dates = Vec::new();
    visit_dates(doc, &mut |at| dates.push(at))?;
    for at in dates {
        let Some(bytes) = doc.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<8>()) else { continue };
        let micros = i64::from_le_bytes(*bytes);
        let nanos = micros.checked_mul(1000).ok_or_else(|| {
            format!("a stored date of {micros} microseconds does not fit nanoseconds, which is how tantivy 0.27 stores dates")
        })?;
        *bytes = nanos.to_le_bytes();
    }
    Ok(())
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
