//! Nodes that were written lately, to be shared by later terms with the same ending.
//!
//! A table with two entries per bucket, the older one replaced. It grows with the dictionary up to a fixed size, so that
//! small fields cost little. Only an exactly equal node is found; what the table has forgotten is written again, which
//! costs bytes and nothing else.

use super::node::Transition;

const FIRST_BUCKETS: usize = 1 << 6;
/// About 1.3 MB, and what nodes with several transitions take.
const MOST_BUCKETS: usize = 1 << 13;

/// Nodes with more transitions are not kept: they hardly ever have an equal.
const MOST_TRANSITIONS: usize = 64;

pub(super) struct Registry {
    buckets: Vec<[Entry; 2]>,
    inserted: usize,
}

/// One cache line for most nodes: those with one transition hold it inline.
#[derive(Clone, Default)]
struct Entry {
    hash: u64,
    /// 0: nothing here; a node never has address 0.
    address: u64,
    is_final: bool,
    first: Option<Transition>,
    others: Vec<Transition>,
}

impl Entry {
    #[inline]
    fn is(&self, hash: Hash, is_final: bool, transitions: &[Transition]) -> bool {
        self.hash == hash.0
            && self.address != 0
            && self.is_final == is_final
            && self.first.as_ref() == transitions.first()
            && (transitions.len() < 2 && self.others.is_empty() || Some(self.others.as_slice()) == transitions.get(1..))
    }

    #[inline]
    fn set(&mut self, hash: Hash, is_final: bool, transitions: &[Transition], address: u64) {
        (self.hash, self.address, self.is_final) = (hash.0, address, is_final);
        self.first = transitions.first().copied();
        self.others.clear();
        if let Some(others) = transitions.get(1..).filter(|others| !others.is_empty()) {
            self.others.reserve_exact(others.len());
            self.others.extend_from_slice(others);
        }
    }
}

impl Registry {
    pub(super) fn new() -> Registry {
        Registry { buckets: vec![Default::default(); FIRST_BUCKETS], inserted: 0 }
    }

    /// Address of an equal node, or its hash to keep it by.
    #[inline]
    pub(super) fn find(&mut self, is_final: bool, transitions: &[Transition]) -> Result<u64, Hash> {
        let hash = Hash::of(is_final, transitions);
        let bucket = hash.bucket(self.buckets.len());
        let Some(bucket) = self.buckets.get_mut(bucket) else { return Err(hash) };
        let [first, second] = bucket;
        if first.is(hash, is_final, transitions) {
            return Ok(first.address);
        }
        if second.is(hash, is_final, transitions) {
            let address = second.address;
            bucket.swap(0, 1);
            return Ok(address);
        }
        Err(hash)
    }

    /// Keeps a node that was written at `address`.
    #[inline]
    pub(super) fn insert(&mut self, hash: Hash, is_final: bool, transitions: &[Transition], address: u64) {
        if transitions.len() > MOST_TRANSITIONS {
            return;
        }
        if 2 * self.inserted >= self.buckets.len() && self.buckets.len() < MOST_BUCKETS {
            self.grow();
        }
        self.inserted += 1;
        let bucket = hash.bucket(self.buckets.len());
        let Some(bucket) = self.buckets.get_mut(bucket) else { return };
        bucket.swap(0, 1);
        let [newest, _] = bucket;
        newest.set(hash, is_final, transitions, address);
    }

    #[cold]
    fn grow(&mut self) {
        let len = self.buckets.len() * 4;
        let old = std::mem::replace(&mut self.buckets, vec![Default::default(); len]);
        // The newer entry of a bucket last, so that it is the newer one again.
        for entry in old.into_iter().flat_map(|[newer, older]| [older, newer]) {
            match self.buckets.get_mut(Hash(entry.hash).bucket(len)) {
                Some(bucket) if entry.address != 0 => {
                    bucket.swap(0, 1);
                    let [newest, _] = bucket;
                    *newest = entry;
                }
                _ => {}
            }
        }
    }
}

/// Hash of a node.
#[derive(Clone, Copy)]
pub(super) struct Hash(u64);

impl Hash {
    #[inline]
    pub(super) fn of(is_final: bool, transitions: &[Transition]) -> Hash {
        // Multiply and fold: any mixing does, equality is checked in full.
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let fold = |state: u64, word: u64| {
            let mixed = (state ^ word).wrapping_mul(ODD);
            mixed ^ (mixed >> 29)
        };
        let mut hash = u64::from(is_final);
        for transition in transitions {
            hash = fold(hash, transition.target << 8 | u64::from(transition.input));
            hash = fold(hash, transition.output);
        }
        Hash(fold(hash, transitions.len() as u64))
    }

    #[inline]
    fn bucket(self, buckets: usize) -> usize {
        usize::try_from(self.0 >> 32).unwrap_or(0) % buckets.max(1)
    }
}
