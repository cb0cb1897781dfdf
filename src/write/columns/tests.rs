//! Columns written here against columns merged by tantivy for the same rows: the bytes are equal.

use proptest::prelude::*;
use tantivy::columnar::{Cardinality, ColumnarReader, DynamicColumn};

use super::fixture::{self, Fixture, MemoryFiles};
use super::*;
use crate::partition::{DocMap, SegmentMode};
use crate::progress::Silent;

/// Writes the columns of all outputs, compares each with tantivy's, and returns the bodies and what was read.
fn write_and_compare(source: &Source, map: &DocMap) -> (Vec<Vec<u8>>, ReadCounts) {
    check(source, &map.groups).unwrap();
    let mut bodies = Vec::new();
    let mut reads = ReadCounts::default();
    for group in &map.groups {
        let files = MemoryFiles::default();
        let written = write(source, group, &files, &fixture::ids(group), &Cancel::new(), &Silent).unwrap();
        assert_eq!(written.files.len(), group.outputs.len());
        for (output, file) in written.files.iter().enumerate() {
            let body = files.body(group.outputs[output].child, file);
            let expected = fixture::merged_by_tantivy(source, group, output);
            if body != expected {
                describe_difference(&body, &expected);
            }
            bodies.push(body);
        }
        reads.dictionary_terms += written.reads.dictionary_terms;
        reads.values += written.reads.values;
    }
    (bodies, reads)
}

fn describe_difference(ours: &[u8], theirs: &[u8]) {
    let open = |bytes: &[u8]| ColumnarReader::open(bytes.to_vec()).unwrap();
    let list = |bytes: &[u8]| {
        let columns = open(bytes).list_columns().unwrap();
        columns.into_iter().map(|(name, handle)| (name, handle.column_type())).collect::<Vec<_>>()
    };
    assert_eq!(list(ours), list(theirs));
    for ((name, a), (_, b)) in open(ours).list_columns().unwrap().iter().zip(&open(theirs).list_columns().unwrap()) {
        let (bytes_a, bytes_b) = (a.file_slice().read_bytes().unwrap(), b.file_slice().read_bytes().unwrap());
        assert_eq!(format!("{:?}", a.open().unwrap()), format!("{:?}", b.open().unwrap()), "values of {name:?}");
        assert!(bytes_a.as_slice() == bytes_b.as_slice(), "bytes of {name:?}, {}", a.column_type());
    }
    panic!("the columns are equal, the files are not");
}

fn scatter(n: u32) -> u16 {
    (n.wrapping_mul(2_654_435_761) >> 16) as u16
}

fn three_segments() -> Fixture {
    // Enough rows with values for both ways in which blocks of rows are written.
    let segments = [fixture::documents(0, 3_000), fixture::documents(10_000, 1), fixture::documents(20_000, 5_500)];
    // Ids are scattered by the generator; these stand in the first and the last segment.
    let deleted: Vec<String> =
        [1u32, 5, 9, 20_003, 20_004].iter().map(|n| format!("id-{:08x}", n.wrapping_mul(0x9e37_79b9))).collect();
    let deleted: Vec<&str> = deleted.iter().map(String::as_str).collect();
    fixture::index(fixture::schema(), &segments, &deleted, None)
}

#[test]
fn every_child_gets_the_columns_that_tantivys_merge_would_write() {
    let index = three_segments();
    assert_eq!(index.source.num_deleted(), 5);
    for children in [1, 2, 3, 8] {
        for mode in [SegmentMode::One, SegmentMode::Keep] {
            let map = fixture::deal(&index.source, children, mode, scatter);
            let (bodies, _) = write_and_compare(&index.source, &map);
            assert!(bodies.len() >= usize::from(children));
        }
    }
}

#[test]
fn children_of_a_sorted_index_interleave_the_segments() {
    let segments = [fixture::documents(0, 4_000), fixture::documents(100, 3_000), fixture::documents(50, 40)];
    let index = fixture::index(fixture::schema(), &segments, &[], Some("u"));
    let map = fixture::deal(&index.source, 3, SegmentMode::One, scatter);
    assert!(map.groups[0].interleaved);
    let rows: Vec<usize> = map.groups[0].rows(0).map(|row| row.segment).collect();
    assert!(!rows.is_sorted(), "the test needs documents of different segments in turn");
    write_and_compare(&index.source, &map);
}

