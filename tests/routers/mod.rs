//! Routing by tables: one shard is split alone, by Solr's ranges, slots or a ring. Documents are read with tantivy's own
//! reader, and where they belong is worked out here, with the `murmur3` crate.

mod check;
mod files;
mod ring;
mod slots;
mod solr;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use tantivy::schema::{FAST, STORED, STRING, Schema, TEXT};
use tantivy::{Index, IndexWriter, Term, doc};
use tempfile::TempDir;

use crate::cli::place::{Place, ids};
use crate::common::routing::hash as elasticsearch_hash;

/// A directory with `source`: two segments of documents with these ids, of five teams in turn, and three deleted ones.
fn place(ids: &[String]) -> Place {
    let place = Place { dir: TempDir::new().unwrap() };
    build(&place.path("source"), ids);
    place
}

fn build(dir: &Path, ids: &[String]) {
    std::fs::create_dir_all(dir).unwrap();
    let mut schema = Schema::builder();
    let id = schema.add_text_field("id", STRING | STORED | FAST);
    let team = schema.add_text_field("team", STRING | FAST);
    let body = schema.add_text_field("body", TEXT | STORED);
    let index = Index::create_in_dir(dir, schema.build()).unwrap();
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 20_000_000).unwrap();
    writer.set_merge_policy(Box::new(tantivy::merge_policy::NoMergePolicy));
    for (nth, text) in ids.iter().enumerate() {
        let body_text = format!("word{} common", nth % 7);
        writer.add_document(doc!(id => text.as_str(), team => format!("team-{}", nth % 5), body => body_text)).unwrap();
        if nth == ids.len() / 2 {
            for gone in ["gone-1", "gone-2", "gone!3"] {
                writer.add_document(doc!(id => gone, body => "gone")).unwrap();
            }
            writer.commit().unwrap();
        }
    }
    for gone in ["gone-1", "gone-2", "gone!3"] {
        writer.delete_term(Term::from_field_text(id, gone));
    }
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
}

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("doc-{number}")).collect()
}

/// murmur3 over UTF-8, as Solr hashes a part of an id.
fn plain_hash(text: &str) -> u32 {
    murmur3::murmur3_32(&mut text.as_bytes(), 0).unwrap()
}

/// Solr's compositeId hash of ids with up to two route keys, spelt out.
fn composite_hash(id: &str) -> i32 {
    let high = |bits: u32| u32::try_from(u64::from(u32::MAX) << (32 - bits) & u64::from(u32::MAX)).unwrap();
    let key = |part: &str, default: u32| match part.split_once('/') {
        Some((name, bits)) => (plain_hash(name), bits.parse().unwrap()),
        None => (plain_hash(part), default),
    };
    let parts: Vec<&str> = id.split('!').collect();
    let hash = match parts.as_slice() {
        [id] => plain_hash(id),
        [first, rest] => {
            let (hash, bits) = key(first, 16);
            hash & high(bits) | plain_hash(rest) & !high(bits)
        }
        [first, second, rest] => {
            let ((one, first_bits), (two, second_bits)) = (key(first, 8), key(second, 8));
            let (one_mask, both_mask) = (high(first_bits), high(first_bits + second_bits));
            one & one_mask | two & both_mask & !one_mask | plain_hash(rest) & !both_mask
        }
        _ => panic!("{id}"),
    };
    hash.cast_signed()
}

/// `floorMod(hash, slots)` of Elasticsearch's hash.
fn slot(id: &str, slots: i64) -> usize {
    usize::try_from(i64::from(elasticsearch_hash(id)).rem_euclid(slots)).unwrap()
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Shard of each slot, as the routing file of `set` says.
fn owners(place: &Place, set: &str) -> Vec<u64> {
    let file = read_json(&place.path(set).join("routing.json"));
    assert_eq!(file["routing"], "slots");
    let mut owners = Vec::new();
    for run in file["table"]["runs"].as_array().unwrap() {
        for slot in run["first"].as_u64().unwrap()..=run["last"].as_u64().unwrap() {
            assert_eq!(owners.len() as u64, slot);
            owners.push(run["shard"].as_u64().unwrap());
        }
    }
    owners
}

/// Ids by the shard whose directory stands in `set`, sorted.
fn shards(place: &Place, set: &str) -> BTreeMap<u64, Vec<String>> {
    let entries = std::fs::read_dir(place.path(set)).unwrap().map(|entry| entry.unwrap().file_name());
    let numbers = entries.filter_map(|name| name.to_str()?.parse::<u64>().ok());
    numbers
        .map(|shard| {
            let mut ids = ids(&place.path(set).join(shard.to_string()));
            ids.sort();
            (shard, ids)
        })
        .collect()
}

fn sorted(ids: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut ids: Vec<String> = ids.into_iter().collect();
    ids.sort();
    ids
}

/// Asserts that the shards of `set` have `all` documents, each in the shard that `belongs` says.
#[track_caller]
fn assert_dealt(place: &Place, set: &str, all: &[String], belongs: impl Fn(&str) -> u64) {
    let shards = shards(place, set);
    for (shard, ids) in &shards {
        for id in ids {
            assert_eq!(belongs(id), *shard, "{id}");
        }
    }
    assert_eq!(sorted(shards.into_values().flatten()), sorted(all.iter().cloned()));
}
