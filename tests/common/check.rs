//! Children against their source, document by document, without `shardsplit`'s verifier.
//!
//! [`differences`] returns what is wrong as sentences; [`assert_split`] panics with them. Works for any schema: where
//! documents share their key, or their whole content, sequences are compared, so nothing needs to be unique.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use serde_json::{Map, Value};
use tantivy::Order;
use tantivy::schema::{FieldEntry, IndexRecordOption};

use super::content::{Content, Doc};
use super::routing::Routing;
use super::search;

/// Most documents of one kind that are reported.
const MOST: usize = 12;

/// Asserts that the directories `out/<shard number>` hold `source`, split by `routing`. Returns the children.
pub fn assert_split(source: &Content, out: &Path, routing: &Routing) -> Vec<(u32, Content)> {
    let children: Vec<(u32, Content)> = routing
        .children()
        .into_iter()
        .map(|shard| (shard, Content::read(&out.join(shard.to_string()), &routing.fields())))
        .collect();
    let differences = differences(source, &children, routing);
    assert!(
        differences.is_empty(),
        "{} is not a split of {}:\n{}",
        out.display(),
        source.dir.display(),
        differences.into_iter().take(3 * MOST).collect::<Vec<_>>().join("\n")
    );
    children
}

/// What is wrong with `children`, of shard number and content, as a split of `source`; empty if they are right.
pub fn differences(source: &Content, children: &[(u32, Content)], routing: &Routing) -> Vec<String> {
    let expected = expected_docs(source, children, routing);
    let mut found = Vec::new();
    let total: usize = children.iter().map(|(_, child)| child.docs.len()).sum();
    if total != source.docs.len() {
        found.push(format!("{} documents in the source, {total} over the children", source.docs.len()));
    }
    for (shard, child) in children {
        let label = format!("child {shard}");
        let docs: Vec<&Doc> = child.docs.iter().collect();
        compare_sequences(&label, &expected[shard], &docs, &mut found);
        compare_meta(&label, source, child, &mut found);
        check_tokens(&label, source, child, &mut found);
        check_required_columns(&label, child, &mut found);
        check_sorted(&label, child, &mut found);
    }
    compare_token_sums(source, children, &mut found);
    search::compare(source, children, &mut found);
    found
}

/// Documents by child, in the order in which the child must have them.
pub fn expected_docs<'a>(
    source: &'a Content,
    children: &[(u32, Content)],
    routing: &Routing,
) -> BTreeMap<u32, Vec<&'a Doc>> {
    let mut expected: BTreeMap<u32, Vec<&Doc>> = routing.children().into_iter().map(|shard| (shard, vec![])).collect();
    for doc in &source.docs {
        let shard = routing.shard(&doc.keys);
        expected.get_mut(&shard).unwrap_or_else(|| panic!("{:?} belongs to shard {shard}", doc.keys)).push(doc);
    }
    let Some(sort) = &source.index.settings().sort_by_field else { return expected };
    for (shard, child) in children {
        // Segments kept stay in source order. Those made one are merged in the order of the index sort, equal ones in
        // source order, and perhaps cut again.
        let Some(docs) = expected.get_mut(shard) else { continue };
        if !docs.iter().zip(&child.docs).all(|(left, right)| left.lines == right.lines) {
            match sort.order {
                Order::Asc => docs.sort_by_key(|doc| &doc.sort),
                Order::Desc => docs.sort_by_key(|doc| Reverse(&doc.sort)),
            }
        }
    }
    expected
}

/// Compares two sequences of documents.
pub fn compare_sequences(label: &str, expected: &[&Doc], actual: &[&Doc], found: &mut Vec<String>) {
    if expected.len() == actual.len() && expected.iter().zip(actual).all(|(left, right)| left.lines == right.lines) {
        return;
    }
    // As multisets first: what is missing, what is too much.
    let mut left: HashMap<&[String], Vec<&Doc>> = HashMap::new();
    for doc in expected {
        left.entry(&doc.lines).or_default().push(doc);
    }
    let mut extra = Vec::new();
    for doc in actual {
        if left.get_mut(doc.lines.as_slice()).and_then(Vec::pop).is_none() {
            extra.push(*doc);
        }
    }
    let mut missing: Vec<&Doc> = left.into_values().flatten().collect();
    missing.sort_by_key(|doc| doc.address);
    if missing.is_empty() && extra.is_empty() {
        let at = expected.iter().zip(actual).position(|(left, right)| left.lines != right.lines).unwrap();
        found.push(format!(
            "{label}: order differs at document {at}: expected {}, found {}",
            short(expected[at]),
            short(actual[at])
        ));
    }
    for doc in missing.into_iter().take(MOST) {
        let twin = extra.iter().position(|other| !other.keys.is_empty() && other.keys == doc.keys);
        match twin.map(|twin| extra.swap_remove(twin)) {
            Some(twin) => found.push(describe_change(label, doc, twin)),
            None => found.push(format!("{label}: lacks source document {:?} {}", doc.address, short(doc))),
        }
    }
    for doc in extra.into_iter().take(MOST) {
        found.push(format!("{label}: document {:?} {} should not be there", doc.address, short(doc)));
    }
}

