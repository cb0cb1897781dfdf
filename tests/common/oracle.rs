//! Children as tantivy's own `merge_filtered_segments` makes them.
//!
//! An oracle with two known faults: stored dates of store format 1 come out divided by 1000, and token totals are
//! estimated (tantivy 0.27.0, `src/store/plugin.rs` and `src/index/inverted_index_plugin.rs`).

use std::collections::BTreeMap;
use std::path::Path;

use tantivy::directory::MmapDirectory;
use tantivy::fastfield::AliveBitSet;
use tantivy::indexer::merge_filtered_segments;
use tantivy_common::{BitSet, ReadOnlyBitSet};

use super::check;
use super::content::{Content, Doc};

/// Writes the documents of `source` for which `kept` holds into one segment of a new index in `dir`.
pub fn filtered_merge(source: &Content, dir: &Path, kept: impl Fn(&Doc) -> bool) {
    std::fs::create_dir_all(dir).unwrap();
    let segments = source.index.searchable_segments().unwrap();
    let mut bitsets: Vec<BitSet> =
        segments.iter().map(|segment| BitSet::with_max_value(segment.meta().max_doc())).collect();
    for doc in source.docs.iter().filter(|doc| kept(doc)) {
        bitsets[doc.address.0].insert(doc.address.1);
    }
    let filters = bitsets.iter().map(|bits| Some(AliveBitSet::from(ReadOnlyBitSet::from(bits)))).collect();
    let settings = source.index.settings().clone();
    merge_filtered_segments(&segments, settings, filters, MmapDirectory::open(dir).unwrap()).unwrap();
}

/// Where `child` does not hold what `oracle` holds: the same documents at the same DocIds, dictionaries without an unused
/// term, columns of the same types and cardinalities. Token totals, opstamp and payload apart.
pub fn content_differences(label: &str, child: &Content, oracle: &Content) -> Vec<String> {
    let mut found = Vec::new();
    let (docs, expected): (Vec<&Doc>, Vec<&Doc>) = (child.docs.iter().collect(), oracle.docs.iter().collect());
    check::compare_sequences(label, &expected, &docs, &mut found);
    if child.docs.is_empty() && oracle.docs.is_empty() {
        return found;
    }
    if child.segments.len() != 1 || oracle.segments.len() != 1 {
        found.push(format!("{label}: {} segments, the oracle has {}", child.segments.len(), oracle.segments.len()));
        return found;
    }
    let (child, oracle) = (&child.segments[0], &oracle.segments[0]);
    let terms = |segment: &super::content::Segment| -> BTreeMap<String, usize> {
        segment.fields.iter().map(|(name, facts)| (name.clone(), facts.terms)).collect()
    };
    for (name, terms) in terms(oracle) {
        let actual = child.fields.get(&name).map(|facts| facts.terms);
        if actual != Some(terms) {
            found.push(format!("{label}: {name} has {actual:?} terms, the oracle {terms}"));
        }
    }
    for (column, facts) in &oracle.columns {
        if child.columns.get(column) != Some(facts) {
            found
                .push(format!("{label}: column {column:?} is {:?}, the oracle's {facts:?}", child.columns.get(column)));
        }
    }
    for column in child.columns.keys().filter(|column| !oracle.columns.contains_key(*column)) {
        found.push(format!("{label}: the oracle has no column {column:?}"));
    }
    if child.norms != oracle.norms {
        found.push(format!("{label}: norms of {:?}, the oracle has {:?}", child.norms, oracle.norms));
    }
    found
}
