//! Columns of JSON paths, which come and go with their values.

use std::collections::BTreeSet;

use super::{Case, WAYS, parse, schema};
use crate::common::content::Content;
use crate::common::oracle::{content_differences, filtered_merge};
use crate::common::routing::{self, Routing};
use serde_json::{Value, json};
use shardsplit::Error;
use shardsplit::error::ErrorKind;
use shardsplit::partition::SegmentMode;
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::route::SplitSpec;
use tantivy::TantivyDocument;
use tantivy::schema::{FAST, JsonObjectOptions, Schema};

/// `id`, a JSON field `json`, and the same with dots that separate, `dots`.
fn json_schema() -> Schema {
    let (mut builder, _) = schema();
    builder.add_json_field("json", JsonObjectOptions::default().set_fast("raw"));
    builder.add_json_field("dots", JsonObjectOptions::default().set_fast("raw").set_expand_dots_enabled());
    builder.build()
}

/// Documents numbered through, with `json` and `dots` both as `object` says.
fn documents(schema: &Schema, numbers: std::ops::Range<u64>, object: impl Fn(u64) -> Value) -> Vec<TantivyDocument> {
    parse(schema, numbers.map(|n| json!({"id": n.to_string(), "json": object(n), "dots": object(n)})))
}

#[test]
fn a_json_path_keeps_its_columns_of_several_types() {
    let schema = json_schema();
    let object = |n: u64| {
        let value = match n % 6 {
            0 => json!("red"),
            1 => json!(n),
            2 => json!(true),
            3 => json!("2024-02-03T04:05:06Z"),
            4 => json!(["red", 5, false, 6, "blue"]),
            _ => Value::Null,
        };
        json!({"a": {"b": [value, {"deep": n}]}, "k8s.node": "blue", "half": n as f64 / 2.0})
    };
    let case = Case::plain(&schema, &[documents(&schema, 0..90, object), documents(&schema, 90..150, object)]);
    case.split(|split| {
        for field in ["json", "dots"] {
            let path = format!("{field}\\u{{1}}a\\u{{1}}b");
            split.assert_lines("96", &[format!("column \"{path}\" Str [\"red\"]")]);
            split.assert_lines("97", &[format!("column \"{path}\" num [97]")]);
            split.assert_lines("98", &[format!("column \"{path}\" Bool [true]")]);
            split.assert_lines("99", &[format!("column \"{path}\" DateTime [1706933106000000000]")]);
            split.assert_lines(
                "100",
                &[
                    format!("column \"{path}\" Str [\"red\", \"blue\"]"),
                    format!("column \"{path}\" num [5, 6]"),
                    format!("column \"{path}\" Bool [false]"),
                    format!("column \"{path}\\u{{1}}deep\" num [100]"),
                    format!("column \"{field}\\u{{1}}half\" num [50]"),
                ],
            );
        }
        split.assert_lines("100", &[r#"column "json\u{1}k8s.node" Str ["blue"]"#]);
        split.assert_lines("100", &[r#"column "dots\u{1}k8s\u{1}node" Str ["blue"]"#]);
    });
}

/// Type names of the number column of path `n` over the segments of an index.
fn types(content: &Content) -> BTreeSet<String> {
    let columns = content.segments.iter().flat_map(|segment| segment.columns.keys());
    columns.filter(|(name, _)| name == "json\u{1}n").map(|(_, kind)| kind.clone()).collect()
}

#[test]
fn number_columns_whose_type_differs_between_segments_are_united_where_no_value_changes() {
    let schema = json_schema();
    // What the segments hold, and what holds both: large naturals are u64, negatives i64, fractions f64.
    type Values = fn(u64) -> Value;
    let cases: [(Values, Values, &str); 4] = [
        (|n| json!(n), |n| json!(-(n.cast_signed())), "I64"),
        (|n| json!(n), |n| json!((1u64 << 63) + n), "U64"),
        (|n| json!(n), |n| json!(n as f64 + 0.5), "F64"),
        (|n| json!(-(n.cast_signed())), |_| json!(1u64 << 63), "F64"),
    ];
    for (first, second, united) in cases {
        let object = move |value: Values| move |n: u64| json!({"n": value(n)});
        let segments = [documents(&schema, 0..40, object(first)), documents(&schema, 40..70, object(second))];
        let case = Case::plain(&schema, &segments);
        case.split_as(&[1, 3], &WAYS, |split| {
            let before = types(split.source);
            for (_, child) in &split.children {
                let after = types(child);
                if split.united() {
                    assert_eq!(after, [united.to_owned()].into(), "from {before:?}");
                } else {
                    assert!(after.is_subset(&before), "{after:?} of {before:?}");
                }
            }
            let shown = |value: Value| format!("column \"json\\u{{1}}n\" num [{}]", number(&value));
            split.assert_lines("7", &[shown(first(7))]);
            split.assert_lines("60", &[shown(second(60))]);
        });
    }
}

/// A number as the lines have it.
fn number(value: &Value) -> String {
    match value.as_f64().filter(|_| value.is_f64()) {
        Some(float) => format!("{float:?}/{:x}", float.to_bits()),
        None => value.to_string(),
    }
}

#[test]
fn number_columns_that_cannot_be_united_without_loss_are_refused_by_name_and_kept_apart_on_demand() {
    let schema = json_schema();
    // 2^53 + 1 is no f64.
    let exact = |_: u64| json!({"n": (1u64 << 53) + 1});
    let half = |_: u64| json!({"n": 0.5});
    let case = Case::plain(&schema, &[documents(&schema, 0..40, exact), documents(&schema, 40..70, half)]);
    let error = case.job(3, WAYS[0]).run(&Silent, &Cancel::new()).unwrap_err();
    assert!(matches!(&error, Error::ColumnTypes { column, .. } if column == "dots.n"), "{error:?}");
    assert_eq!(error.kind(), ErrorKind::Usage);
    let text = error.to_string();
    assert!(text.to_lowercase().contains("i64, f64") && text.contains("--segments keep"), "{text}");
    assert!(!case.job(3, WAYS[0]).out.exists());

    let apart = [(Method::Rewrite, SegmentMode::Keep), (Method::Link, SegmentMode::One)];
    case.split_as(&[1, 3, 8], &apart, |split| {
        split.assert_lines("7", &[r#"column "json\u{1}n" num [9007199254740993]"#]);
        split.assert_lines("60", &[r#"column "json\u{1}n" num [0.5/3fe0000000000000]"#]);
    });
}

#[test]
fn a_column_that_loses_its_values_vanishes_as_in_tantivys_merge_and_one_of_the_schema_stays() {
    let (mut builder, _) = schema();
    builder.add_json_field("json", JsonObjectOptions::default().set_fast("raw"));
    builder.add_u64_field("number", FAST);
    builder.add_text_field("word", tantivy::schema::TextOptions::default().set_fast("raw"));
    let schema = builder.build();
    let split = SplitSpec::new(3);
    // Only the documents of child 1 have more than an id.
    let document = |n: u64| {
        let id = n.to_string();
        match routing::shard(&split, &id, &id) {
            1 => json!({"id": id, "json": {"only": {"here": n, "text": "t"}}, "number": n, "word": "w"}),
            _ => json!({"id": id, "json": {"everywhere": n}}),
        }
    };
    let case = Case::plain(&schema, &[parse(&schema, (0..60).map(document)), parse(&schema, (60..90).map(document))]);
    let merged = tempfile::tempdir().unwrap();
    let source = Content::read(&case.source(), &["id"]);
    for shard in 0..3 {
        let keep = |doc: &crate::common::content::Doc| Routing::by_key("id", 3).shard(&doc.keys) == shard;
        filtered_merge(&source, &merged.path().join(shard.to_string()), keep);
    }
    case.split_as(&[3], &WAYS, |split| {
        for (shard, child) in &split.children {
            for segment in &child.segments {
                let has = |name: &str| segment.columns.keys().any(|(column, _)| column == name);
                assert!(has("number") && has("word"), "child {shard}");
                if split.rewritten() {
                    let (only, everywhere) = (has("json\u{1}only\u{1}here"), has("json\u{1}everywhere"));
                    assert_eq!((only, everywhere), (*shard == 1, *shard != 1), "child {shard}");
                    assert_eq!(has("json\u{1}only\u{1}text"), *shard == 1, "child {shard}");
                }
            }
            if split.united() {
                let oracle = Content::read(&merged.path().join(shard.to_string()), &["id"]);
                let found = content_differences(&format!("child {shard}"), child, &oracle);
                assert!(found.is_empty(), "{found:#?}");
            }
        }
    });
}
