//! Hash sidecars (format: [`crate::source::Header`]): routing hashes of what is written, so that they are never computed
//! again.
//!
//! Input: the hashes that routing the source took. Output: a sidecar per child segment; linked segments keep their id,
//! and so all their children share one file, which is the source's own where it has one.
//!
//! A rewrite writes the hashes before anything else and gives their memory back, then leaves the file open until the
//! checksums of the segment's other files are known; they are patched into the header. Memory: 2 bytes per document of
//! the group while its hashes are brought into the order of its outputs, which takes two passes over the doc map.

use crc32fast::Hasher;

use super::output::{ChildFiles, Linked, OutputFile, WrittenFile, WrittenSegment};
use crate::error::{Error, Result};
use crate::partition::{Group, RoutingHashes, SegmentHashes};
use crate::progress::Cancel;
use crate::route::RoutingHash;
use crate::source::{Bound, Component, HashState, HashStates, HashedBy, Header, Segment, Source};

/// Bytes written at a time.
const BUFFER: usize = 64 << 10;
/// Hashes that are brought into order at a time, at least.
const LEAST_ROWS: usize = 1 << 20;

/// A sidecar that is being written.
pub struct SidecarWriter {
    name: String,
    sink: Box<dyn OutputFile>,
    header: Header,
    buffer: Vec<u8>,
    /// Of what stands behind the header.
    body: Hasher,
    len: u64,
}