/// The keys of a document; some are very long.
fn short(doc: &Doc) -> String {
    format!("{:?}", doc.keys).chars().take(300).collect()
}

fn describe_change(label: &str, expected: &Doc, actual: &Doc) -> String {
    let only = |left: &Doc, right: &Doc| -> String {
        let lines = left.lines.iter().filter(|line| !right.lines.contains(line)).take(3);
        lines.map(|line| line.chars().take(300).collect::<String>()).collect::<Vec<_>>().join(" | ")
    };
    let (gone, new) = (only(expected, actual), only(actual, expected));
    format!(
        "{label}: document {:?} {} (source {:?}) differs: expected «{gone}», found «{new}»{}",
        actual.address,
        short(actual),
        expected.address,
        if gone.is_empty() && new.is_empty() { ": the same lines, in another order or number" } else { "" }
    )
}

fn compare_meta(label: &str, source: &Content, child: &Content, found: &mut Vec<String>) {
    let (left, right) = (source.index.load_metas().unwrap(), child.index.load_metas().unwrap());
    let json = |schema| serde_json::to_string(schema).unwrap();
    if json(&left.schema) != json(&right.schema) {
        found.push(format!("{label}: the schema differs"));
    }
    if left.index_settings != right.index_settings {
        found.push(format!("{label}: settings are {:?}, not {:?}", right.index_settings, left.index_settings));
    }
    if left.payload != right.payload {
        found.push(format!("{label}: payload is {:?}, not {:?}", right.payload, left.payload));
    }
    if left.opstamp != right.opstamp {
        found.push(format!("{label}: opstamp is {}, not {}", right.opstamp, left.opstamp));
    }
    compare_meta_text(label, source, child, found);
    check_managed(label, child, found);
    if child.segments.iter().any(|segment| segment.reader.num_docs() == 0) {
        found.push(format!("{label}: has a segment without live documents"));
    }
    match child.index.validate_checksum() {
        Ok(damaged) if damaged.is_empty() => {}
        other => found.push(format!("{label}: checksums: {other:?}")),
    }
}

/// `meta.json` is the source's, key by key in its order and as it was written, with other segments.
fn compare_meta_text(label: &str, source: &Content, child: &Content, found: &mut Vec<String>) {
    let read = |content: &Content| -> Map<String, Value> {
        let mut meta: Map<String, Value> =
            serde_json::from_slice(&fs::read(content.dir.join("meta.json")).unwrap()).unwrap();
        meta.insert("segments".to_owned(), Value::Null);
        meta
    };
    let (left, right) = (read(source), read(child));
    let text = |meta: &Map<String, Value>| serde_json::to_string(meta).unwrap();
    if text(&left) != text(&right) {
        found.push(format!("{label}: meta.json is {}, not {}", text(&right), text(&left)));
    }
}

