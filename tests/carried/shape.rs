//! Index settings, index sort, deletes, and what else `meta.json` says.

use super::{Case, parse, schema};
use serde_json::{Value, json};
use tantivy::schema::{FAST, STORED};
use tantivy::{IndexSettings, IndexSortByField, Order};

#[test]
fn a_sorted_index_is_merged_by_its_field_nulls_first_ascending_and_last_descending() {
    for order in [Order::Asc, Order::Desc] {
        let (mut builder, _) = schema();
        builder.add_i64_field("rank", FAST | STORED);
        let schema = builder.build();
        // One of five has no rank; ranks repeat within and between segments.
        let document = |n: i64| match n % 5 {
            0 => json!({"id": n.to_string()}),
            _ => json!({"id": n.to_string(), "rank": n * 7 % 23 - 11}),
        };
        let sort_by_field = Some(IndexSortByField { field: "rank".to_owned(), order });
        let settings = IndexSettings { sort_by_field, ..IndexSettings::default() };
        let segments = [0..50, 50..90, 90..120].map(|numbers| parse(&schema, numbers.map(document)));
        let case = Case::new(&schema, settings, &segments);
        case.split(|split| {
            for (_, child) in &split.children {
                assert!(!split.united() || child.segments.len() == 1);
                for (number, _) in child.segments.iter().enumerate() {
                    let docs = child.docs.iter().filter(|doc| doc.address.0 == number);
                    let ranks: Vec<Option<i64>> = docs
                        .map(|doc| {
                            let line = doc.lines.iter().find(|line| line.starts_with("column \"rank\""));
                            line.map(|line| line.split(['[', ']']).nth(1).unwrap().parse().unwrap())
                        })
                        .collect();
                    let sorted = match order {
                        Order::Asc => ranks.is_sorted(),
                        Order::Desc => ranks.is_sorted_by(|left, right| left >= right),
                    };
                    assert!(sorted, "{order:?}, {:?}: {ranks:?}", split.way);
                }
            }
        });
    }
}

#[test]
fn deleted_documents_are_gone_after_rewrite_and_hidden_after_link() {
    let (builder, _) = schema();
    let schema = builder.build();
    let document = |n: u32| json!({"id": n.to_string()});
    let case = Case::plain(&schema, &[parse(&schema, (0..80).map(document)), parse(&schema, (80..130).map(document))]);
    case.delete((0..130).step_by(3).map(|n| n.to_string()));
    case.split(|split| {
        assert_eq!(split.docs().count(), 86);
        for (_, child) in &split.children {
            let docs: u32 = child.segments.iter().map(|segment| segment.reader.max_doc()).sum();
            if split.rewritten() {
                assert!(!child.has_deletes() && docs as usize == child.docs.len());
            } else {
                assert!(docs >= 80 || child.segments.len() == 1 && docs >= 50);
            }
        }
    });
}

/// `meta.json` as text, its segments taken out.
fn without_segments(path: &std::path::Path) -> String {
    let mut meta: serde_json::Map<String, Value> =
        serde_json::from_slice(&std::fs::read(path.join("meta.json")).unwrap()).unwrap();
    meta["segments"] = json!([]);
    serde_json::to_string_pretty(&meta).unwrap()
}

#[test]
fn settings_schema_opstamp_payload_and_what_nobody_here_knows_are_kept_word_for_word() {
    let (mut builder, _) = schema();
    builder.add_u64_field("rank", FAST);
    let schema = builder.build();
    let settings = IndexSettings {
        sort_by_field: Some(IndexSortByField { field: "rank".to_owned(), order: Order::Desc }),
        docstore_blocksize: 12_345,
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    };
    let document = |n: u32| json!({"id": n.to_string(), "rank": n % 7});
    let segments = [parse(&schema, (0..30).map(document)), parse(&schema, (30..50).map(document))];
    let case = Case::new(&schema, settings, &segments);
    let path = case.source().join("meta.json");
    let mut meta: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    meta["payload"] = json!("a payload with \"quotes\", \n lines and \u{1f980}");
    meta["opstamp"] = json!(u64::MAX - 1);
    meta["written_by_a_later_version"] = json!({"z": [1.10, null], "a": true});
    std::fs::write(&path, meta.to_string()).unwrap();
    let before = without_segments(&case.source());
    assert!(before.contains("12345") && before.contains("written_by_a_later_version"));
    case.split(|split| {
        for (_, child) in &split.children {
            assert_eq!(without_segments(&child.dir), before, "{:?}", split.way);
        }
    });
}
