//! Each plane gives the same, exact keys.

use tantivy::schema::{
    DateOptions, IndexRecordOption, NumericOptions, OwnedValue, STORED, STRING, TEXT, TextFieldIndexing, TextOptions,
};

use super::*;

/// Ids of every shape: ASCII of both parities, two, three and four bytes, combining, empty, long, with a NUL.
fn ids() -> Vec<Vec<String>> {
    let shapes = ["a", "ab", "id-0001", "ü", "aü", "日本語", "😀", "a😀b", "e\u{301}", "", "nul\0nul", "Ünï çödé"];
    let first = shapes.iter().map(|id| (*id).to_owned()).chain((0..300).map(|n| format!("document {n}")));
    let second = (300..400).map(|n| format!("document {n}")).chain([format!("long {}", "x".repeat(60_000))]);
    vec![first.collect(), second.collect()]
}

fn fast_only(tokenizer: &str) -> TextOptions {
    TextOptions::default().set_fast(tokenizer)
}

fn indexed(tokenizer: &str, option: IndexRecordOption) -> TextOptions {
    TextOptions::default()
        .set_indexing_options(TextFieldIndexing::default().set_tokenizer(tokenizer).set_index_option(option))
}

fn assert_text_plane(options: TextOptions, plane: KeyPlane) {
    let mut schema = Schema::builder();
    let id = schema.add_text_field("id", options);
    let ids = ids();
    let fixture = Fixture::new(schema, &ids, &[], |document, value| document.add_text(id, value));
    let source = fixture.open();
    assert_eq!(usable_key_fields(&source).unwrap()[0], ("id".to_owned(), plane));
    for children in [1, 2, 3, 8] {
        let assigned = run(&source, &spec("id", None), &into(children)).unwrap();
        let placed = fixture.children(&source, &assigned);
        for (number, id) in (0..).zip(ids.iter().flatten()) {
            assert_eq!(placed[&number], Some(formula(id, children)), "{id:?} among {children}");
        }
        let total = ids.iter().flatten().count() as u64;
        assert_eq!(assigned.readings, [KeyReading { field: "id".to_owned(), plane, hashed: total }]);
        assert_eq!((assigned.census.live, assigned.census.deleted), (total, 0));
        assert_eq!(assigned.census.distinct_keys, Some(total));
        assert_eq!(assigned.census.duplicate_keys, Some(0));
    }
}

#[test]
fn an_untokenised_text_column_gives_keys() {
    assert_text_plane(fast_only("raw"), KeyPlane::Column);
    // The column is the cheapest of several.
    assert_text_plane(STRING | STORED | fast_only("raw"), KeyPlane::Column);
}

#[test]
fn a_raw_indexed_field_gives_keys_whatever_its_record_option() {
    assert_text_plane(STRING, KeyPlane::Terms);
    assert_text_plane(indexed("raw", IndexRecordOption::WithFreqs), KeyPlane::Terms);
    assert_text_plane(indexed("raw", IndexRecordOption::WithFreqsAndPositions), KeyPlane::Terms);
}

#[test]
fn a_stored_field_gives_keys_even_when_it_is_tokenised() {
    assert_text_plane(TEXT | STORED, KeyPlane::Store);
    assert_text_plane(TextOptions::default() | STORED, KeyPlane::Store);
}

#[test]
fn a_normalised_column_is_not_taken_for_the_value() {
    assert_text_plane(fast_only("default") | STORED, KeyPlane::Store);
    assert_text_plane(STRING | fast_only("default"), KeyPlane::Terms);
}

#[test]
fn numbers_are_keys_as_decimal_strings_from_every_plane() {
    let planes = [
        (NumericOptions::default().set_fast(), KeyPlane::Column),
        (NumericOptions::default().set_indexed(), KeyPlane::Terms),
        (NumericOptions::default().set_stored(), KeyPlane::Store),
    ];
    for (options, plane) in planes {
        let mut schema = Schema::builder();
        let unsigned = schema.add_u64_field("unsigned", options.clone());
        let signed = schema.add_i64_field("signed", options);
        let batches: Vec<Vec<u64>> = vec![(0..200).collect(), vec![u64::MAX, 1 << 63, 12_345_678_901_234]];
        let fixture = Fixture::new(schema, &batches, &[], |document, &value| {
            document.add_u64(unsigned, value);
            document.add_i64(signed, value.cast_signed().wrapping_neg());
        });
        let source = fixture.open();
        for (field, decimal) in [
            ("unsigned", (|value| value.to_string()) as fn(u64) -> String),
            ("signed", |value| (value.cast_signed().wrapping_neg()).to_string()),
        ] {
            let assigned = run(&source, &spec(field, None), &into(5)).unwrap();
            assert_eq!(assigned.readings, [KeyReading { field: field.to_owned(), plane, hashed: 203 }]);
            let placed = fixture.children(&source, &assigned);
            for (number, &value) in (0..).zip(batches.iter().flatten()) {
                assert_eq!(placed[&number], Some(formula(&decimal(value), 5)), "{value} in {field}");
            }
            assert_eq!(assigned.census.distinct_keys, Some(203), "{plane:?}");
        }
    }
}

