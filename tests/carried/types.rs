//! Columns of every type: full, optional, of several values, without any.

use super::{Case, parse, schema};
use crate::common::schema::{FieldSpec, Flags, Kind, add_field};
use serde_json::{Value, json};
use tantivy::schema::DateTimePrecision::{Microseconds, Milliseconds, Nanoseconds, Seconds};

const FAST: Flags = Flags { indexed: false, fast: true, stored: false, norms: false };

fn kinds() -> Vec<(&'static str, Kind)> {
    vec![
        ("u64", Kind::U64(FAST)),
        ("i64", Kind::I64(FAST)),
        ("f64", Kind::F64(FAST)),
        ("bool", Kind::Bool(FAST)),
        ("date", Kind::Date(FAST, Nanoseconds)),
        ("ip", Kind::Ip(FAST)),
        ("bytes", Kind::Bytes(FAST)),
        ("str", Kind::Text { index: None, fast: Some("raw"), stored: false }),
        ("facet", Kind::Facet { stored: false }),
    ]
}

/// A value of each type, as JSON and as the lines have it.
fn value(kind: &str, n: u64) -> (Value, String) {
    let text = |text: String| (json!(text), format!("{text:?}"));
    match kind {
        "u64" => (json!(u64::MAX - n), (u64::MAX - n).to_string()),
        "i64" => (json!(-(n.cast_signed())), (-(n.cast_signed())).to_string()),
        "f64" => (json!(n as f64 + 0.5), format!("{:?}/{:x}", n as f64 + 0.5, (n as f64 + 0.5).to_bits())),
        "bool" => (json!(n.is_multiple_of(2)), n.is_multiple_of(2).to_string()),
        "date" => (json!(format!("1970-01-01T00:00:00.{n:09}Z")), n.to_string()),
        "ip" => (json!(format!("2001:db8::{n:x}")), format!("2001:db8::{n:x}")),
        // Three bytes, four characters.
        "bytes" => (json!(["AAAA", "/wEC", "YWJj"][n as usize % 3]), bytes(n).to_owned()),
        "str" => text(format!("text {n}")),
        _ => (json!(format!("/of/{n}")), format!("\"of\\0{n}\"")),
    }
}

fn bytes(n: u64) -> &'static str {
    ["\"\\0\\0\\0\"", "0xff0102", "\"abc\""][n as usize % 3]
}

#[test]
fn every_type_keeps_its_values_full_optional_in_several_and_without_any() {
    let (mut builder, _) = schema();
    for (kind, options) in kinds() {
        for form in ["full", "optional", "several", "empty"] {
            add_field(&mut builder, &FieldSpec { name: format!("{kind}_{form}"), kind: options });
        }
    }
    let schema = builder.build();
    let document = |n: u64| {
        let mut document = json!({"id": n.to_string()});
        for (kind, _) in kinds() {
            document[format!("{kind}_full")] = value(kind, n).0;
            if n % 4 == 3 {
                document[format!("{kind}_optional")] = value(kind, n).0;
                document[format!("{kind}_several")] = json!([value(kind, n).0, value(kind, n + 1).0]);
            }
        }
        document
    };
    let case = Case::plain(&schema, &[parse(&schema, (0..60).map(document)), parse(&schema, (60..100).map(document))]);
    case.split(|split| {
        for (kind, options) in kinds() {
            let name = match options {
                Kind::U64(_) => "U64",
                Kind::I64(_) => "I64",
                Kind::F64(_) => "F64",
                Kind::Bool(_) => "Bool",
                Kind::Date(..) => "DateTime",
                Kind::Ip(_) => "IpAddr",
                Kind::Bytes(_) => "Bytes",
                _ => "Str",
            };
            let (first, second) = (value(kind, 7).1, value(kind, 8).1);
            split.assert_lines(
                "7",
                &[
                    format!("column \"{kind}_full\" {name} [{first}]"),
                    format!("column \"{kind}_optional\" {name} [{first}]"),
                    format!("column \"{kind}_several\" {name} [{first}, {second}]"),
                ],
            );
            split.assert_none("7", &format!("column \"{kind}_empty\""));
            split.assert_none("8", &format!("column \"{kind}_optional\""));
            for segment in split.children.iter().flat_map(|(_, child)| &child.segments) {
                let facts = |form: &str| &segment.columns[&(format!("{kind}_{form}"), name.to_owned())];
                assert_eq!((facts("full").cardinality.as_str(), facts("empty").values), ("full", 0));
                let holds = facts("optional").values > 0;
                if !split.rewritten() || holds {
                    assert_eq!(facts("several").cardinality, "multivalued", "{kind}");
                }
                if split.rewritten() {
                    // As narrow as the child's own documents need it.
                    let docs = segment.reader.num_docs();
                    let optional = if facts("optional").values == docs { "full" } else { "optional" };
                    assert_eq!(facts("optional").cardinality, optional, "{kind}, {} values", facts("optional").values);
                }
            }
        }
    });
}

