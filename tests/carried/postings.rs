//! Postings: every record option, every kind of term, lists of every length.

use std::collections::BTreeMap;

use super::{Case, parse, schema};
use crate::common::schema::{FieldSpec, Flags, Kind, TextIndex, add_field};
use serde_json::json;
use tantivy::schema::{IndexRecordOption, JsonObjectOptions, TEXT, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{Index, IndexSettings, TantivyDocument};

use IndexRecordOption::{Basic, WithFreqs, WithFreqsAndPositions};

#[test]
fn text_keeps_what_each_record_option_has_of_it_with_and_without_norms() {
    let (mut builder, _) = schema();
    let mut names = Vec::new();
    for record in [Basic, WithFreqs, WithFreqsAndPositions] {
        for bits in 0..8u8 {
            let (norms, stored, fast) = (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0);
            let name = format!("{record:?}_{bits}");
            let index = TextIndex { tokenizer: "default", record, norms };
            let kind = Kind::Text { index: Some(index), fast: fast.then_some("raw"), stored };
            add_field(&mut builder, &FieldSpec { name: name.clone(), kind });
            names.push((name, record, norms, stored, fast));
        }
    }
    let schema = builder.build();
    let document = |n: u32| {
        let text = match n % 4 {
            0 => format!("rose is a rose is a rose {n}"),
            1 => "only once".to_owned(),
            _ => format!("other words {} and {}", n % 7, n % 5),
        };
        let mut document: serde_json::Map<String, _> =
            names.iter().map(|(name, ..)| (name.clone(), json!(text))).collect();
        document.insert("id".to_owned(), json!(n.to_string()));
        serde_json::Value::Object(document)
    };
    let case = Case::plain(&schema, &[parse(&schema, (0..50).map(document)), parse(&schema, (50..80).map(document))]);
    case.split(|split| {
        for (name, record, norms, stored, fast) in &names {
            let posting = match record {
                Basic => "tf=-",
                WithFreqs => "tf=3",
                WithFreqsAndPositions => "tf=3 pos=[0, 3, 6]",
            };
            let mut lines = vec![format!("term {name} \"rose\" {posting}")];
            lines.extend(norms.then(|| format!("norm {name} 8")));
            lines.extend(fast.then(|| format!("column {name:?} Str [\"rose is a rose is a rose 24\"]")));
            split.assert_lines("24", &lines);
            let store = split.doc("24").lines.iter().filter(|line| line.starts_with("stored ")).collect::<Vec<_>>();
            assert_eq!(store.iter().any(|line| line.contains(&format!(" {name} "))), *stored, "{name}: {store:?}");
            if !norms {
                split.assert_none("24", &format!("norm {name} "));
            }
        }
    });
}

#[test]
fn tokens_made_beforehand_keep_their_gaps_and_synonyms() {
    let (mut builder, id) = schema();
    let text = builder.add_text_field("text", TEXT | tantivy::schema::STORED);
    let schema = builder.build();
    let document = |n: usize| {
        let token = |position: usize, length: usize, text: &str| Token {
            offset_from: 0,
            offset_to: 1,
            position,
            text: text.to_owned(),
            position_length: length,
        };
        // Two words at one place, one of them as long as two, then a gap, and another.
        let tokens = vec![
            token(n, 1, "quick"),
            token(n, 2, "fast"),
            token(n + 5, 1, "fox"),
            token(n + 1_000_000, 1, "fox"),
            token(n + 1_000_001, 1, "quick"),
        ];
        let mut document = TantivyDocument::new();
        document.add_text(id, n.to_string());
        document.add_pre_tokenized_text(text, PreTokenizedString { text: "the fox".to_owned(), tokens });
        document
    };
    let case = Case::plain(&schema, &[(0..30).map(document).collect(), (30..45).map(document).collect()]);
    case.split(|split| {
        split.assert_lines(
            "33",
            &[
                "term text \"quick\" tf=2 pos=[33, 1000034]",
                "term text \"fast\" tf=1 pos=[33]",
                "term text \"fox\" tf=2 pos=[38, 1000033]",
            ],
        );
        // tantivy stores the text without its tokens.
        split.assert_lines("33", &["stored 1 text Str(\"the fox\")"]);
    });
}

#[test]
fn numbers_dates_addresses_bytes_and_facets_are_terms_of_their_documents() {
    let (mut builder, _) = schema();
    for norms in [false, true] {
        let flags = Flags { indexed: true, norms, ..Flags::default() };
        let date = Kind::Date(flags, tantivy::schema::DateTimePrecision::Nanoseconds);
        for (name, kind) in [
            ("u64", Kind::U64(flags)),
            ("i64", Kind::I64(flags)),
            ("f64", Kind::F64(flags)),
            ("bool", Kind::Bool(flags)),
            ("date", date),
            ("ip", Kind::Ip(flags)),
            ("bytes", Kind::Bytes(flags)),
        ] {
            add_field(&mut builder, &FieldSpec { name: format!("{name}_{norms}"), kind });
        }
    }
    add_field(&mut builder, &FieldSpec { name: "facet".to_owned(), kind: Kind::Facet { stored: false } });
    let schema = builder.build();
    let document = |n: i64| {
        let mut document = json!({"id": n.to_string(), "facet": format!("/a/{}", n % 3)});
        for norms in [false, true] {
            let mut set = |name: &str, value: serde_json::Value| document[format!("{name}_{norms}")] = value;
            set("u64", json!([n, n + 1]));
            set("i64", json!(-n));
            set("f64", json!(n as f64 / 2.0));
            set("bool", json!(n % 2 == 0));
            set("date", json!(format!("2024-02-{:02}T01:02:03.000000004Z", n % 28 + 1)));
            set("ip", json!(format!("10.0.0.{n}")));
            set("bytes", json!(if n % 2 == 0 { "AP8=" } else { "YWJj" }));
        }
        document
    };
    let case = Case::plain(&schema, &[parse(&schema, (0..40).map(document)), parse(&schema, (40..60).map(document))]);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    case.split(|split| {
        for norms in [false, true] {
            let term = |name: &str, bytes: &[u8]| match std::str::from_utf8(bytes) {
                Ok(text) => format!("term {name}_{norms} {text:?} tf=-"),
                Err(_) => format!("term {name}_{norms} 0x{} tf=-", hex(bytes)),
            };
            // Big-endian and in order: i64 with the top bit flipped, f64 positive with it set.
            let ten = 5.0f64.to_bits() | 1 << 63;
            let mut lines = vec![
                term("u64", &10u64.to_be_bytes()),
                term("u64", &11u64.to_be_bytes()),
                term("i64", &((-10i64).cast_unsigned() ^ 1 << 63).to_be_bytes()),
                term("f64", &ten.to_be_bytes()),
                term("bool", &1u64.to_be_bytes()),
                term("ip", &std::net::Ipv4Addr::new(10, 0, 0, 10).to_ipv6_mapped().octets()),
                term("bytes", &[0, 255]),
            ];
            // Terms of dates are cut to seconds.
            let date = 1_707_613_323_000_000_000i64.cast_unsigned() ^ 1 << 63;
            lines.push(term("date", &date.to_be_bytes()));
            lines.extend(norms.then(|| "norm u64_true 2".to_owned()));
            split.assert_lines("10", &lines);
        }
        split.assert_lines("10", &["term facet \"\" tf=-", "term facet \"a\" tf=-", "term facet \"a\\01\" tf=-"]);
    });
}

#[test]
fn json_keeps_its_paths_and_types_and_numbers_that_have_no_frequencies() {
    let (mut builder, _) = schema();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("default")
        .set_index_option(WithFreqsAndPositions)
        .set_fieldnorms(false);
    let options = JsonObjectOptions::default().set_indexing_options(indexing).set_stored();
    builder.add_json_field("plain", options.clone());
    builder.add_json_field("dots", options.set_expand_dots_enabled());
    let schema = builder.build();
    let document = |n: u32| {
        // One path with text, numbers, a truth value and a date, by turns and together.
        let value = match n % 5 {
            0 => json!("red red green"),
            1 => json!(7),
            2 => json!([true, "red", 7, 7, -1, 0.5]),
            3 => json!("2024-02-03T04:05:06Z"),
            _ => json!(null),
        };
        let object = json!({
            "a": {"b": value, "deep": {"er": [{"x": "one"}, {"x": "two two"}]}}, "k8s.node": "blue", "n": n,
        });
        json!({"id": n.to_string(), "plain": object, "dots": object})
    };
    let case =
        Case::plain(&schema, &[parse(&schema, (0..150).map(document)), parse(&schema, (150..300).map(document))]);
    case.split_as(&[1, 8], &super::WAYS, |split| {
        for field in ["plain", "dots"] {
            split.assert_lines(
                "205",
                &[
                    format!(r#"term {field} "a\u{{1}}b\0sred" tf=2 pos=[0, 1]"#),
                    format!(r#"term {field} "a\u{{1}}deep\u{{1}}er\u{{1}}x\0sone" tf=1 pos=[0]"#),
                ],
            );
            let doc = split.doc("207");
            let numbers: Vec<&String> = doc
                .lines
                .iter()
                .filter(|line| line.starts_with(&format!("term {field} ")) && line.ends_with(" tf=-"))
                .collect();
            // true, 7, -1, 0.5 and the number of the document; a number that comes twice is one posting.
            assert_eq!(numbers.len(), 5, "{numbers:#?}");
        }
        split.assert_lines(
            "205",
            &[r#"term plain "k8s.node\0sblue" tf=1 pos=[0]"#, r#"term dots "k8s\u{1}node\0sblue" tf=1 pos=[0]"#],
        );
    });
}

#[test]
fn position_lists_longer_than_512_and_around_blocks_of_128_keep_every_position() {
    let (mut builder, _) = schema();
    builder.add_text_field("text", TEXT);
    let schema = builder.build();
    let lens = [1, 2, 127, 128, 129, 255, 256, 257, 511, 512, 513, 640, 5_000, 70_000];
    let document = |n: usize| {
        // Other words between, so that not all deltas are 1.
        let words: Vec<&str> =
            (0..lens[n % lens.len()]).map(|at| if at % 300 == 299 { "w x y" } else { "w" }).collect();
        json!({"id": n.to_string(), "text": words.join(" ")})
    };
    let case = Case::plain(&schema, &[parse(&schema, (0..14).map(document)), parse(&schema, (14..28).map(document))]);
    case.split_as(&[1, 3], &super::WAYS, |split| {
        for (n, len) in lens.into_iter().cycle().take(28).enumerate() {
            let positions: Vec<usize> = (0..len).map(|at| at + 2 * (at / 300)).collect();
            split.assert_lines(&n.to_string(), &[format!("term text \"w\" tf={len} pos={positions:?}")]);
        }
    });
}

#[test]
fn posting_lists_around_blocks_of_128_keep_every_document() {
    let (mut builder, _) = schema();
    builder.add_text_field("text", TEXT);
    let schema = builder.build();
    let lens = [1, 2, 127, 128, 129, 255, 256, 257, 511, 512, 513];
    let document = |n: u32| {
        let words: Vec<String> = lens.iter().filter(|len| n < **len).map(|len| format!("in{len}")).collect();
        json!({"id": n.to_string(), "text": words.join(" ")})
    };
    let all = parse(&schema, (0..520).map(document));
    let case = Case::plain(&schema, &[all[..300].to_vec(), all[300..].to_vec()]);
    case.split(|split| {
        let mut found: BTreeMap<&str, u32> = BTreeMap::new();
        for line in split.docs().flat_map(|doc| &doc.lines).filter(|line| line.starts_with("term text ")) {
            *found.entry(line.split('"').nth(1).unwrap()).or_default() += 1;
        }
        assert_eq!(found, lens.iter().map(|len| (format!("in{len}").leak() as &str, *len)).collect());
    });
}

#[test]
fn terms_of_the_greatest_length_there_is_are_kept() {
    let (mut builder, _) = schema();
    builder.add_text_field("raw", tantivy::schema::STRING);
    let schema = builder.build();
    let longest = 65_530;
    let term = |n: u32| format!("{}{n:04}", "x".repeat(longest - 4));
    let document = |n: u32| json!({"id": n.to_string(), "raw": term(n)});
    let case = Case::plain(&schema, &[parse(&schema, (0..12).map(document)), parse(&schema, (12..20).map(document))]);
    case.split_as(&[1, 3], &super::WAYS, |split| {
        (0..20).for_each(|n| split.assert_lines(&n.to_string(), &[format!("term raw {:?} tf=-", term(n))]));
    });
}

#[test]
fn a_tokenizer_that_nobody_here_knows_is_not_needed() {
    let (mut builder, id) = schema();
    let indexing = TextFieldIndexing::default().set_tokenizer("of my own").set_index_option(WithFreqsAndPositions);
    let text = builder.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
    let schema = builder.build();
    let case = Case::new(&schema, IndexSettings::default(), &[]);
    let index = Index::open_in_dir(case.source()).unwrap();
    let tokenizer = tantivy::tokenizer::NgramTokenizer::new(2, 3, false).unwrap();
    index.tokenizers().register("of my own", tokenizer);
    let mut writer = index.writer_with_num_threads(1, 15_000_000).unwrap();
    for n in 0..40u32 {
        writer.add_document(tantivy::doc!(id => n.to_string(), text => format!("abc{n}"))).unwrap();
    }
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
    case.split(|split| split.assert_lines("5", &["term text \"abc\" tf=1 pos=[0]", "term text \"c5\" tf=1 pos=[0]"]));
}
