//! Routing hashes by document: read from keys, or mapped from a sidecar.
//!
//! This is what sidecars of children are made from, and all that routing needs of a document. Memory: 4 bytes per
//! document that was read, 2 bits more where some have no hash; nothing for a mapped one.

use std::sync::Arc;

use super::keys::{Compared, KeyFields, KeyReading, KeySpec, read_keys};
use crate::error::Result;
use crate::huge::Entries;
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::route::{HashFunction, RoutingHash};
use crate::source::{HashState, HashStates, HashedBy, Segment, Sidecar, Source, guard};

/// Routing hashes of a source.
#[derive(Clone, Debug)]
pub struct RoutingHashes {
    /// How keys became hashes.
    pub by: HashedBy,
    /// By segment of the source, or of the group that they were given to; without live documents: of no document.
    pub segments: Vec<SegmentHashes>,
}

/// Routing hashes of the documents of one segment.
#[derive(Clone, Debug)]
pub struct SegmentHashes(Origin);

#[derive(Clone, Debug)]
enum Origin {
    /// Little endian. Maps of their own, which the system gets back whole when children's sidecars have been written.
    Keys {
        hashes: Arc<Entries<4>>,
        states: HashStates,
    },
    Sidecar(Sidecar),
}

impl SegmentHashes {
    /// `hashes` by document; 0 where `states` says that there is none.
    #[must_use]
    pub fn new(hashes: Vec<RoutingHash>, states: HashStates) -> SegmentHashes {
        let mut entries = Entries::filled(hashes.len(), 0);
        entries.as_mut_slice().iter_mut().zip(hashes).for_each(|(entry, hash)| *entry = hash.to_le_bytes());
        SegmentHashes(Origin::Keys { hashes: Arc::new(entries), states })
    }

    pub(crate) fn mapped(sidecar: Sidecar) -> SegmentHashes {
        SegmentHashes(Origin::Sidecar(sidecar))
    }

    /// The sidecar that they are in.
    #[must_use]
    pub fn sidecar(&self) -> Option<&Sidecar> {
        match &self.0 {
            Origin::Keys { .. } => None,
            Origin::Sidecar(sidecar) => Some(sidecar),
        }
    }

    /// Which documents have no hash.
    #[must_use]
    pub fn states(&self) -> &HashStates {
        match &self.0 {
            Origin::Keys { states, .. } => states,
            Origin::Sidecar(sidecar) => sidecar.states(),
        }
    }

    /// Copies the hashes of documents from `first` on; leaves alone what is beyond the last one.
    #[inline]
    pub fn copy(&self, first: u32, to: &mut [RoutingHash]) {
        match &self.0 {
            Origin::Sidecar(sidecar) => sidecar.hashes(first, to),
            Origin::Keys { hashes, .. } => {
                let from = hashes.as_slice().get(first as usize..).unwrap_or_default();
                to.iter_mut().zip(from).for_each(|(to, from)| *to = RoutingHash::from_le_bytes(*from));
            }
        }
    }

    /// Calls `see` with every document below `max_doc`, ascending, its hash and its state.
    pub fn for_each(&self, max_doc: u32, mut see: impl FnMut(u32, RoutingHash, HashState)) {
        const CHUNK: u32 = 4096;
        let states = self.states();
        let plain = states.all_hashed();
        let mut hashes = [0; CHUNK as usize];
        for first in (0..max_doc).step_by(CHUNK as usize) {
            self.copy(first, &mut hashes);
            for (doc, &hash) in (first..max_doc).zip(&hashes) {
                see(doc, hash, if plain { HashState::Hashed } else { states.get(doc) });
            }
        }
    }
}

/// Reads and hashes the keys of the live documents of one segment of `source`, sidecars apart, by `function` and with the
/// offsets of `routing_partition_size`. Says which planes were read.
///
/// # Errors
/// [`Field`](crate::Error::Field) if a field does not exist or cannot give exact keys; what reading gives;
/// [`Interrupted`](crate::Error::Interrupted).
pub fn hash_segment(
    source: &Source,
    segment: &Segment,
    keys: &KeySpec,
    (function, routing_partition_size): (HashFunction, u32),
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<(SegmentHashes, Vec<KeyReading>)> {
    let fields = KeyFields::resolve(source, keys, function.of_key())?;
    let advance = |docs| progress.advance(Stage::Route, Work::docs(docs));
    let read = || read_keys(segment, &fields, routing_partition_size, Compared::Not, cancel, &advance);
    let keys = guard(segment.path(), "a plane with keys", read)?;
    Ok((keys.hashes, keys.readings))
}
