//! What a change of routing tables moves among the documents of an index, counted, before anything is moved.
//!
//! Input: one index or the shards of an index directory, their key fields, and pairs of tables over one hash. Output: a
//! [`MovedReport`]: for each pair documents and bytes that each shard holds, gives and gets. Where a document stands now
//! plays no part: the first table of a pair says where it is, so that a change can be planned for an index that is routed
//! otherwise today. Nothing is written.
//!
//! Bytes are those of segment files, shared out evenly among a segment's documents: what moving copies.
//!
//! Cost: hash sidecars are read, 4 bytes per document; where there are none, one pass over the key field. Memory: 4 bytes
//! per document of the segments at hand.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::partition::{KeySpec, SegmentHashes, hash_segment};
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::publish::IndexDirectory;
use crate::route::movement::{Load, Measured};
use crate::route::{HashFunction, HashTable};
use crate::source::{Found, HashState, LockMode, Segment, Source};
use crate::threads;

/// Two tables over one hash, the first before the second.
pub type Change<'a> = (&'a (dyn HashTable + Sync), &'a (dyn HashTable + Sync));

/// Which documents to count.
#[derive(Clone, Debug)]
pub struct MovedDocs {
    /// Directories of one index, or of all shards of one.
    pub shards: Vec<PathBuf>,
    /// Fields that decide where documents go.
    pub keys: KeySpec,
    /// Worker threads; 0: one per core. The report does not depend on it.
    pub threads: usize,
    /// Whether to take the writer locks.
    pub lock: LockMode,
}

/// What was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedReport {
    /// One for each pair of tables.
    pub measured: Vec<Measured>,
    /// Live documents.
    pub docs: u64,
    /// Live documents without a key, or with several: no table has a place for them, and they are in no count.
    pub without_key: u64,
    /// Keys that were hashed; 0 where every hash was in a sidecar.
    pub keys_hashed: u64,
    /// What an operator should know.
    pub notes: Vec<String>,
}

impl MovedDocs {
    /// Of one index.
    #[must_use]
    pub fn new(index: impl Into<PathBuf>, keys: KeySpec) -> MovedDocs {
        MovedDocs { shards: vec![index.into()], keys, threads: 0, lock: LockMode::default() }
    }

    /// Of all shards of an index directory, whose routing file says the key.
    #[must_use]
    pub fn of_index(index: &IndexDirectory) -> MovedDocs {
        let file = index.routing();
        let shards = file.shards().into_iter().map(|shard| index.shard(shard)).collect();
        MovedDocs { shards, keys: file.keys(), threads: 0, lock: LockMode::default() }
    }

    /// Reads the hashes of all documents, shard after shard, and counts them under every pair of tables.
    ///
    /// # Errors
    /// [`Error::Usage`] if the tables do not read one hash; those of [`Source::open`]; [`Error::Field`]; what reading
    /// gives; [`Error::Interrupted`].
    pub fn run(&self, changes: &[Change<'_>], progress: &dyn Progress, cancel: &Cancel) -> Result<MovedReport> {
        let mut tables = changes.iter().flat_map(|(before, after)| [before, after]);
        let function = tables.next().map_or(HashFunction::Murmur3Utf16, |table| table.hash_function());
        if let Some(other) = tables.map(|table| table.hash_function()).find(|other| *other != function) {
            return Err(Error::Usage(format!(
                "a table of {function} and one of {other} cannot be counted together: give tables of one hash"
            )));
        }
        let measured = changes.iter().map(|(before, after)| Measured::between(*before, *after)).collect();
        let mut report = MovedReport { measured, docs: 0, without_key: 0, keys_hashed: 0, notes: Vec::new() };
        progress.begin(Stage::Route, Work::default());
        for path in &self.shards {
            let source = Source::open(path, self.lock)?;
            report.docs += source.num_docs();
            report.notes.extend_from_slice(source.notes());
            let segments: Vec<&Segment> = source.segments().iter().filter(|segment| segment.num_docs() > 0).collect();
            let counted = threads::each(&segments, self.threads, |segment| {
                self.segment((&source, segment), function, changes, progress, cancel)
            })?;
            for counts in counted {
                report.measured.iter_mut().zip(&counts.measured).for_each(|(all, own)| all.append(own));
                report.without_key += counts.without_key;
                report.keys_hashed += counts.keys_hashed;
                report.notes.extend(counts.note);
            }
        }
        progress.end(Stage::Route);
        Ok(report)
    }

    fn segment(
        &self,
        (source, segment): (&Source, &Segment),
        function: HashFunction,
        changes: &[Change<'_>],
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Counts> {
        let by = self.keys.hashed_by(function.name(), 1);
        let mut counts = Counts {
            measured: changes.iter().map(|(before, after)| Measured::between(*before, *after)).collect(),
            ..Counts::default()
        };
        let hashes = match segment.sidecar(&by) {
            Found::Sidecar(sidecar) => SegmentHashes::mapped(sidecar),
            other => {
                if let Found::Unusable(problem) = other {
                    let name = by.file_name(segment.id());
                    counts.note = Some(format!("hash sidecar {name} {problem}; it is ignored, and keys are hashed"));
                }
                let (hashes, read) = hash_segment(source, segment, &self.keys, (function, 1), progress, cancel)?;
                counts.keys_hashed = read.iter().map(|reading| reading.hashed).sum();
                hashes
            }
        };
        let (bytes, docs) = (u128::from(segment.num_bytes()), u128::from(segment.max_doc().max(1)));
        // The first bytes of as many documents: rounding does not add up.
        let up_to = |doc: u32| u64::try_from(bytes * u128::from(doc) / docs).unwrap_or(u64::MAX);
        hashes.for_each(segment.max_doc(), |doc, hash, state| {
            if !segment.is_alive(doc) {
                return;
            }
            if state != HashState::Hashed {
                counts.without_key += 1;
                return;
            }
            let load = Load { docs: 1, bytes: up_to(doc + 1).saturating_sub(up_to(doc)) };
            for (measured, (before, after)) in counts.measured.iter_mut().zip(changes) {
                measured.add(before.shard(hash), after.shard(hash), load);
            }
        });
        Ok(counts)
    }
}

/// Documents of a segment.
#[derive(Default)]
struct Counts {
    measured: Vec<Measured>,
    without_key: u64,
    keys_hashed: u64,
    note: Option<String>,
}