#[test]
fn dates_keep_the_precision_of_their_field() {
    let (mut builder, _) = schema();
    for (name, precision) in [("s", Seconds), ("ms", Milliseconds), ("us", Microseconds), ("ns", Nanoseconds)] {
        let flags = Flags { indexed: true, stored: true, ..FAST };
        add_field(&mut builder, &FieldSpec { name: name.to_owned(), kind: Kind::Date(flags, precision) });
    }
    let schema = builder.build();
    let document = |n: u64| {
        let date =
            if n.is_multiple_of(2) { "2024-02-03T04:05:06.123456789Z" } else { "1900-01-01T00:00:00.987654321Z" };
        json!({"id": n.to_string(), "s": date, "ms": date, "us": date, "ns": date})
    };
    let case = Case::plain(&schema, &[parse(&schema, (0..30).map(document)), parse(&schema, (30..50).map(document))]);
    case.split(|split| {
        let second = 1_706_933_106_000_000_000i64;
        for (name, rest) in [("s", 0), ("ms", 123_000_000), ("us", 123_456_000), ("ns", 123_456_789)] {
            split.assert_lines("8", &[format!("column \"{name}\" DateTime [{}]", second + rest)]);
        }
        // What is stored is stored to the nanosecond.
        let stored = format!("Date({})", second + 123_456_789);
        assert_eq!(split.doc("8").lines.iter().filter(|line| line.ends_with(&stored)).count(), 4);
    });
}

#[test]
fn a_tie_breaker_keeps_the_number_that_each_document_was_given() {
    let (mut builder, _) = schema();
    builder.add_tie_breaker_field("tie");
    let schema = builder.build();
    let document = |n: u64| json!({"id": n.to_string()});
    let case = Case::plain(&schema, &[parse(&schema, (0..60).map(document)), parse(&schema, (60..90).map(document))]);
    case.split(|split| {
        for doc in &split.source.docs {
            let tie = doc.lines.iter().find(|line| line.starts_with("column \"tie\"")).unwrap();
            split.assert_lines(&doc.keys["id"][0], &[tie]);
        }
    });
}

#[test]
fn facets_keep_every_path_in_its_order() {
    let (mut builder, _) = schema();
    add_field(&mut builder, &FieldSpec { name: "facet".to_owned(), kind: Kind::Facet { stored: true } });
    let schema = builder.build();
    let document = |n: u64| {
        let paths = ["/z/last", "/a/first/deep", "/m", &format!("/a/number/{}", n % 9)];
        json!({"id": n.to_string(), "facet": &paths[..(n % 5) as usize]})
    };
    let case = Case::plain(&schema, &[parse(&schema, (0..60).map(document)), parse(&schema, (60..90).map(document))]);
    case.split(|split| {
        split.assert_lines(
            "14",
            &[
                r#"column "facet" Str ["a\0first\0deep", "a\0number\05", "m", "z\0last"]"#,
                r#"term facet "a\0first" tf=-"#,
            ],
        );
    });
}

#[test]
fn a_tokenised_column_keeps_every_word_of_a_row() {
    let (mut builder, _) = schema();
    let kind = Kind::Text { index: None, fast: Some("default"), stored: false };
    add_field(&mut builder, &FieldSpec { name: "words".to_owned(), kind });
    let schema = builder.build();
    let document = |n: u64| json!({"id": n.to_string(), "words": format!("b A b {n} c a")});
    let case = Case::plain(&schema, &[parse(&schema, (0..60).map(document)), parse(&schema, (60..90).map(document))]);
    case.split(|split| {
        split.assert_lines("14", &[r#"column "words" Str ["b", "a", "b", "14", "c", "a"]"#]);
    });
}
