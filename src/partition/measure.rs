//! Loads that a cut goes by: documents per prefix of their ids, documents or bytes per slot.
//!
//! Input: a source, its key fields, and a [`TableSpec`] whose cut asks for loads. Output: [`Measured`], of live documents.
//! Cost: the keys are read once more than the split itself reads them (twice for prefixes), or sidecars are; bytes take a
//! pass over the doc store, which is decompressed. Memory: 4 or 8 bytes per document of the segments at hand, and the loads.

use std::collections::BTreeMap;

use super::hashes::SegmentHashes;
use super::keys::{Compared, KeyFields, KeySpec, read_keys};
use crate::error::{Error, Result};
use crate::progress::Cancel;
use crate::route::solr::{HashRange, PrefixHistogram, prefix_first_hash, prefix_last_hash};
use crate::route::{Load, Measure, Measured, RoutingTable, SlotLoads, TableSpec};
use crate::source::{Component, Found, HashState, Segment, Source, cannot_read, guard};
use crate::threads;

const DOCS_PER_CHECK: u32 = 1 << 12;

/// Measures what the cut of `tables` goes by; `None` if it goes by nothing.
///
/// # Errors
/// [`Error::Field`] if a field does not exist or cannot give exact keys; [`Error::Usage`] if a field of routing values is
/// missing; what reading gives; [`Error::Interrupted`].
pub fn measure(
    source: &Source,
    keys: &KeySpec,
    tables: &TableSpec,
    threads: usize,
    cancel: &Cancel,
) -> Result<Option<Measured>> {
    let segments: Vec<&Segment> = source.segments().iter().filter(|segment| segment.num_docs() > 0).collect();
    let size = tables.routing_partition_size;
    match (tables.cut.measure(), &tables.table) {
        (None, _) => Ok(None),
        (Some(Measure::Prefixes), _) => {
            let first = KeyFields::resolve(source, keys, prefix_first_hash)?;
            let last = KeyFields::resolve(source, keys, prefix_last_hash)?;
            let counted = threads::each(&segments, threads, |segment| {
                guard(segment.path(), "a plane with keys", || prefixes(segment, &first, &last, cancel))
            })?;
            let mut histogram = PrefixHistogram::new();
            for (range, docs) in counted.into_iter().flatten() {
                histogram.add_range(range, docs);
            }
            Ok(Some(Measured::Prefixes(histogram)))
        }
        (Some(Measure::Slots(load)), RoutingTable::Slots(table)) => {
            let function = tables.table.function().hash_function();
            let fields = KeyFields::resolve(source, keys, function.of_key())?;
            let by = keys.hashed_by(function.name(), size);
            let counted = threads::each(&segments, threads, |segment| {
                let hashes = match segment.sidecar(&by) {
                    Found::Sidecar(sidecar) => SegmentHashes::mapped(sidecar),
                    Found::Unusable(_) | Found::Absent => {
                        guard(segment.path(), "a plane with keys", || read(segment, &fields, size, cancel))?
                    }
                };
                let mut loads = SlotLoads::new(table);
                let bytes = StoredBytes::open(segment, load)?;
                let mut failed = None;
                hashes.for_each(segment.max_doc(), |doc, hash, state| {
                    if failed.is_some() || state != HashState::Hashed || !segment.is_alive(doc) {
                        return;
                    }
                    let checked = if doc.is_multiple_of(DOCS_PER_CHECK) { cancel.check() } else { Ok(()) };
                    match checked.and_then(|()| bytes.of(doc)) {
                        Ok(load) => loads.add(table.slot(hash, 0), load),
                        Err(error) => failed = Some(error),
                    }
                });
                failed.map_or(Ok(loads), Err)
            })?;
            let mut sum = SlotLoads::new(table);
            for loads in counted {
                (0..).zip(loads.loads()).for_each(|(slot, &load)| sum.add(slot, load));
            }
            Ok(Some(Measured::Slots(sum)))
        }
        // The cut does not fit the table, which `resolve` says.
        (Some(Measure::Slots(_)), _) => Ok(None),
    }
}

fn read(segment: &Segment, fields: &KeyFields, partition_size: u32, cancel: &Cancel) -> Result<SegmentHashes> {
    Ok(read_keys(segment, fields, partition_size, Compared::Not, cancel, &|_| {})?.hashes)
}

/// Live documents per prefix. The ends of a prefix take the place of a hash, so that the readers of keys serve.
fn prefixes(
    segment: &Segment,
    first: &KeyFields,
    last: &KeyFields,
    cancel: &Cancel,
) -> Result<BTreeMap<HashRange, u64>> {
    let (first, last) = (read(segment, first, 1, cancel)?, read(segment, last, 1, cancel)?);
    let mut ends = vec![0; segment.max_doc() as usize];
    last.copy(0, &mut ends);
    let mut counts = BTreeMap::new();
    first.for_each(segment.max_doc(), |doc, first, state| {
        let last = ends.get(doc as usize).copied().unwrap_or(first);
        if let (HashState::Hashed, true, Ok(range)) = (state, segment.is_alive(doc), HashRange::new(first, last)) {
            *counts.entry(range).or_insert(0) += 1;
        }
    });
    Ok(counts)
}

/// Lengths of stored documents, asked for in ascending order; 1 where documents are counted.
struct StoredBytes<'s> {
    segment: &'s Segment,
    store: Option<tantivy::store::StoreReader>,
}

impl<'s> StoredBytes<'s> {
    fn open(segment: &'s Segment, load: Load) -> Result<StoredBytes<'s>> {
        let store = match load {
            Load::Docs => None,
            Load::Bytes => {
                let path = segment.file(Component::Store);
                Some(segment.reader().get_store_reader(1).map_err(Error::io("read", path))?)
            }
        };
        Ok(StoredBytes { segment, store })
    }

    fn of(&self, doc: u32) -> Result<u64> {
        let Some(store) = &self.store else { return Ok(1) };
        let path = || self.segment.file(Component::Store);
        let read = || {
            store.get_document_bytes(doc).map_err(|error| cannot_read(format!("stored document {doc}"), path())(error))
        };
        Ok(guard(self.segment.path(), "the doc store", read)?.len() as u64)
    }
}
