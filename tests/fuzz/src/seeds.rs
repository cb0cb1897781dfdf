//! Writes the seeds anew, into `seeds/<target>/`: pieces of a small index and its children, as targets take them. Any target does
//! it when it is started with `WRITE_SEEDS=1`.

use std::fs;
use std::path::Path;

use crate::index::{Bench, build, split, zstd};
use serde_json::{Value, json};
use shardsplit::job::Job;
use shardsplit::progress::{Cancel, Silent};
use tantivy::store::Compressor;

fn write(target: &str, name: &str, bytes: &[u8]) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join(name), bytes).unwrap();
}

/// A JSON file of `dir`, without the name that the directory happens to have.
fn text(dir: &Path, name: &str) -> Vec<u8> {
    let text = fs::read_to_string(dir.join(name)).unwrap();
    text.replace(fs::canonicalize(dir).unwrap().to_str().unwrap(), "/place").into_bytes()
}

fn read(dir: &Path, extension: &str) -> Vec<Vec<u8>> {
    let mut found: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|found| found == extension));
    let mut files: Vec<Vec<u8>> = found.iter().map(|path| fs::read(path).unwrap()).collect();
    files.sort_by_key(Vec::len);
    files
}

fn bodies(dir: &Path, extension: &str) -> Vec<Vec<u8>> {
    read(dir, extension).iter().map(|file| split(file).unwrap().0.to_vec()).collect()
}

/// The parts of a composite file, by field.
fn parts(body: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let end = body.len() - 4;
    let table_len = u32::from_le_bytes(body[end..].try_into().unwrap()) as usize;
    let mut table = &body[end - table_len..end];
    let vint = |table: &mut &[u8]| {
        let (mut value, mut shift) = (0usize, 0);
        loop {
            let byte = table[0];
            *table = &table[1..];
            value |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 != 0 {
                return value;
            }
        }
    };
    let count = vint(&mut table);
    let (mut starts, mut offset) = (Vec::new(), 0);
    for _ in 0..count {
        offset += vint(&mut table);
        let field = u32::from_le_bytes(table[..4].try_into().unwrap());
        table = &table[4..];
        vint(&mut table);
        starts.push((field, offset));
    }
    let ends = starts.iter().skip(1).map(|(_, start)| *start).chain([end - table_len]).collect::<Vec<_>>();
    starts.iter().zip(ends).map(|(&(field, start), end)| (field, body[start..end].to_vec())).collect()
}

fn of_index(dir: &Path, name: &str) {
    let meta = fs::read(dir.join("meta.json")).unwrap();
    write("meta", name, &meta);
    let meta: Value = serde_json::from_slice(&meta).unwrap();
    let mut docs: Vec<u16> =
        meta["segments"].as_array().unwrap().iter().map(|s| s["max_doc"].as_u64().unwrap() as u16).collect();
    docs.sort_unstable();
    for (at, file) in read(dir, "term").iter().enumerate() {
        write("footer", &format!("{name}-{at}"), &file[file.len() - 120..]);
    }
    let [terms, postings, positions] = ["term", "idx", "pos"].map(|extension| bodies(dir, extension));
    for at in 0..terms.len() {
        write("fields", &format!("{name}-{at}"), &postings[at][postings[at].len() - 60..]);
        let mut norms = bodies(dir, "fieldnorm")[at].clone();
        norms.drain(..norms.len().saturating_sub(40));
        write("fields", &format!("{name}-norms-{at}"), &norms);
        let all = parts(&terms[at]).into_iter().zip(parts(&postings[at])).zip(parts(&positions[at]));
        for (((field, dictionary), (_, postings)), (_, positions)) in all {
            let lens = [postings.len() as u16 - 8, positions.len() as u16].map(u16::to_le_bytes).concat();
            write("dictionary", &format!("{name}-{at}-{field}"), &[&lens[..], &dictionary].concat());
            // The list of the term that every document has begins where the field's postings do, or nearly.
            if field == 1 {
                for (count, record) in [(docs[at], 2u8), (1, 2), (1, 0), (5, 1)] {
                    let list = &postings[8..];
                    let head = [&count.to_le_bytes()[..], &[record], &(list.len() as u16).to_le_bytes()].concat();
                    write("lists", &format!("{name}-{at}-{count}-{record}"), &[&head, list, &positions].concat());
                }
            }
        }
        let store = &bodies(dir, "store")[at];
        write("store", &format!("{name}-{at}"), &[&docs[at].to_le_bytes()[..], store].concat());
        let fast = &bodies(dir, "fast")[at];
        write("columns", &format!("{name}-{at}"), &[&docs[at].to_le_bytes()[..], fast].concat());
        let end = fast.len() - 20;
        let names = u64::from_le_bytes(fast[end..end + 8].try_into().unwrap()) as usize;
        write("tables", &format!("{name}-names-{at}"), &[&[0], &fast[end - names..end]].concat());
        write(
            "tables",
            &format!("{name}-block-{at}"),
            &[&[if name == "zstd" { 3 } else { 2 }], &store[..200.min(store.len())]].concat(),
        );
    }
    for (at, body) in bodies(dir, "del").iter().enumerate() {
        let max_doc = u32::from_le_bytes(body[..4].try_into().unwrap());
        let live: u32 = body[4..].iter().map(|byte| byte.count_ones()).sum();
        let head = [max_doc as u16, (max_doc - live) as u16].map(u16::to_le_bytes).concat();
        write("deletes", &format!("{name}-{at}"), &[&head, &body[..]].concat());
    }
}