#[test]
fn a_term_of_many_documents_reaches_all_of_them() {
    // 1,000 documents, 3 terms: lists with full blocks, a tail, and one short list.
    for options in [STRING, indexed("raw", IndexRecordOption::WithFreqsAndPositions), TextOptions::default() | STORED] {
        let mut schema = Schema::builder();
        let id = schema.add_text_field("id", options);
        let batch: Vec<&str> = (0..1000).map(|n| if n % 10 == 3 { "rare" } else { "common" }).collect();
        let fixture = Fixture::new(schema, std::slice::from_ref(&batch), &[], |document, value| {
            document.add_text(id, value);
        });
        let source = fixture.open();
        let assigned = run(&source, &spec("id", None), &into(7)).unwrap();
        let placed = fixture.children(&source, &assigned);
        for (number, id) in (0..).zip(&batch) {
            assert_eq!(placed[&number], Some(formula(id, 7)));
        }
        assert_ne!(formula("rare", 7), formula("common", 7));
        assert_eq!((assigned.census.distinct_keys, assigned.census.duplicate_keys), (Some(2), Some(998)));
    }
}

#[test]
fn an_id_too_long_to_be_a_term_is_found_in_the_store() {
    let long = format!("long {}", "ü".repeat(40_000));
    let batch = vec!["short".to_owned(), long.clone()];
    let mut schema = Schema::builder();
    let id = schema.add_text_field("id", STRING | STORED);
    let fixture = Fixture::new(schema, &[batch], &[], |document, value| document.add_text(id, value));
    let source = fixture.open();
    let assigned = run(&source, &spec("id", None), &into(9)).unwrap();
    let placed = fixture.children(&source, &assigned);
    assert_eq!(placed[&0], Some(formula("short", 9)));
    assert_eq!(placed[&1], Some(formula(&long, 9)));
    let planes: Vec<(KeyPlane, u64)> =
        assigned.readings.iter().map(|reading| (reading.plane, reading.hashed)).collect();
    assert_eq!(planes, [(KeyPlane::Terms, 1), (KeyPlane::Store, 1)]);
    // Two planes cannot be compared; no number is better than a guess.
    assert_eq!(assigned.census.distinct_keys, None);
}

#[test]
fn an_id_too_long_to_be_a_term_and_not_stored_is_missing() {
    let mut schema = Schema::builder();
    let id = schema.add_text_field("id", STRING);
    let batch = vec!["short".to_owned(), "x".repeat(65_531), "x".repeat(65_530)];
    let fixture = Fixture::new(schema, &[batch], &[], |document, value| document.add_text(id, value));
    let source = fixture.open();
    let problems = problems(run(&source, &spec("id", None), &into(2)));
    assert_eq!((problems.missing, problems.several, problems.stray), (1, 0, 0));
    assert_eq!(fixture.at(&source, &problems.missing_sample[0]), 1);
}

#[test]
fn values_in_arrays_are_keys_like_values_on_their_own() {
    for options in [fast_only("raw"), TextOptions::default() | STORED] {
        let mut schema = Schema::builder();
        let id = schema.add_text_field("id", options);
        let batch = vec![vec!["one"], vec!["two", "two"]];
        let fixture = Fixture::new(schema, &[batch], &[], |document, values| {
            let array = values.iter().map(|value| OwnedValue::Str((*value).to_owned())).collect();
            document.add_field_value(id, &OwnedValue::Array(array));
        });
        let source = fixture.open();
        let assigned = run(&source, &spec("id", None), &into(16)).unwrap();
        let placed = fixture.children(&source, &assigned);
        assert_eq!((placed[&0], placed[&1]), (Some(formula("one", 16)), Some(formula("two", 16))));
    }
}

#[test]
fn fields_without_an_exact_string_are_refused_with_those_that_have_one() {
    let mut schema = Schema::builder();
    schema.add_text_field("body", TEXT);
    schema.add_text_field("lower", fast_only("default"));
    schema.add_f64_field("score", FAST | STORED);
    schema.add_date_field("day", DateOptions::default().set_fast().set_stored());
    schema.add_bool_field("flag", FAST | STORED);
    schema.add_bytes_field("raw", FAST | STORED);
    schema.add_ip_addr_field("ip", FAST | STORED);
    schema.add_json_field("attrs", FAST | STORED);
    schema.add_facet_field("facet", STORED);
    schema.add_u64_field("nowhere", NumericOptions::default());
    schema.add_text_field("id", STRING);
    let fixture = Fixture::new(schema, &[vec![()]], &[], |_, ()| {});
    let source = fixture.open();
    let usable: Vec<(String, KeyPlane)> =
        vec![("id".to_owned(), KeyPlane::Terms), ("number".to_owned(), KeyPlane::Column)];
    assert_eq!(usable_key_fields(&source).unwrap(), usable);
    for name in
        ["body", "lower", "score", "day", "flag", "raw", "ip", "attrs", "facet", "nowhere", "absent", "attrs.id"]
    {
        for keys in [spec(name, None), spec("id", Some(name))] {
            match run(&source, &keys, &into(2)) {
                Err(Error::Field { field, usable, .. }) => {
                    assert_eq!(field, name);
                    assert_eq!(usable, ["id", "number"]);
                }
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}
