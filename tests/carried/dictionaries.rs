//! Dictionaries of one entry and of very many, and keys that are long.

use super::{Case, WAYS, parse, schema};
use serde_json::json;
use tantivy::schema::{FAST, STORED, STRING, Schema, TextOptions};
use tantivy::{IndexSettings, TantivyDocument};

#[test]
fn a_dictionary_of_one_entry_is_kept() {
    let (mut builder, _) = schema();
    builder.add_text_field("word", STRING | FAST);
    builder.add_bytes_field("bytes", FAST);
    let schema = builder.build();
    let document = |n: u32| json!({"id": n.to_string(), "word": "always", "bytes": "AP8="});
    let case = Case::plain(&schema, &[parse(&schema, (0..50).map(document)), parse(&schema, (50..80).map(document))]);
    case.split(|split| {
        let lines =
            ["column \"word\" Str [\"always\"]", "column \"bytes\" Bytes [0x00ff]", "term word \"always\" tf=-"];
        split.assert_lines("55", &lines);
        for segment in split.children.iter().flat_map(|(_, child)| &child.segments) {
            let facts = &segment.columns[&("word".to_owned(), "Str".to_owned())];
            assert_eq!((facts.dictionary, segment.fields["word"].terms), (Some(1), 1));
        }
    });
}

/// Documents of `per_doc` words each, all different.
pub fn distinct_words(schema: &Schema, numbers: std::ops::Range<u64>, per_doc: u64) -> Vec<TantivyDocument> {
    let (id, words) = (schema.get_field("id").unwrap(), schema.get_field("words").unwrap());
    let document = |n: u64| {
        let mut document = TantivyDocument::new();
        document.add_text(id, n.to_string());
        for word in n * per_doc..(n + 1) * per_doc {
            // Neighbours in the document are none in the dictionary.
            document.add_text(words, format!("{:016x}", word.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        }
        document
    };
    numbers.map(document).collect()
}

#[test]
fn dictionaries_of_300_000_entries_are_kept() {
    let (mut builder, _) = schema();
    builder.add_text_field("words", STRING | FAST);
    let schema = builder.build();
    let segments = [distinct_words(&schema, 0..1_000, 200), distinct_words(&schema, 1_000..1_500, 200)];
    let case = Case::plain(&schema, &segments);
    case.split_as(&[3], &WAYS[..1], |split| {
        let dictionaries = split.children.iter().map(|(_, child)| {
            let facts = &child.segments[0].columns[&("words".to_owned(), "Str".to_owned())];
            assert_eq!((facts.dictionary, facts.unused), (Some(child.segments[0].fields["words"].terms), 0));
            facts.dictionary.unwrap()
        });
        assert_eq!(dictionaries.sum::<usize>(), 300_000);
    });
}

#[test]
fn ids_of_32_kib_are_read_from_column_dictionary_and_store() {
    let id = |n: u32| format!("{}{n}", "é🦀x".repeat(4_681));
    assert!((32 << 10..40 << 10).contains(&id(1).len()));
    let planes: [TextOptions; 3] =
        [TextOptions::default().set_fast("raw"), STRING, TextOptions::default().set_stored()];
    for options in planes {
        let mut builder = Schema::builder();
        builder.add_text_field("id", options);
        builder.add_text_field("number", STORED);
        let schema = builder.build();
        let document = |n: u32| json!({"id": id(n), "number": n.to_string()});
        let segments = [parse(&schema, (0..25).map(document)), parse(&schema, (25..40).map(document))];
        let case = Case::new(&schema, IndexSettings::default(), &segments);
        case.split_as(&[1, 3], &WAYS, |split| {
            (0..40).for_each(|n| assert!(split.doc(&id(n)).lines.len() > 1));
            assert!(split.into == 1 || split.children.iter().all(|(_, child)| !child.docs.is_empty()));
        });
    }
}
