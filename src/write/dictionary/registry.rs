//! Nodes that were written lately, to be shared by later terms with the same ending.
//!
//! A table with four entries per bucket, the one not used for longest replaced. It grows with the dictionary up to a fixed
//! size, so that small fields cost little. Only an exactly equal node is found; what the table has forgotten is written
//! again, which costs bytes and nothing else.

use prefetch_index::prefetch_index;

use super::node::Transition;

/// Powers of two.
const FIRST_BUCKETS: usize = 1 << 6;
/// A quarter of a megabyte, and what nodes with several transitions take: the tables of all outputs take turns in the
/// caches. With half as many entries, dictionaries of words are up to 2 % larger than tantivy's; twice as many cost time
/// and save 0.5 %.
const MOST_BUCKETS: usize = 1 << 12;
const WAYS: usize = 4;

/// Nodes with more transitions are not kept: they hardly ever have an equal.
const MOST_TRANSITIONS: usize = 64;

pub(super) struct Registry {
    /// Used last first.
    buckets: Vec<[Entry; WAYS]>,
    inserted: usize,
    /// Transitions of nodes whose entry does not hold them, by [`Entry::list`].
    lists: Vec<Vec<Transition>>,
    /// Lists that belong to no entry any more.
    free: Vec<u32>,
    /// How often a node was found that had been kept as [`Kept::Beyond`].
    found_beyond: u64,
}

/// Why a node is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// It was looked for.
    Missed,
    /// What is below it was new already: only a term with a longer ending in common will look for it.
    Beyond,
}

/// 16 bytes, so that a bucket is a cache line. Most nodes have one transition without output, which stands here.
#[derive(Clone, Copy, Default)]
struct Entry {
    /// Address, and 24 bits of the hash. 0: nothing here; a node never has address 0.
    place: u64,
    /// Target, or where the list of transitions is; input; flags.
    node: u64,
}

/// Bits of an address in an entry; nodes beyond a terabyte are not kept.
const ADDRESS_BITS: u32 = 40;
const ADDRESS: u64 = (1 << ADDRESS_BITS) - 1;
const IS_FINAL: u64 = 1 << 48;
const IN_LIST: u64 = 1 << 49;
const BEYOND: u64 = 1 << 50;

impl Entry {
    /// The node part of an entry that holds its only transition; `None` if it needs a list.
    #[inline]
    fn alone(is_final: bool, transitions: &[Transition]) -> Option<u64> {
        match transitions {
            &[Transition { input, output: 0, target }] if target <= ADDRESS => {
                Some(target | u64::from(input) << ADDRESS_BITS | if is_final { IS_FINAL } else { 0 })
            }
            _ => None,
        }
    }

    fn address(self) -> u64 {
        self.place & ADDRESS
    }

    fn list(self) -> Option<u32> {
        u32::try_from(self.node & ADDRESS).ok().filter(|_| self.node & IN_LIST != 0)
    }
}

impl Registry {
    pub(super) fn new() -> Registry {
        Registry {
            buckets: vec![Default::default(); FIRST_BUCKETS],
            inserted: 0,
            lists: Vec::new(),
            free: Vec::new(),
            found_beyond: 0,
        }
    }

    pub(super) fn num_buckets(&self) -> usize {
        self.buckets.len()
    }

    /// Has the table brought into the caches: another one was used since it was last.
    pub(super) fn prefetch(&self) {
        (0..self.buckets.len()).for_each(|bucket| prefetch_index(&self.buckets, bucket));
    }

