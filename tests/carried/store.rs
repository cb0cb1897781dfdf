//! The doc store: codecs, levels, blocks, what is stored.

use std::path::Path;

use super::{Case, parse, schema};
use crate::common::content::Content;
use crate::common::documents::Rng;
use crate::small_index::{seal, split as split_file};
use serde_json::{Value, json};
use tantivy::IndexSettings;
use tantivy::schema::{
    BytesOptions, DateOptions, FacetOptions, IpAddrOptions, JsonObjectOptions, NumericOptions, STORED, Schema,
};
use tantivy::store::{Compressor, ZstdCompressor};

/// Documents of which each stores some words; `long` of them long ones.
fn documents(schema: &Schema, numbers: std::ops::Range<u64>, long: u64) -> Vec<tantivy::TantivyDocument> {
    let text = |n: u64| {
        let mut rng = Rng::new(n);
        let words = 1 + rng.below(if n.is_multiple_of(5) { long } else { 8 });
        (0..words).map(|_| format!("{:x} ", rng.below(1 << 20))).collect::<String>()
    };
    parse(schema, numbers.map(|n| json!({"id": n.to_string(), "text": text(n)})))
}

fn stored_text() -> Schema {
    let (mut builder, _) = schema();
    builder.add_text_field("text", STORED);
    builder.build()
}

fn settings(compressor: Compressor, blocksize: usize) -> IndexSettings {
    IndexSettings { docstore_compression: compressor, docstore_blocksize: blocksize, ..IndexSettings::default() }
}

fn zstd(level: Option<i32>) -> Compressor {
    Compressor::Zstd(ZstdCompressor { compression_level: level })
}

fn meta(dir: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(dir.join("meta.json")).unwrap()).unwrap()
}

/// Bodies of all doc stores of an index.
fn stores(content: &Content) -> Vec<Vec<u8>> {
    let files = std::fs::read_dir(&content.dir).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "store"));
    files.map(|path| split_file(&std::fs::read(path).unwrap()).0).collect()
}

/// The codec that the footer of a store names.
fn codec(body: &[u8]) -> u8 {
    body[body.len() - 16]
}

#[test]
fn every_codec_and_level_is_kept() {
    let schema = stored_text();
    for (compressor, id, text) in [
        (Compressor::None, 0, "none"),
        (Compressor::Lz4, 1, "lz4"),
        (zstd(None), 4, "zstd"),
        (zstd(Some(1)), 4, "zstd(compression_level=1)"),
        (zstd(Some(19)), 4, "zstd(compression_level=19)"),
        (zstd(Some(-7)), 4, "zstd(compression_level=-7)"),
    ] {
        let segments = [documents(&schema, 0..90, 300), documents(&schema, 90..120, 300)];
        let case = Case::new(&schema, settings(compressor, 4_096), &segments);
        case.split_as(&[1, 3], &super::WAYS, |split| {
            for (_, child) in &split.children {
                assert_eq!(meta(&child.dir)["index_settings"]["docstore_compression"], json!(text));
                assert!(stores(child).iter().all(|body| codec(body) == id));
            }
        });
    }
}

#[test]
fn where_a_file_has_another_codec_than_the_setting_the_setting_decides_what_is_written() {
    let schema = stored_text();
    let codecs = [(Compressor::None, 0), (Compressor::Lz4, 1), (zstd(Some(3)), 4)];
    for (written, was) in codecs {
        for (setting, becomes) in codecs.into_iter().filter(|(_, id)| *id != was) {
            let case = Case::new(&schema, settings(written, 2_000), &[documents(&schema, 0..80, 200)]);
            let mut meta = meta(&case.source());
            meta["index_settings"]["docstore_compression"] = serde_json::to_value(setting).unwrap();
            std::fs::write(case.source().join("meta.json"), meta.to_string()).unwrap();
            case.split_as(&[3], &super::WAYS, |split| {
                let expected = if split.rewritten() { becomes } else { was };
                for body in split.children.iter().flat_map(|(_, child)| stores(child)) {
                    assert_eq!(codec(&body), expected, "{:?}", split.way);
                }
            });
        }
    }
}

#[test]
fn blocks_of_1_kib_to_1_mib_are_as_large_as_the_setting_says() {
    let schema = stored_text();
    let segments = [documents(&schema, 0..700, 3_000), documents(&schema, 700..900, 3_000)];
    for blocksize in [1 << 10, 1 << 14, 1 << 17, 1 << 20] {
        let case = Case::new(&schema, settings(Compressor::Lz4, blocksize), &segments);
        case.split_as(&[1, 3], &super::WAYS, |split| {
            for (_, child) in &split.children {
                assert_eq!(meta(&child.dir)["index_settings"]["docstore_blocksize"], json!(blocksize));
            }
            if split.united() && split.into == 1 {
                // A block begins with its uncompressed size; it ends with the document that makes it too large.
                let body = &stores(&split.children[0].1)[0];
                let first = u32::from_le_bytes(*body.first_chunk().unwrap()) as usize;
                assert!((blocksize / 2..blocksize + 40_000).contains(&first), "{first} for {blocksize}");
            }
        });
    }
}