#[test]
fn dictionaries_are_read_once_and_values_equally_often_whatever_the_number_of_children() {
    let index = three_segments();
    let read = |children| {
        let map = fixture::deal(&index.source, children, SegmentMode::One, scatter);
        write_and_compare(&index.source, &map).1
    };
    let terms: u64 = index
        .source
        .segments()
        .iter()
        .flat_map(|segment| segment.columns().list_columns().unwrap())
        .map(|(_, handle)| match handle.open().unwrap() {
            DynamicColumn::Str(column) => column.num_terms() as u64,
            DynamicColumn::Bytes(column) => column.num_terms() as u64,
            _ => 0,
        })
        .sum();
    let (two, sixteen) = (read(2), read(16));
    assert_eq!(two.dictionary_terms, terms);
    assert_eq!(two, sixteen);
}

#[test]
fn a_dynamic_column_without_values_vanishes_and_a_fast_field_stays() {
    let docs = vec![
        r#"{"id":"a","j":{"x":1}}"#.to_owned(),
        r#"{"id":"b","j":{"y":"s"},"s":["p","q"]}"#.to_owned(),
        r#"{"id":"c","j":{"y":"t"}}"#.to_owned(),
    ];
    let index = fixture::index(fixture::schema(), &[docs], &[], None);
    let map = fixture::deal(&index.source, 2, SegmentMode::One, |number| u16::from(number != 1));
    let (bodies, _) = write_and_compare(&index.source, &map);
    let names = |body: &[u8]| -> Vec<String> {
        let columns = ColumnarReader::open(body.to_vec()).unwrap().list_columns().unwrap();
        columns.into_iter().map(|(name, _)| readable(&name)).collect()
    };
    let fast = ["b", "bytes", "d", "f", "facet", "i", "id", "ip"];
    let expected = |path: &str| fast.iter().chain(&[path, "s", "u"]).map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names(&bodies[0]), expected("j.x"));
    assert_eq!(names(&bodies[1]), expected("j.y"));
}

#[test]
fn cardinality_is_the_narrowest_that_fits_the_child() {
    let docs = vec![
        r#"{"id":"a","s":["one"]}"#.to_owned(),
        r#"{"id":"b","s":["one"]}"#.to_owned(),
        r#"{"id":"c","s":["one"]}"#.to_owned(),
        r#"{"id":"d"}"#.to_owned(),
        r#"{"id":"e","s":["two","one"]}"#.to_owned(),
    ];
    let index = fixture::index(fixture::schema(), &[docs], &[], None);
    let map = fixture::deal(&index.source, 3, SegmentMode::One, |number| (number as u16 - 1) / 2);
    let (bodies, _) = write_and_compare(&index.source, &map);
    let cardinalities: Vec<Cardinality> = bodies
        .iter()
        .map(|body| {
            let handles = ColumnarReader::open(body.clone()).unwrap().read_columns("s").unwrap();
            handles[0].open().unwrap().get_cardinality()
        })
        .collect();
    assert_eq!(cardinalities, [Cardinality::Full, Cardinality::Optional, Cardinality::Multivalued]);
}

#[test]
fn json_numbers_of_different_types_take_the_type_that_holds_those_of_the_child() {
    // Types by segment: i64, u64, f64.
    let segments = [segment(&["1", "2", "-3"]), segment(&["18446744073709551615", "4"]), segment(&["0.5", "6"])];
    let index = fixture::index(fixture::schema(), &segments, &[], None);
    // Child 0 draws from the first segment, 1 from the third, 2 from all, 3 from the second.
    let children = [("1", 0), ("2", 0), ("-3", 2), ("18446744073709551615", 3), ("4", 2), ("0.5", 1), ("6", 2)];
    let map = fixture::deal_ids(&index.source, 4, SegmentMode::One, &children);
    let (bodies, _) = write_and_compare(&index.source, &map);
    let kinds: Vec<String> = bodies.iter().map(|body| kinds(body, "j\u{1}x")).collect();
    assert_eq!(kinds, ["i64", "f64", "f64", "u64"]);
}