/// `.managed.json` lists what tantivy may remove one day: `meta.json` and the files of segments, all that are there.
fn check_managed(label: &str, child: &Content, found: &mut Vec<String>) {
    let managed: BTreeSet<String> =
        serde_json::from_slice(&fs::read(child.dir.join(".managed.json")).unwrap()).unwrap();
    let ids: Vec<String> = child.segments.iter().map(|segment| segment.reader.segment_id().uuid_string()).collect();
    let names = fs::read_dir(&child.dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    // Hash sidecars are not tantivy's to remove.
    let own = |name: &str| ids.iter().any(|id| name.starts_with(id)) && !name.ends_with(".hashes");
    let expected: BTreeSet<String> = names.filter(|name| name == "meta.json" || own(name)).collect();
    if managed != expected {
        found.push(format!("{label}: .managed.json lists {managed:?}, there are {expected:?}"));
    }
}

/// How the recorded tokens of a field of the source relate to its postings, over all segments.
///
/// A field indexed anew has as many as its frequencies say. It has more where a term that a document repeats is one
/// posting without a frequency; more or fewer where tantivy merged with deletes, since it estimates then.
fn token_surplus(source: &Content, field: &str) -> Option<Ordering> {
    let facts = source.segments.iter().filter_map(|segment| segment.fields.get(field));
    let mut orders = facts.map(|facts| facts.total_tokens.cmp(&facts.counted_tokens));
    orders.try_fold(Ordering::Equal, |all, one| (one != Ordering::Less).then_some(all.max(one)))
}

/// Whether the norms of a field tell its tokens: every length has an id of its own (those under 40 have), and there are
/// as many tokens as they say.
pub fn has_exact_norms(source: &Content, field: &str) -> bool {
    source.segments.iter().all(|segment| {
        let (norms, facts) = (segment.norms.get(field), segment.fields.get(field));
        norms.zip(facts).is_some_and(|(norms, facts)| norms.most < 40 && norms.tokens == facts.total_tokens)
    })
}

/// Whether every posting of a field has its frequency, so that they tell its tokens.
pub fn has_all_freqs(entry: &FieldEntry) -> bool {
    let field_type = entry.field_type();
    !field_type.is_json() && field_type.get_index_record_option().is_some_and(IndexRecordOption::has_freq)
}

/// Where the source's tokens are those of its postings, the children's are, too. In segments that a child does not
/// share with the source they always are where postings have frequencies, and never less.
fn check_tokens(label: &str, source: &Content, child: &Content, found: &mut Vec<String>) {
    let schema = source.schema();
    let shared: Vec<_> = source.segments.iter().map(|segment| segment.reader.segment_id()).collect();
    for segment in &child.segments {
        for (name, facts) in &segment.fields {
            let entry = schema.get_field_entry(schema.get_field(name).unwrap());
            let own = !shared.contains(&segment.reader.segment_id());
            let exact = token_surplus(source, name) == Some(Ordering::Equal) || (own && has_all_freqs(entry));
            let fewer = own && facts.total_tokens < facts.counted_tokens;
            if fewer || (exact && facts.total_tokens != facts.counted_tokens) {
                found.push(format!(
                    "{label}: {name} records {} tokens, its postings have {}",
                    facts.total_tokens, facts.counted_tokens
                ));
            }
        }
    }
}

/// Without deletes on either side, and where no segment of the source has fewer than its postings say, the children's
/// tokens add up to the source's, unless it had to be estimated what frequencies tell exactly.
///
/// In a JSON field a number that a document repeats is one posting and several tokens; no other plane tells how often,
/// so that the children may have fewer, never more.
fn compare_token_sums(source: &Content, children: &[(u32, Content)], found: &mut Vec<String>) {
    if source.has_deletes() || children.iter().any(|(_, child)| child.has_deletes()) {
        return;
    }
    for (_, entry) in source.schema().fields().filter(|(_, entry)| entry.is_indexed() && !has_all_freqs(entry)) {
        let sum: u64 = children.iter().map(|(_, child)| child.total_tokens(entry.name())).sum();
        let total = source.total_tokens(entry.name());
        let json = entry.field_type().is_json();
        if token_surplus(source, entry.name()).is_some() && sum != total && !(json && sum < total) {
            found.push(format!("{}: {total} tokens in the source, {sum} over the children", entry.name()));
        }
    }
}

/// Every fast field of the schema can be opened in every segment, with values or without.
pub fn check_required_columns(label: &str, child: &Content, found: &mut Vec<String>) {
    use tantivy::schema::Type;
    let schema = child.schema();
    for segment in &child.segments {
        for (_, entry) in schema.fields().filter(|(_, entry)| entry.is_fast()) {
            let kind = match entry.field_type().value_type() {
                Type::Json | Type::Custom => continue,
                Type::Str | Type::Facet => "Str",
                Type::U64 => "U64",
                Type::I64 => "I64",
                Type::F64 => "F64",
                Type::Bool => "Bool",
                Type::Date => "DateTime",
                Type::Bytes => "Bytes",
                Type::IpAddr => "IpAddr",
            };
            let kinds: Vec<&str> = segment
                .columns
                .keys()
                .filter(|(name, _)| name == entry.name())
                .map(|(_, kind)| kind.as_str())
                .collect();
            if !kinds.iter().all(|found| *found == kind) || kinds.is_empty() {
                found.push(format!("{label}: column {:?} has types {kinds:?}, not {kind}", entry.name()));
            }
        }
    }
}

/// In a sorted index every segment is in the order of the sort.
pub fn check_sorted(label: &str, child: &Content, found: &mut Vec<String>) {
    let Some(sort) = &child.index.settings().sort_by_field else { return };
    for pair in child.docs.windows(2).filter(|pair| pair[0].address.0 == pair[1].address.0) {
        let sorted = match sort.order {
            Order::Asc => pair[0].sort <= pair[1].sort,
            Order::Desc => pair[0].sort >= pair[1].sort,
        };
        if !sorted {
            found.push(format!("{label}: {:?} stands before {:?}", pair[0].sort, pair[1].sort));
        }
    }
}