    /// Address of an equal node, or its hash to keep it by.
    #[inline]
    pub(super) fn find(&mut self, is_final: bool, transitions: &[Transition]) -> Result<u64, Hash> {
        let hash = Hash::of(is_final, transitions);
        let number = hash.bucket(self.buckets.len());
        let Registry { buckets, lists, found_beyond, .. } = self;
        let Some(bucket) = buckets.get_mut(number) else { return Err(hash) };
        let alone = Entry::alone(is_final, transitions);
        let is = |entry: &Entry| {
            entry.place >> ADDRESS_BITS == hash.tag()
                && entry.place != 0
                && match alone {
                    Some(node) => entry.node & !BEYOND == node,
                    None => {
                        (entry.node & IS_FINAL != 0) == is_final
                            && entry
                                .list()
                                .and_then(|list| lists.get(list as usize))
                                .is_some_and(|list| list == transitions)
                    }
                }
        };
        let Some(way) = bucket.iter().position(is) else { return Err(hash) };
        let Some(found) = bucket.get_mut(..=way) else { return Err(hash) };
        found.rotate_right(1);
        let entry = found.first().copied().unwrap_or_default();
        *found_beyond += u64::from(entry.node & BEYOND != 0);
        Ok(entry.address())
    }

    /// How often a node was found that had been kept as [`Kept::Beyond`].
    pub(super) fn found_beyond(&self) -> u64 {
        self.found_beyond
    }

    /// Keeps a node that was written at `address`.
    #[inline]
    pub(super) fn insert(&mut self, hash: Hash, kept: Kept, is_final: bool, transitions: &[Transition], address: u64) {
        if transitions.len() > MOST_TRANSITIONS || address > ADDRESS {
            return;
        }
        if self.inserted >= self.buckets.len() && self.buckets.len() < MOST_BUCKETS {
            self.grow();
        }
        self.inserted += 1;
        let node = match Entry::alone(is_final, transitions) {
            Some(node) => node,
            None => u64::from(self.keep_list(transitions)) | IN_LIST | if is_final { IS_FINAL } else { 0 },
        };
        let beyond = if kept == Kept::Beyond { BEYOND } else { 0 };
        let entry = Entry { place: address | hash.tag() << ADDRESS_BITS, node: node | beyond };
        let number = hash.bucket(self.buckets.len());
        let Some(bucket) = self.buckets.get_mut(number) else { return };
        bucket.rotate_right(1);
        let [first, ..] = bucket;
        let forgotten = std::mem::replace(first, entry);
        self.free.extend(forgotten.list());
    }

    fn keep_list(&mut self, transitions: &[Transition]) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.lists.push(Vec::new());
            // No more than entries.
            u32::try_from(self.lists.len() - 1).unwrap_or(u32::MAX)
        });
        if let Some(list) = self.lists.get_mut(place as usize) {
            list.clear();
            list.extend_from_slice(transitions);
        }
        place
    }

    #[cold]
    fn grow(&mut self) {
        let len = self.buckets.len() * 4;
        let mut grown: Vec<[Entry; WAYS]> = vec![Default::default(); len];
        for bucket in &self.buckets {
            // Those used last come last, so that they are first again.
            for entry in bucket.iter().rev().filter(|entry| entry.place != 0) {
                if let Some(bucket) = grown.get_mut(self.hash(*entry).bucket(len)) {
                    bucket.rotate_right(1);
                    let [first, ..] = bucket;
                    *first = *entry;
                }
            }
        }
        self.buckets = grown;
    }

    /// The hash of the node in an entry.
    fn hash(&self, entry: Entry) -> Hash {
        let is_final = entry.node & IS_FINAL != 0;
        match entry.list() {
            Some(list) => Hash::of(is_final, self.lists.get(list as usize).map_or(&[], Vec::as_slice)),
            None => {
                let input = (entry.node >> ADDRESS_BITS).to_le_bytes()[0];
                Hash::of(is_final, &[Transition { input, output: 0, target: entry.node & ADDRESS }])
            }
        }
    }
}

/// Hash of a node.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
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

    /// 24 bits, from where mixing is best.
    #[inline]
    fn tag(self) -> u64 {
        self.0 >> ADDRESS_BITS
    }

    #[inline]
    fn bucket(self, buckets: usize) -> usize {
        usize::try_from(self.0 >> 24 & 0xffff).unwrap_or(0) & buckets.wrapping_sub(1)
    }
}
