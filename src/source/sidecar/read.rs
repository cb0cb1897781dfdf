//! Finding, checking and reading the sidecar of a segment.

use std::path::PathBuf;

use tantivy::directory::OwnedBytes;

use super::format::{Header, TRAILER};
use super::states::{HashState, HashStates};
use super::{Bound, HashedBy};
use crate::error::Error;
use crate::route::RoutingHash;
use crate::source::{Component, Segment, mmap};

/// What stands where the sidecar of a segment would be.
#[derive(Debug)]
pub enum Found {
    /// Nothing.
    Absent,
    /// Something that cannot be used; why not, as a sentence without its subject.
    Unusable(String),
    /// A sidecar of this segment, sound as far as it can be told without reading keys.
    Sidecar(Sidecar),
}

/// A sidecar, mapped: header, checksum and what it is bound to were found right.
#[derive(Clone, Debug)]
pub struct Sidecar {
    header: Header,
    path: PathBuf,
    file: OwnedBytes,
    /// Offset of the hashes.
    start: usize,
    states: HashStates,
}

impl Sidecar {
    /// The sidecar of `segment` in the file `name` beside it. Reads it once, for its checksum.
    pub fn open(segment: &Segment, name: &str) -> Found {
        let path = segment.path().with_file_name(name);
        let file = match mmap::map(&path) {
            Ok((file, _)) => file,
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => return Found::Absent,
            Err(error) => return Found::Unusable(format!("cannot be read: {}", error.one_line())),
        };
        let (header, start) = match Header::parse(&file) {
            Ok(parsed) => parsed,
            Err(problem) => return Found::Unusable(format!("is damaged: {problem}")),
        };
        if let Err(problem) = belongs(&header, segment) {
            return Found::Unusable(format!("is not of this segment: {problem}"));
        }
        let hashes = 4 * header.max_doc as usize;
        let states = if header.has_states { file.get(start + hashes..).unwrap_or_default() } else { &[] };
        let (words, _) = states.as_chunks::<4>();
        let words = words.iter().take(HashStates::words(header.max_doc)).map(|word| u32::from_le_bytes(*word));
        let states = HashStates::from_words(words);
        if let Some(doc) =
            (0..header.max_doc).find(|&doc| states.get(doc) == HashState::Unread && segment.is_alive(doc))
        {
            return Found::Unusable(format!("does not know document {doc}, which is alive"));
        }
        Found::Sidecar(Sidecar { header, path, file, start, states })
    }

    /// How keys became hashes.
    #[must_use]
    pub fn by(&self) -> &HashedBy {
        &self.header.by
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Length of the file and CRC-32 of all its bytes.
    #[must_use]
    pub fn len_and_crc32(&self) -> (u64, u32) {
        let body = self.file.len().saturating_sub(TRAILER);
        let trailer = self.file.get(body..).unwrap_or_default();
        let crc = trailer.try_into().map(u32::from_le_bytes).unwrap_or_default();
        let mut whole = crc32fast::Hasher::new_with_initial_len(crc, body as u64);
        whole.update(trailer);
        (self.file.len() as u64, whole.finalize())
    }

    /// Which documents have no hash.
    #[must_use]
    pub fn states(&self) -> &HashStates {
        &self.states
    }

    /// Copies the hashes from document `first` on.
    #[inline]
    pub fn hashes(&self, first: u32, hashes: &mut [RoutingHash]) {
        let bytes = self.file.get(self.start + 4 * first as usize..).unwrap_or_default();
        let (words, _) = bytes.as_chunks::<4>();
        for (hash, word) in hashes.iter_mut().zip(words) {
            *hash = i32::from_le_bytes(*word);
        }
    }
}

fn belongs(header: &Header, segment: &Segment) -> Result<(), String> {
    if header.segment != segment.id() {
        return Err(format!("it names {}", header.segment));
    }
    if header.max_doc != segment.max_doc() {
        return Err(format!("it has {} documents, the segment {}", header.max_doc, segment.max_doc()));
    }
    let bound = segment.bound();
    if header.bound == bound {
        return Ok(());
    }
    let parts = [
        ("term", header.bound.terms, bound.terms),
        ("fast", header.bound.columns, bound.columns),
        ("store", header.bound.store, bound.store),
    ];
    let other = parts.iter().find(|(_, found, expected)| found != expected);
    let (extension, found, expected) = other.copied().unwrap_or_default();
    Err(format!("it was made for a .{extension} of checksum {found:08x}, this one has {expected:08x}"))
}

impl Segment {
    /// The sidecar that has the hashes of this segment's documents, made as `by` says.
    #[must_use]
    pub fn sidecar(&self, by: &HashedBy) -> Found {
        match Sidecar::open(self, &by.file_name(self.id())) {
            Found::Sidecar(sidecar) if sidecar.by() != by => {
                let HashedBy { hash, key, routing_field, routing_partition_size } = sidecar.by();
                Found::Unusable(format!(
                    "is of other keys: {hash} of {key:?}, routing field {routing_field:?}, routing_partition_size \
                     {routing_partition_size}"
                ))
            }
            found => found,
        }
    }

    /// What a sidecar of this segment is bound to.
    #[must_use]
    pub fn bound(&self) -> Bound {
        Bound {
            terms: self.file_crc32(Component::Terms),
            columns: self.file_crc32(Component::FastFields),
            store: self.file_crc32(Component::Store),
        }
    }
}