#[test]
fn documents_of_16_mib_are_kept() {
    let schema = stored_text();
    let mut rng = Rng::new(16);
    let noise: String = (0..2_100_000).map(|_| format!("{:08x}", rng.next() as u32)).collect();
    let same = "the same again and ".repeat(900_000);
    assert!(noise.len() > 16 << 20 && same.len() > 16 << 20);
    let mut first = documents(&schema, 0..20, 20);
    first.extend(parse(&schema, [json!({"id": "noise", "text": noise}), json!({"id": "same", "text": same})]));
    let case = Case::plain(&schema, &[first, documents(&schema, 20..30, 20)]);
    case.split_as(&[3], &super::WAYS, |split| {
        split.assert_lines("noise", &[format!("stored 1 text Str({noise:?})")]);
        split.assert_lines("same", &[format!("stored 1 text Str({same:?})")]);
    });
}

#[test]
fn every_type_of_stored_value_is_kept() {
    let (mut builder, _) = schema();
    builder.add_text_field("text", STORED);
    for (name, number) in [("u64", 0), ("i64", 1), ("f64", 2), ("bool", 3)] {
        let options = NumericOptions::default().set_stored();
        match number {
            0 => builder.add_u64_field(name, options),
            1 => builder.add_i64_field(name, options),
            2 => builder.add_f64_field(name, options),
            _ => builder.add_bool_field(name, options),
        };
    }
    builder.add_date_field("date", DateOptions::default().set_stored());
    builder.add_facet_field("facet", FacetOptions::default().set_stored());
    builder.add_bytes_field("bytes", BytesOptions::default().set_stored());
    builder.add_ip_addr_field("ip", IpAddrOptions::default().set_stored());
    builder.add_json_field("json", JsonObjectOptions::default().set_stored());
    let schema = builder.build();
    let document = |n: i64| {
        json!({
            "id": n.to_string(), "text": [format!("text {n}"), ""], "u64": u64::MAX - n.cast_unsigned(), "i64": -n,
            "f64": n as f64 + 0.5, "bool": [true, false], "date": "2024-02-03T04:05:06.000000007Z", "facet": "/a/b",
            "bytes": "AP8=", "ip": "2001:db8::1",
            "json": {"a": [1, -1, 0.5, null, true, "t", {"b": []}], "d": "2024-02-03T04:05:06Z", "e": {}},
        })
    };
    let case = Case::plain(&schema, &[parse(&schema, (0..30).map(document)), parse(&schema, (30..50).map(document))]);
    case.split(|split| {
        let doc = split.doc("7");
        for value in [
            "text Str(\"text 7\")",
            "text Str(\"\")",
            "u64 U64(18446744073709551608)",
            "i64 I64(-7)",
            "f64 F64(7.5/401e000000000000)",
            "bool Bool(false)",
            "date Date(1706933106000000007)",
            "bytes Bytes([0, 255])",
            "ip IpAddr(2001:db8::1)",
        ] {
            let found = doc.lines.iter().any(|line| line.starts_with("stored ") && line.ends_with(value));
            assert!(found, "no {value} in {:#?}", doc.lines);
        }
        let json = doc.lines.iter().find(|line| line.contains(" json ")).unwrap();
        let parts = ["[I64(1), I64(-1), F64(0.5/3fe0000000000000), Null, Bool(true), Str(\"t\")", "\"e\": {}"];
        assert!(parts.iter().all(|part| json.contains(part)), "{json}");
    });
}

#[test]
fn documents_without_a_stored_value_are_kept() {
    let mut builder = Schema::builder();
    builder.add_text_field("id", tantivy::schema::FAST);
    let schema = builder.build();
    let document = |n: u32| json!({"id": n.to_string()});
    let case = Case::plain(&schema, &[parse(&schema, (0..70).map(document)), parse(&schema, (70..90).map(document))]);
    case.split(|split| {
        assert_eq!(split.docs().count(), 90);
        assert!(split.docs().all(|doc| doc.lines.iter().all(|line| line.starts_with("column "))));
    });
}

#[test]
fn dates_of_a_store_of_version_1_come_out_as_nanoseconds() {
    let (mut builder, _) = schema();
    builder.add_date_field("date", DateOptions::default().set_stored());
    builder.add_json_field("json", JsonObjectOptions::default().set_stored());
    let schema = builder.build();
    // 1970-01-20, in nanoseconds; read as microseconds it is in 2024.
    let document = |n: u32| {
        let date = "1970-01-20T17:48:00.000123Z";
        json!({"id": n.to_string(), "date": date, "json": {"deep": [{"date": date}], "number": 7}})
    };
    let case = Case::plain(&schema, &[parse(&schema, (0..40).map(document)), parse(&schema, (40..60).map(document))]);
    for path in std::fs::read_dir(case.source()).unwrap().map(|entry| entry.unwrap().path()) {
        if path.extension().is_some_and(|extension| extension == "store") {
            let (mut body, footer) = split_file(&std::fs::read(&path).unwrap());
            let at = body.len() - 28;
            assert_eq!(body[at], 2);
            body[at] = 1;
            std::fs::write(&path, seal(&body, &footer)).unwrap();
        }
    }
    case.split(|split| {
        split.assert_lines("9", &["stored 1 date Date(1705680000123000000)"]);
        let json = split.doc("9").lines.iter().find(|line| line.starts_with("stored 2 json")).unwrap();
        assert!(json.contains("Date(1705680000123000000)") && json.contains("I64(7)"), "{json}");
        let version = if split.rewritten() { 2 } else { 1 };
        for body in split.children.iter().flat_map(|(_, child)| stores(child)) {
            assert_eq!(body[body.len() - 28], version, "{:?}", split.way);
        }
    });
}
