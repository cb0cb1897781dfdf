//! Method `rewrite`: children of final size, written in one pass over each plane of the source.
//!
//! Hash sidecars are begun first, and finished last, when the checksums they are bound to are known. Norms come next: they
//! are small, and postings need the mean field lengths. Then doc stores, columns and postings run
//! as tracks of one pool. Groups run one after the other, or, where there are many small ones, side by side. The bytes
//! do not depend on the number of threads.

use std::sync::{Mutex, PoisonError};

use super::columns::{self, WrittenColumns};
use super::meta::child_segment_ids;
use super::norms;
use super::output::{ChildFiles, WrittenFile, WrittenSegment};
use super::pool::{self, Track};
use super::postings::{self, PostingsTrack};
use super::sidecar::{self, bound};
use super::store::StoreTrack;
use crate::error::{Error, Result};
use crate::partition::{DocMap, Group};
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::route::ShardNumber;
use crate::source::{Source, guard};
use crate::threads;

/// Files of an output that are open at once, at most: three of its postings, its columns, its store, its sidecar.
pub const OPEN_FILES: u64 = 6;

/// How many of so many groups are written side by side.
#[must_use]
pub fn groups_at_once(groups: usize, threads: usize) -> usize {
    if groups >= 4 * threads { threads } else { 1 }
}

/// What a rewrite made.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The child segments, by child, then by ordinal.
    pub segments: Vec<WrittenSegment>,
    /// What was read of the source.
    pub reads: SourceReads,
}

/// What was read of the source's planes. None of it grows with the number of children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct SourceReads {
    /// Blocks of posting lists decoded, partial ones included.
    pub posting_blocks: u64,
    /// Blocks of doc stores decompressed.
    pub store_blocks: u64,
    /// Terms streamed out of column dictionaries.
    pub column_terms: u64,
    /// Column values looked up.
    pub column_values: u64,
}

impl SourceReads {
    /// Adds what was read of another source.
    pub fn add(&mut self, other: &SourceReads) {
        self.posting_blocks += other.posting_blocks;
        self.store_blocks += other.store_blocks;
        self.column_terms += other.column_terms;
        self.column_values += other.column_values;
    }
}

/// Fails if some column cannot be written without changing a value. Writes nothing.
pub fn check(source: &Source, map: &DocMap) -> Result<()> {
    guard(source.dir(), "its columns", || columns::check(source, &map.groups))
}

/// Writes all child segments of `map`. `shards`: shard number by child index. Reports [`Stage::Write`] in source bytes.
///
/// # Errors
/// [`Error::Corrupt`] and [`Error::Panic`] for damage in the source, [`Error::Io`], [`Error::Interrupted`].
pub fn rewrite(
    source: &Source,
    map: &DocMap,
    shards: &[ShardNumber],
    files: &dyn ChildFiles,
    threads: usize,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Rewritten> {
    progress.begin(Stage::Write, Work::bytes(source.num_bytes()));
    let threads = threads.max(1);
    let ids = child_segment_ids(source, map, shards);
    let groups: Vec<(&Group, &Vec<String>)> = map.groups.iter().zip(&ids).collect();
    let job = Job { source, files, progress, cancel };
    let parts = if groups_at_once(groups.len(), threads) > 1 {
        threads::each(&groups, threads, |(group, ids)| job.group(group, ids, 1))?
    } else {
        groups.iter().map(|(group, ids)| job.group(group, ids, threads)).collect::<Result<Vec<_>>>()?
    };
    progress.end(Stage::Write);
    let mut segments = Vec::new();
    let mut reads = SourceReads::default();
    for part in parts {
        segments.extend(part.segments);
        reads.add(&part.reads);
    }
    // Stable: within a child segments keep the order of groups and outputs.
    segments.sort_by_key(|segment| segment.child);
    Ok(Rewritten { segments, reads })
}

#[derive(Clone, Copy)]
struct Job<'a> {
    source: &'a Source,
    files: &'a dyn ChildFiles,
    progress: &'a dyn Progress,
    cancel: &'a Cancel,
}

impl Job<'_> {
    fn group(&self, group: &Group, ids: &[String], threads: usize) -> Result<Rewritten> {
        self.cancel.check()?;
        guard(self.source.dir(), "the source", || self.write_group(group, ids, threads))
    }

    fn write_group(&self, group: &Group, ids: &[String], threads: usize) -> Result<Rewritten> {
        let by_documents = || {
            // ORDER: first of all, since the way back in the doc map takes the room of the hashes.
            let sidecars = match group.take_hashes() {
                Some(hashes) => sidecar::begin(self.source, group, hashes, self.files, ids)?,
                None => Vec::new(),
            };
            Ok::<_, Error>((sidecars, norms::write(self.source, group, self.files, ids, threads)?))
        };
        let by_terms = || guard(self.source.dir(), "the source", || postings::cut(self.source, group));
        let (cuts, written) = threads::both(threads, by_terms, by_documents);
        let ((sidecars, norms), cuts) = (written?, cuts?);
        let lengths =
            |field| norms.lengths.iter().find(|(with_norms, _)| *with_norms == field).map(|(_, sums)| sums.clone());
        let columns = ColumnsTrack { job: *self, group, ids, written: Mutex::new(None) };
        let store = StoreTrack::open(self.source, group, self.files, ids, self.progress)?;
        let postings = PostingsTrack::open(self.source, group, self.files, (ids, cuts), lengths, self.progress)?;
        // Columns are one long unit and go first.
        pool::run(&[&columns, &store, &postings], self.source.dir(), threads, self.cancel)?;

        let mut reads = SourceReads {
            posting_blocks: postings.blocks_decoded(),
            store_blocks: store.blocks_decoded(),
            ..SourceReads::default()
        };
        let Some(written) = columns.written.into_inner().unwrap_or_else(PoisonError::into_inner) else {
            return Err(Error::defect("the columns of a group were not written"));
        };
        reads.column_terms = written.reads.dictionary_terms;
        reads.column_values = written.reads.values;

        let (stores, postings) = (store.finish()?, postings.finish()?);
        let mut segments = Vec::with_capacity(ids.len());
        let mut sidecars = sidecars.into_iter();
        let singles = norms.files.into_iter().zip(written.files).zip(stores);
        for (((output, id), postings), ((norms, columns), store)) in
            group.outputs.iter().zip(ids).zip(postings).zip(singles)
        {
            let mut files: Vec<WrittenFile> = postings;
            files.extend([norms, columns, store]);
            files.sort();
            let sidecar = sidecars.next().map(|sidecar| sidecar.finish(bound(id, &files))).transpose()?;
            segments.push(WrittenSegment {
                child: output.child,
                id: id.clone(),
                linked: None,
                max_doc: output.num_docs,
                deletes: None,
                files,
                sidecar,
            });
        }
        Ok(Rewritten { segments, reads })
    }
}

/// The columns of a group as a track with one unit.
struct ColumnsTrack<'a> {
    job: Job<'a>,
    group: &'a Group,
    ids: &'a [String],
    written: Mutex<Option<WrittenColumns>>,
}

impl Track for ColumnsTrack<'_> {
    fn units(&self) -> usize {
        1
    }

    fn appended(&self) -> usize {
        0
    }

    fn run(&self, _unit: usize) -> Result<()> {
        let Job { source, files, progress, cancel } = self.job;
        let written = columns::write(source, self.group, files, self.ids, cancel, progress)?;
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = Some(written);
        // Norms were written before, and stores that go by rows hold on to them.
        self.group.forget_rows();
        Ok(())
    }
}
