//! Method `link`: children share the source's segment files by hard link, with one alive bitset each.
//!
//! Input: the open source and the assignment. Output: per child and source segment with documents for it, the six
//! segment files under their own names, and a `.del` file unless the child owns every document of the segment. Where
//! several sources are merged and an id repeats, the files get the names of a new one: no file holds its own.
//!
//! Invariants: a linked file *is* the source's file, so it is never opened for writing and its mode never changed. The
//! source's own `.del` files are not linked: bitsets are always written anew, and clear the bits of documents that were
//! deleted already. Where documents move between shards ([`link_stays`]), each shard's segments are linked into the child
//! with its own number only, under their own names. Where linking is impossible (another file system, protected links, too many links) bytes are copied,
//! checked against the footer's checksum, and the notes say so.
//!
//! Cost: two passes over the assignment for up to 32 children, one more for every further 32; memory one bit per
//! document of the largest segment and child of such a batch. The source's files are not read.

use std::collections::BTreeMap;

use super::alive::AliveBitset;
use super::meta::linked_segment_ids;
use super::output::{ChildFiles, Linked, WrittenFile, WrittenSegment};
use crate::error::{Error, Result};
use crate::partition::Assignment;
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::route::ShardNumber;
use crate::source::{Component, Segment, Source, deletes_file_name, file_id};

/// Children whose bitsets are in memory at once: at 32, four bytes per document.
const BATCH: usize = 32;

/// Links every segment of `source` into the children that own documents of it.
///
/// `shards`: shard number by child index. Returns the segments by child, then in the source's order, and notes on links that became copies. Reports
/// [`Stage::Write`] in source bytes.
///
/// # Errors
/// [`Error::Census`] if `assignment` does not give every live document, and no deleted one, to a child;
/// [`Error::Corrupt`] if a copy does not have the checksum its footer names; [`Error::SourceChanged`] if another file has the
/// name of one that was opened; [`Error::Io`]; [`Error::Interrupted`].
pub fn link(
    source: &Source,
    assignment: &Assignment,
    shards: &[ShardNumber],
    files: &dyn ChildFiles,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<(Vec<WrittenSegment>, Vec<String>)> {
    progress.begin(Stage::Write, Work::bytes(source.num_bytes()));
    let mut job = Linker { source, files, cancel, all: true, written: Vec::new(), copies: BTreeMap::new() };
    let ids = linked_segment_ids(source, shards);
    for ((index, segment), id) in source.segments().iter().enumerate().zip(&ids) {
        job.segment((index, segment, id), assignment.segment(index), assignment.num_children())?;
        progress.advance(Stage::Write, Work::bytes(segment.num_bytes()));
    }
    progress.end(Stage::Write);
    Ok(job.finish())
}

/// Links every segment of `source` into the one child that keeps documents of it; `assignment` has these documents and no
/// others. Returns segments and notes as [`link`] does.
///
/// # Errors
/// Those of [`link`], but that documents may be left out.
pub fn link_stays(
    source: &Source,
    assignment: &Assignment,
    files: &dyn ChildFiles,
    cancel: &Cancel,
) -> Result<(Vec<WrittenSegment>, Vec<String>)> {
    let mut job = Linker { source, files, cancel, all: false, written: Vec::new(), copies: BTreeMap::new() };
    for (index, segment) in source.segments().iter().enumerate() {
        job.segment((index, segment, segment.id()), assignment.segment(index), assignment.num_children())?;
    }
    Ok(job.finish())
}

/// A file of the source as it was opened, without a byte of it read: length, and the CRC-32 of the whole file as its footer
/// makes it. If the body was damaged since it was written, this is the checksum it should have.
#[must_use]
pub fn source_file(segment: &Segment, component: Component) -> WrittenFile {
    WrittenFile {
        name: component.file_name(segment.id()),
        len: segment.component_bytes(component),
        crc32: segment.file_crc32(component),
        linked: true,
    }
}

/// Copies made for one reason.
#[derive(Default)]
struct Copies {
    files: u64,
    bytes: u64,
}

impl Copies {
    fn note(&self, reason: &str) -> String {
        format!("{} files ({} bytes) were copied instead of linked: {reason}", self.files, self.bytes)
    }
}

struct Linker<'a> {
    source: &'a Source,
    files: &'a dyn ChildFiles,
    cancel: &'a Cancel,
    /// Whether every live document must go to some child.
    all: bool,
    written: Vec<WrittenSegment>,
    copies: BTreeMap<String, Copies>,
}