/// Writes all of them.
pub fn write_all() {
    let dir = tempfile::tempdir().unwrap();
    for (name, compressor) in [("lz4", Compressor::Lz4), ("zstd", zstd()), ("none", Compressor::None)] {
        let index = dir.path().join(name);
        build(&index, compressor);
        of_index(&index, name);
    }
    let out = dir.path().join("out");
    let job = Job::new(dir.path().join("none"), &out, 2, "id");
    let prepared = job.prepare(&Silent, &Cancel::new()).unwrap();
    prepared.save(&dir.path().join("plan.json")).unwrap();
    write("plan", "split", &text(dir.path(), "plan.json"));
    prepared.execute(&Silent, &Cancel::new()).unwrap();
    write("manifests", "set", &text(dir.path(), "out/shardsplit.json"));
    write("manifests", "child", &text(dir.path(), "out/0/shardsplit.json"));
    let record =
        json!({"format": 1, "tool": "x", "children": [{"shard": 0, "segments": ["0123456789abcdef0123456789abcdef"]}]});
    write("manifests", "record", record.to_string().as_bytes());
    write("routing", "elasticsearch", &fs::read(out.join("routing.json")).unwrap());
    write("sidecar", "child", &read(&out.join("0"), "hashes")[0]);
    let routing = |routing: &str, slots: Value, shards: u32, table: Value| {
        let file = json!({"format": 1, "routing": routing, "number_of_shards": shards, "number_of_routing_shards": slots,
            "routing_partition_size": 1, "key": "id", "routing_field": null, "table": table});
        write("routing", routing, file.to_string().as_bytes());
    };
    let runs = json!({"format": 1, "slots": 8, "runs": [{"first": 0, "last": 3, "shard": 0}, {"first": 4, "last": 7, "shard": 1}]});
    routing("slots", json!(8), 2, runs);
    let ranges = json!([{"range": "80000000-ffffffff", "shard": 0}, {"range": "0-7fffffff", "shard": 1}]);
    routing("solr", Value::Null, 2, json!({"format": 1, "ranges": ranges}));
    let nodes = json!([{"name": "a", "weight": 1, "shard": 0}, {"name": "b", "weight": 2, "shard": 1}]);
    routing(
        "ring",
        Value::Null,
        2,
        json!({"format": 1, "kind": "ring", "hash": "murmur3-x86-32-seed-0",
        "encoding": "utf-16le", "collision": "lowest-name", "nodes": nodes}),
    );
    let planned = json!({"format": 1, "routing": "none", "number_of_shards": 2, "placement": {"by": "value", "field": "f", "values": ["a"]}});
    write("routing", "none", planned.to_string().as_bytes());
    let vint = |n: u8| n | 0x80;
    let document = [
        &[vint(4), 0, 0, 0, 0, 0, vint(2)][..],
        b"ab",
        &[1, 0, 0, 0, 5],
        &7u64.to_le_bytes(),
        &[2, 0, 0, 0, 13, vint(2), 0, vint(1), b'k', 12, vint(1), 11, 3, 0, 0, 0, 8],
        b"{\"a\":1}",
    ]
    .concat();
    write("documents", "nested", &document);
    let pretokenised = [&[vint(1), 0, 0, 0, 0, 7, 0, vint(24)][..], b"{\"text\":\"a\",\"tokens\":[]}"].concat();
    write("documents", "pretokenised", &pretokenised);
    for (name, text) in [
        ("value", "value:a=x,y\\,z,\\\\"),
        ("range", "range:a.b=-1,2.5"),
        ("query", "query:a:b\nquery:c:d"),
        ("turns", "round-robin"),
        ("hashes", "80000000-ffffffff"),
    ] {
        write("words", name, text.as_bytes());
    }
    // One edit each: file, what, where, value.
    for (target, children) in [("split", false), ("verify", true)] {
        let files = Bench::new(children).victims().len() as u8;
        for file in 0..files {
            for (what, at, value) in [
                (0x80u8, [40u8, 0, 0], [1u8, 0, 0, 0]),
                (0x82, [8, 0, 0x80], [0xff; 4]),
                (0x05, [10, 0, 0x80], [0; 4]),
                (0x8b, [0; 3], [0; 4]),
            ] {
                let edit = [&[file, what][..], &at, &value].concat();
                let bytes = if children { edit } else { [&[file % 2][..], &edit].concat() };
                write(target, &format!("{file}-{what:02x}"), &bytes);
            }
        }
    }
}
