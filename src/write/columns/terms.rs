//! Sets of term ordinals, with ranks; which outputs use which terms.

use crate::huge::Entries;

/// No output uses the term.
const NOBODY: u32 = u32::MAX;
/// Several do: see [`Owners::shared`].
const SHARED: u32 = u32::MAX - 1;

/// Which outputs use each term of a dictionary, and when that was asked, the term's number among all merged terms. Of ids
/// each has one output, so one number stands for many bits; and the number takes the place of the output.
///
/// As many as all terms of a dictionary: a map of its own, which the system gets back when the column is written.
pub(super) struct Owners {
    /// By ordinal, little endian.
    entries: Entries<4>,
    /// By output: the terms that it shares.
    shared: Vec<OrdinalSet>,
}

impl Owners {
    /// Nobody uses any of so many terms.
    pub(super) fn of(num_terms: u32) -> Owners {
        Owners { entries: Entries::filled(num_terms as usize, u8::MAX), shared: Vec::new() }
    }

    /// `output` uses this term; whether there is such a term.
    #[inline]
    pub(super) fn add(&mut self, ordinal: u64, output: usize) -> bool {
        let slot = usize::try_from(ordinal).ok().and_then(|index| self.entries.as_mut_slice().get_mut(index));
        let (Some(entry), Ok(ordinal)) = (slot, u32::try_from(ordinal)) else { return false };
        // There are never so many outputs.
        let number = u32::try_from(output).unwrap_or(SHARED);
        match u32::from_le_bytes(*entry) {
            NOBODY => *entry = number.to_le_bytes(),
            before if before == number => {}
            before => {
                *entry = SHARED.to_le_bytes();
                if before != SHARED {
                    self.share(before as usize, ordinal);
                }
                self.share(output, ordinal);
            }
        }
        true
    }

    fn share(&mut self, output: usize, ordinal: u32) {
        if output >= self.shared.len() {
            self.shared.resize_with(output + 1, OrdinalSet::default);
        }
        self.shared.get_mut(output).into_iter().for_each(|set| set.insert(ordinal));
    }

    /// Appends the outputs that use a term to `outputs`, ascending.
    #[inline]
    pub(super) fn of_term(&self, ordinal: u32, outputs: &mut Vec<usize>) {
        match self.entries.as_slice().get(ordinal as usize).map(|entry| u32::from_le_bytes(*entry)) {
            None | Some(NOBODY) => {}
            Some(SHARED) => {
                let shared = self.shared.iter().enumerate().filter(|(_, set)| set.contains(ordinal));
                outputs.extend(shared.map(|(output, _)| output));
            }
            Some(output) => outputs.push(output as usize),
        }
    }

    /// Gives a term its number, in place of its outputs.
    #[inline]
    pub(super) fn number(&mut self, ordinal: u32, number: u32) {
        let slot = self.entries.as_mut_slice().get_mut(ordinal as usize);
        slot.into_iter().for_each(|entry| *entry = number.to_le_bytes());
    }

    /// The number of a term, when all terms that are used have one.
    #[inline]
    pub(super) fn number_of(&self, ordinal: u32) -> Option<u32> {
        self.entries.as_slice().get(ordinal as usize).map(|entry| u32::from_le_bytes(*entry))
    }
}

/// A set of ordinals.
#[derive(Default)]
pub(super) struct OrdinalSet {
    words: Vec<u64>,
}

impl OrdinalSet {
    #[inline]
    pub(super) fn insert(&mut self, ordinal: u32) {
        let index = ordinal as usize / 64;
        if index >= self.words.len() {
            self.words.resize(index + 1, 0);
        }
        if let Some(word) = self.words.get_mut(index) {
            *word |= 1 << (ordinal % 64);
        }
    }

    #[inline]
    fn contains(&self, ordinal: u32) -> bool {
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
        let mut set = OrdinalSet::default();
        members.iter().rev().for_each(|&member| set.insert(member));
        assert!((0..1_100).all(|ordinal| set.contains(ordinal) == members.contains(&ordinal)));
        let set = set.ranked();
        for (rank, &member) in (0u32..).zip(&members) {
            assert_eq!(set.rank(member), rank);
        }
    }

    #[test]
    fn every_term_has_the_outputs_that_use_it_however_many_and_whatever_their_numbers() {
        let users: [&[usize]; 6] = [&[], &[3], &[0, 7], &[1, 2, 3], &[70_000], &[5, 65_535, 65_536, 70_000]];
        let mut owners = Owners::of(6);
        // Output after output, as columns are read, and some of them twice.
        for output in (0..10).chain(65_530..65_540).chain([70_000]) {
            for (ordinal, _) in users.iter().enumerate().filter(|(_, outputs)| outputs.contains(&output)) {
                assert!(owners.add(ordinal as u64, output) && owners.add(ordinal as u64, output));
            }
        }
        for (ordinal, expected) in (0..).zip(users) {
            let mut found = Vec::new();
            owners.of_term(ordinal, &mut found);
            assert_eq!(found, expected, "term {ordinal}");
            owners.number(ordinal, 100 + ordinal);
        }
        let numbers: Vec<u32> = (0..7).map_while(|ordinal| owners.number_of(ordinal)).collect();
        assert_eq!(numbers, [100, 101, 102, 103, 104, 105]);
    }

    #[test]
    fn an_ordinal_beyond_the_dictionary_is_refused() {
        let mut owners = Owners::of(64);
        assert!(owners.add(63, 0));
        assert!(!owners.add(64, 0));
        assert!(!owners.add(1 << 32, 0));
        assert!(!owners.add(u64::MAX, 0));
    }
}
