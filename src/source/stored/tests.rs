//! Documents spelt out byte by byte, whole, cut and flipped.

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