/// A segment of documents with a number each in a JSON field, which also is their id.
fn segment(values: &[&str]) -> Vec<String> {
    values.iter().map(|value| format!(r#"{{"id":"{value}","j":{{"x":{value}}}}}"#)).collect()
}

/// Types of the columns of this name.
fn kinds(body: &[u8], name: &str) -> String {
    let handles = ColumnarReader::open(body.to_vec()).unwrap().read_columns(name).unwrap();
    handles.iter().map(|handle| handle.column_type().to_string()).collect()
}

#[test]
fn numbers_that_f64_holds_exactly_are_united() {
    let ids = ["9007199254740993", "2", "-3", "9007199254740992", "-4", "0.5", "6", "9223372036854775808", "1"];
    let segments = [&ids[..3], &ids[3..5], &ids[5..7], &ids[7..]].map(segment);
    let index = fixture::index(fixture::schema(), &segments, &[], None);
    let types = |in_child_0: &[&str]| -> Result<Vec<String>> {
        let children: Vec<(&str, u16)> = ids.iter().map(|id| (*id, u16::from(!in_child_0.contains(id)))).collect();
        let map = fixture::deal_ids(&index.source, 2, SegmentMode::One, &children);
        check(&index.source, &map.groups)?;
        let (bodies, _) = write_and_compare(&index.source, &map);
        Ok(bodies.iter().map(|body| kinds(body, "j\u{1}x")).collect())
    };
    // 2^53 + 1 goes where there are no floats, 2^53 where there are.
    assert_eq!(types(&ids[..3]).unwrap(), ["i64", "f64"]);
    // 2^53 + 1 would meet a float.
    assert!(matches!(types(&ids[1..3]), Err(Error::ColumnTypes { .. })));
    // In a segment of its own nothing meets.
    let map = fixture::deal(&index.source, 2, SegmentMode::Keep, scatter);
    write_and_compare(&index.source, &map);
}

#[test]
fn a_dictionary_of_many_terms_is_dealt_whole() {
    let segments: Vec<Vec<String>> = (0..2u32)
        .map(|segment| {
            (0..20_000u32)
                .map(|n| {
                    format!(r#"{{"id":"{:032x}"}}"#, u128::from(n * 2 + segment).wrapping_mul(0x9e37_79b9_7f4a_7c15))
                })
                .collect()
        })
        .collect();
    let index = fixture::index(fixture::schema(), &segments, &[], None);
    let map = fixture::deal(&index.source, 5, SegmentMode::One, scatter);
    let (bodies, reads) = write_and_compare(&index.source, &map);
    assert_eq!(reads.dictionary_terms, 40_000);
    let terms: usize = bodies
        .iter()
        .map(|body| match ColumnarReader::open(body.clone()).unwrap().read_columns("id").unwrap()[0].open().unwrap() {
            DynamicColumn::Str(column) => column.num_terms(),
            _ => 0,
        })
        .sum();
    assert_eq!(terms, 40_000);
}

#[test]
fn a_cancelled_write_stops() {
    let index = three_segments();
    let map = fixture::deal(&index.source, 2, SegmentMode::One, scatter);
    let group = &map.groups[0];
    let cancel = Cancel::new();
    cancel.cancel();
    let result = write(&index.source, group, &MemoryFiles::default(), &fixture::ids(group), &cancel, &Silent);
    assert!(matches!(result, Err(Error::Interrupted)));
}

#[derive(Clone, Debug)]
struct Doc {
    numbers: Vec<i64>,
    words: Vec<u8>,
    json: Option<i32>,
    child: u16,
}

fn docs() -> impl Strategy<Value = Vec<Doc>> {
    let numbers = prop::collection::vec(prop_oneof![-3i64..3, any::<i64>()], 0..3);
    let words = prop::collection::vec(0u8..20, 0..4);
    let doc = (numbers, words, prop::option::of(any::<i32>()), 0u16..4).prop_map(|(numbers, words, json, child)| Doc {
        numbers,
        words,
        json,
        child,
    });
    prop::collection::vec(doc, 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_documents_dealt_anyhow_get_the_columns_of_tantivys_merge(
        segments in prop::collection::vec(docs(), 1..4), sorted in any::<bool>(), keep in any::<bool>()
    ) {
        let mut number = 0u64;
        let json: Vec<Vec<String>> = segments.iter().map(|docs| docs.iter().map(|doc| {
            number += 1;
            let words: Vec<String> = doc.words.iter().map(|word| format!("\"t{word}\"")).collect();
            let facets: Vec<String> = doc.words.iter().map(|word| format!("\"/f/{word}\"")).collect();
            let x = doc.json.map_or(String::new(), |x| format!(r#""x":{x},"y{}":"{x}""#, x % 3));
            format!(
                r#"{{"id":"{number}","u":{},"i":{:?},"s":[{}],"facet":[{}],"j":{{{x}}}}}"#,
                number * 7919 % 50, doc.numbers, words.join(","), facets.join(",")
            )
        }).collect()).collect();
        let index = fixture::index(fixture::schema(), &json, &[], sorted.then_some("u"));
        let children: Vec<u16> = segments.iter().flatten().map(|doc| doc.child).collect();
        let mode = if keep { SegmentMode::Keep } else { SegmentMode::One };
        let map = fixture::deal(&index.source, 4, mode, |number| children[number as usize - 1]);
        write_and_compare(&index.source, &map);
    }
}
