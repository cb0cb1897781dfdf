//! Nodes that were written lately, to be shared by later terms with the same ending.
//!
//! A table with two entries per bucket, the older one replaced. It grows with the dictionary up to a fixed size, so that
//! small fields cost little. Only an exactly equal node is found; what the table has forgotten is written again, which
//! costs bytes and nothing else.

use super::node::Transition;

/// Powers of two.
const FIRST_BUCKETS: usize = 1 << 7;
/// Half a megabyte, and what nodes with several transitions take: the tables of all outputs take turns in the caches. With
/// half as many, dictionaries of words are up to 2 % larger than tantivy's; twice as many cost time and save 0.5 %.
const MOST_BUCKETS: usize = 1 << 13;

/// Nodes with more transitions are not kept: they hardly ever have an equal.
const MOST_TRANSITIONS: usize = 64;

pub(super) struct Registry {
    /// Newer entry first.
    buckets: Vec<[Entry; 2]>,
    inserted: usize,
    /// Transitions of nodes that have none or several, by [`Entry::output`].
    lists: Vec<Vec<Transition>>,
    /// Lists that belong to no entry any more.
    free: Vec<usize>,
}

/// 32 bytes, so that a bucket is one cache line: most nodes have one transition, which stands here.
#[derive(Clone, Copy, Default)]
struct Entry {
    /// 0: nothing here; a node never has address 0.
    address: u64,
    target: u64,
    /// Of the only transition; or where its list is.
    output: u64,
    hash: Hash,
    input: u8,
    is_final: bool,
    in_list: bool,
}

impl Registry {
    pub(super) fn new() -> Registry {
        Registry { buckets: vec![Default::default(); FIRST_BUCKETS], inserted: 0, lists: Vec::new(), free: Vec::new() }
    }

    /// Address of an equal node, or its hash to keep it by.
    #[inline]
    pub(super) fn find(&mut self, is_final: bool, transitions: &[Transition]) -> Result<u64, Hash> {
        let hash = Hash::of(is_final, transitions);
        let number = hash.bucket(self.buckets.len());
        let Some(bucket) = self.buckets.get(number) else { return Err(hash) };
        let [first, second] = bucket;
        if self.is(first, hash, is_final, transitions) {
            return Ok(first.address);
        }
        if self.is(second, hash, is_final, transitions) {
            let address = second.address;
            self.buckets.get_mut(number).into_iter().for_each(|bucket| bucket.swap(0, 1));
            return Ok(address);
        }
        Err(hash)
    }

    #[inline]
    fn is(&self, entry: &Entry, hash: Hash, is_final: bool, transitions: &[Transition]) -> bool {
        if entry.address == 0 || entry.hash != hash || entry.is_final != is_final {
            return false;
        }
        match transitions {
            [only] => {
                !entry.in_list && (entry.input, entry.output, entry.target) == (only.input, only.output, only.target)
            }
            _ => entry.in_list && self.list(entry) == Some(transitions),
        }
    }

    #[inline]
    fn list(&self, entry: &Entry) -> Option<&[Transition]> {
        self.lists.get(usize::try_from(entry.output).ok()?).map(Vec::as_slice)
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
        let mut entry = Entry { address, hash, is_final, ..Entry::default() };
        match transitions {
            [only] => (entry.input, entry.output, entry.target) = (only.input, only.output, only.target),
            several => {
                entry.in_list = true;
                entry.output = self.keep_list(several) as u64;
            }
        }
        let number = hash.bucket(self.buckets.len());
        let Some([first, second]) = self.buckets.get_mut(number) else { return };
        let forgotten = std::mem::replace(second, std::mem::replace(first, entry));
        if forgotten.in_list {
            self.free.extend(usize::try_from(forgotten.output));
        }
    }

    fn keep_list(&mut self, transitions: &[Transition]) -> usize {
        let place = self.free.pop().unwrap_or_else(|| {
            self.lists.push(Vec::new());
            self.lists.len() - 1
        });
        if let Some(list) = self.lists.get_mut(place) {
            list.clear();
            list.extend_from_slice(transitions);
        }
        place
    }

    #[cold]
    fn grow(&mut self) {
        let len = self.buckets.len() * 4;
        let mut grown: Vec<[Entry; 2]> = vec![Default::default(); len];
        for bucket in &self.buckets {
            // The newer entry of a bucket last, so that it is the newer one again.
            for entry in bucket.iter().rev().filter(|entry| entry.address != 0) {
                if let Some([first, second]) = grown.get_mut(entry.hash.bucket(len)) {
                    *second = std::mem::replace(first, *entry);
                }
            }
        }
        self.buckets = grown;
    }
}

/// Hash of a node.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Hash(u32);

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
        // The upper half is mixed best.
        Hash(u32::try_from(fold(hash, transitions.len() as u64) >> 32).unwrap_or(0))
    }

    #[inline]
    fn bucket(self, buckets: usize) -> usize {
        self.0 as usize & buckets.wrapping_sub(1)
    }
}