impl SidecarWriter {
    /// Begins the sidecar of the segment `id` in `sink`. Whether it has states is seen later.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn new(sink: Box<dyn OutputFile>, by: &HashedBy, id: &str, max_doc: u32) -> Result<SidecarWriter> {
        let (name, by) = (by.file_name(id), by.clone());
        let header = Header { segment: id.to_owned(), max_doc, has_states: false, bound: Bound::default(), by };
        let mut writer = SidecarWriter { name, sink, header, buffer: Vec::new(), body: Hasher::new(), len: 0 };
        let header = writer.header.encode()?;
        writer.sink.write_all(&header).map_err(Error::io("write", &writer.name))?;
        writer.len = header.len() as u64;
        Ok(writer)
    }

    /// Writes all of a segment.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn whole(mut self, hashes: &SegmentHashes, bound: Bound) -> Result<WrittenFile> {
        let max_doc = self.header.max_doc;
        let mut some = [0; 4096];
        for first in (0..max_doc).step_by(some.len()) {
            hashes.copy(first, &mut some);
            let left = (max_doc - first) as usize;
            self.hashes(some.get(..left).unwrap_or(&some))?;
        }
        self.states(hashes.states())?;
        self.finish(bound)
    }

    /// The hashes of the next documents.
    fn hashes(&mut self, hashes: &[RoutingHash]) -> Result<()> {
        self.words(hashes.iter().map(|hash| hash.to_le_bytes()))
    }

    /// After all hashes: which documents have none.
    fn states(&mut self, states: &HashStates) -> Result<()> {
        if states.all_hashed() {
            return Ok(());
        }
        self.header.has_states = true;
        self.words(states.words_of(self.header.max_doc).map(u32::to_le_bytes))
    }

    fn words(&mut self, words: impl Iterator<Item = [u8; 4]>) -> Result<()> {
        for word in words {
            self.buffer.extend_from_slice(&word);
            if self.buffer.len() >= BUFFER {
                self.flush()?;
            }
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<()> {
        self.sink.write_all(&self.buffer).map_err(Error::io("write", &self.name))?;
        self.body.update(&self.buffer);
        self.len += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Binds the sidecar to the checksums of its segment's files, and closes it.
    pub(super) fn finish(mut self, bound: Bound) -> Result<WrittenFile> {
        self.header.bound = bound;
        let header = self.header.encode()?;
        let mut crc = Hasher::new();
        crc.update(&header);
        crc.combine(&self.body);
        let trailer = crc.clone().finalize().to_le_bytes();
        crc.update(&trailer);
        let sink = &mut self.sink;
        let written = sink.patch(0, &header).and_then(|()| sink.write_all(&trailer));
        written.and_then(|()| self.sink.close()).map_err(Error::io("write", &self.name))?;
        let len = self.len + trailer.len() as u64;
        Ok(WrittenFile { name: self.name, len, crc32: crc.finalize(), linked: false })
    }
}

/// What the sidecar of the segment `id` is bound to.
pub(super) fn bound(id: &str, files: &[WrittenFile]) -> Bound {
    let crc32 = |component: Component| {
        let name = component.file_name(id);
        files.iter().find(|file| file.name == name).map_or(0, |file| file.crc32)
    };
    Bound { terms: crc32(Component::Terms), columns: crc32(Component::FastFields), store: crc32(Component::Store) }
}

/// Writes the hashes of a group's outputs, and leaves the files open.
pub(super) fn begin(
    source: &Source,
    group: &Group,
    hashes: RoutingHashes,
    files: &dyn ChildFiles,
    ids: &[String],
) -> Result<Vec<SidecarWriter>> {
    let RoutingHashes { by, segments } = hashes;
    let mut writers = Vec::with_capacity(ids.len());
    // Where the hashes of each output begin, were they all in one row.
    let mut starts = Vec::with_capacity(ids.len());
    let mut rows = 0usize;
    for (output, id) in group.outputs.iter().zip(ids) {
        let sink = files.create(output.child, &by.file_name(id))?;
        writers.push(SidecarWriter::new(sink, &by, id, output.num_docs)?);
        starts.push(rows);
        rows += output.num_docs as usize;
    }
    let mut states = vec![HashStates::default(); ids.len()];
    let at_once = rows.div_ceil(2).max(LEAST_ROWS);
    let mut ordered: Vec<RoutingHash> = vec![0; at_once.min(rows)];
    for low in (0..rows).step_by(at_once) {
        for (nth, hashes) in segments.iter().enumerate() {
            let segment = group.segments.get(nth).and_then(|&index| source.segments().get(index));
            hashes.for_each(segment.map_or(0, Segment::max_doc), |doc, hash, state| {
                let Some((output, new_doc)) = group.lookup(nth, doc) else { return };
                let row = starts.get(output).map_or(0, |start| start + new_doc as usize);
                if let Some(slot) = row.checked_sub(low).and_then(|row| ordered.get_mut(row)) {
                    *slot = hash;
                    if state != HashState::Hashed
                        && let Some(states) = states.get_mut(output)
                    {
                        states.set(new_doc, state);
                    }
                }
            });
        }
        let high = (low + at_once).min(rows);
        for ((writer, &start), output) in writers.iter_mut().zip(&starts).zip(&group.outputs) {
            let (from, to) = (start.max(low), (start + output.num_docs as usize).min(high));
            if from < to {
                writer.hashes(ordered.get(from - low..to - low).unwrap_or_default())?;
            }
        }
    }
    for (writer, states) in writers.iter_mut().zip(&states) {
        writer.states(states)?;
    }
    Ok(writers)
}

/// Gives linked segments their sidecars: the source's own by hard link where the hashes came from it and the segment
/// keeps its id, else one file that all children of a segment share, or, where they cannot, one each. `segments` are those that [`link`](fn@super::link) made.
///
/// # Errors
/// [`Error::Io`], [`Error::Interrupted`].
pub fn link_sidecars(
    source: &Source,
    hashes: &RoutingHashes,
    files: &dyn ChildFiles,
    segments: &mut [WrittenSegment],
    cancel: &Cancel,
) -> Result<()> {
    for (index, (segment, hashes_of)) in source.segments().iter().zip(&hashes.segments).enumerate() {
        let mut first: Option<(usize, WrittenFile)> = None;
        for linked in segments.iter_mut().filter(|linked| linked.linked == Some(index)) {
            cancel.check()?;
            let file = match &first {
                Some((of, file)) if !file.linked && files.share(*of, linked.child, &file.name)? => file.clone(),
                _ => link_or_write(segment, hashes_of, &hashes.by, files, (linked.child, &linked.id))?,
            };
            first.get_or_insert((linked.child, file.clone()));
            linked.sidecar = Some(file);
        }
    }
    Ok(())
}

fn link_or_write(
    segment: &Segment,
    hashes: &SegmentHashes,
    by: &HashedBy,
    files: &dyn ChildFiles,
    (child, id): (usize, &str),
) -> Result<WrittenFile> {
    let name = by.file_name(id);
    // A sidecar names its segment: under a new id it has to be written anew.
    if let Some(sidecar) = hashes.sidecar().filter(|_| id == segment.id()) {
        let (len, crc32) = sidecar.len_and_crc32();
        return match files.link(child, &name, sidecar.path())? {
            Linked::Shared => Ok(WrittenFile { name, len, crc32, linked: true }),
            Linked::Copied { len: copied, crc32: found, .. } if (copied, found) == (len, crc32) => {
                Ok(WrittenFile { name, len, crc32, linked: false })
            }
            Linked::Copied { len: copied, crc32: found, .. } => {
                let problem =
                    format!("{copied} bytes with checksum {found:08x} were read, it had {len} with {crc32:08x}");
                Err(Error::corrupt(sidecar.path(), problem))
            }
        };
    }
    SidecarWriter::new(files.create(child, &name)?, by, id, segment.max_doc())?.whole(hashes, segment.bound())
}
