//! Sets of term ordinals, with ranks.

/// A set of ordinals below a bound.
pub(super) struct OrdinalSet {
    words: Vec<u64>,
}

impl OrdinalSet {
    /// An empty set for ordinals below `bound`.
    pub(super) fn below(bound: u32) -> OrdinalSet {
        OrdinalSet { words: vec![0; (bound as usize).div_ceil(64)] }
    }

    /// Adds `ordinal`; whether it was below the bound.
    pub(super) fn insert(&mut self, ordinal: u64) -> bool {
        let word = usize::try_from(ordinal / 64).ok().and_then(|index| self.words.get_mut(index));
        word.map(|word| *word |= 1 << (ordinal % 64)).is_some()
    }

    /// Adds an ordinal that is greater than all before, beyond the bound if need be.
    pub(super) fn push(&mut self, ordinal: u32) {
        let index = ordinal as usize / 64;
        if index >= self.words.len() {
            self.words.resize(index + 1, 0);
        }
        if let Some(word) = self.words.get_mut(index) {
            *word |= 1 << (ordinal % 64);
        }
    }

    #[inline]
    pub(super) fn contains(&self, ordinal: u32) -> bool {
        self.words.get(ordinal as usize / 64).is_some_and(|word| word >> (ordinal % 64) & 1 == 1)
    }

    /// Makes ranks available: half again as much memory.
    pub(super) fn ranked(mut self) -> RankedSet {
        self.words.shrink_to_fit();
        let mut before = 0;
        let ranks = self
            .words
            .iter()
            .map(|word| {
                let rank = before;
                before += word.count_ones();
                rank
            })
            .collect();
        RankedSet { words: self.words, ranks }
    }
}

/// A set of ordinals that knows how many of them are below a member.
pub(super) struct RankedSet {
    words: Vec<u64>,
    ranks: Vec<u32>,
}

impl RankedSet {
    /// Members below `ordinal`, which must be a member.
    #[inline]
    pub(super) fn rank(&self, ordinal: u32) -> u32 {
        let index = ordinal as usize / 64;
        match (self.ranks.get(index), self.words.get(index)) {
            (Some(rank), Some(word)) => rank + (word & ((1 << (ordinal % 64)) - 1)).count_ones(),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_count_the_members_below() {
        let members = [0u32, 1, 63, 64, 65, 127, 128, 1_000, 1_063, 1_064];
        let mut bounded = OrdinalSet::below(1_065);
        let mut growing = OrdinalSet::below(0);
        for &member in &members {
            assert!(bounded.insert(u64::from(member)));
            growing.push(member);
        }
        assert!((0..1_065).all(|ordinal| bounded.contains(ordinal) == members.contains(&ordinal)));
        let (bounded, growing) = (bounded.ranked(), growing.ranked());
        for (rank, &member) in (0u32..).zip(&members) {
            assert_eq!(bounded.rank(member), rank);
            assert_eq!(growing.rank(member), rank);
        }
    }

    #[test]
    fn an_ordinal_beyond_the_dictionary_is_refused() {
        let mut set = OrdinalSet::below(64);
        assert!(set.insert(63));
        assert!(!set.insert(64));
        assert!(!set.insert(u64::MAX));
    }
}