impl Linker<'_> {
    /// The segments by child, and notes.
    fn finish(self) -> (Vec<WrittenSegment>, Vec<String>) {
        let mut written = self.written;
        written.sort_by_key(|segment| segment.child);
        (written, self.copies.into_iter().map(|(reason, copies)| copies.note(&reason)).collect())
    }

    /// Links a segment, with its index and the id that it gets, into all children that own documents of it.
    fn segment(
        &mut self,
        (index, segment, id): (usize, &Segment, &str),
        docs: &[u16],
        num_children: usize,
    ) -> Result<()> {
        let owned = self.count(segment, docs, num_children)?;
        let owners: Vec<usize> = (0..num_children).filter(|&child| owned.get(child).is_some_and(|&n| n > 0)).collect();
        if owners.is_empty() {
            return Ok(());
        }
        let shared = Component::ALL
            .map(|component| WrittenFile { name: component.file_name(id), ..source_file(segment, component) });
        // A bitset may carry the name of one of the source's own: it is another file in another directory.
        let opstamp = self.source.meta().opstamp();
        for batch in owners.chunks(BATCH) {
            self.cancel.check()?;
            let bitsets = bitsets(segment.max_doc(), docs, batch, num_children);
            for (&child, bitset) in batch.iter().zip(bitsets) {
                let docs = owned.get(child).copied().unwrap_or(0);
                let mut files = self.link_files(segment, child, &shared)?;
                let deleted = segment.max_doc().saturating_sub(docs);
                let deletes = (deleted > 0).then_some((deleted, opstamp));
                if deletes.is_some() {
                    let name = deletes_file_name(id, opstamp);
                    files.push(bitset.write(self.files, child, name)?);
                }
                files.sort();
                self.written.push(WrittenSegment {
                    child,
                    id: id.to_owned(),
                    linked: Some(index),
                    max_doc: segment.max_doc(),
                    deletes,
                    files,
                    sidecar: None,
                });
            }
        }
        Ok(())
    }

    /// Documents by child; every live document must have one, unless some may be left out, and no other may.
    fn count(&self, segment: &Segment, docs: &[u16], num_children: usize) -> Result<Vec<u32>> {
        let mut owned = vec![0u32; num_children];
        let mut resurrected = 0u64;
        for (doc, &child) in (0..).zip(docs) {
            if let Some(count) = owned.get_mut(usize::from(child)) {
                *count += 1;
                resurrected += u64::from(!segment.is_alive(doc));
            }
        }
        let children: u64 = owned.iter().map(|&count| u64::from(count)).sum();
        let live = u64::from(segment.num_docs());
        let complete = if self.all { children == live } else { children <= live };
        if docs.len() != segment.max_doc() as usize || !complete || resurrected > 0 {
            return Err(Error::Census { path: segment.path().to_path_buf(), live, children });
        }
        Ok(owned)
    }

    fn link_files(&mut self, segment: &Segment, child: usize, shared: &[WrittenFile]) -> Result<Vec<WrittenFile>> {
        let mut files = Vec::with_capacity(shared.len() + 1);
        for (component, file) in Component::ALL.into_iter().zip(shared) {
            let path = segment.file(component);
            match self.files.link(child, &file.name, &path)? {
                Linked::Shared => {
                    // Names get new files, files never get their names back: what has the name now is what was linked.
                    if segment.file_id(component) != Some(&file_id(&path)) {
                        let problem = format!("another file has the name {} now", file.name);
                        return Err(Error::SourceChanged { path: path.with_file_name(""), problem });
                    }
                    files.push(file.clone());
                }
                Linked::Copied { reason, len, crc32 } => {
                    if (len, crc32) != (file.len, file.crc32) {
                        let problem = format!(
                            "{len} bytes with checksum {crc32:08x} were read, its footer says {} with {:08x}",
                            file.len, file.crc32
                        );
                        return Err(Error::corrupt(path, problem));
                    }
                    let copies = self.copies.entry(reason).or_default();
                    copies.files += 1;
                    copies.bytes += len;
                    files.push(WrittenFile { linked: false, ..file.clone() });
                    self.cancel.check()?;
                }
            }
        }
        Ok(files)
    }
}

/// One bitset for each child of `batch`.
fn bitsets(max_doc: u32, docs: &[u16], batch: &[usize], num_children: usize) -> Vec<AliveBitset> {
    let mut slots = vec![usize::MAX; num_children];
    for (slot, &child) in batch.iter().enumerate() {
        if let Some(entry) = slots.get_mut(child) {
            *entry = slot;
        }
    }
    let mut bitsets: Vec<AliveBitset> = batch.iter().map(|_| AliveBitset::none(max_doc)).collect();
    for (doc, &child) in (0..max_doc).zip(docs) {
        let slot = slots.get(usize::from(child)).copied().unwrap_or(usize::MAX);
        if let Some(bitset) = bitsets.get_mut(slot) {
            bitset.insert(doc);
        }
    }
    bitsets
}
