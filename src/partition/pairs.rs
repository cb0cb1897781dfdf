//! Arrays of optional pairs of numbers, in 32 bits each where they fit.

use std::ops::Range;

use prefetch_index::prefetch_index;

use crate::huge::Entries;

/// No left part.
pub(super) const NOTHING: u32 = u32::MAX;

/// Pairs by index.
#[derive(Debug)]
pub(super) enum Pairs {
    /// Little endian: the left part, and `shift` bits of the right part.
    Narrow { shift: u32, pairs: Entries<4> },
    /// Little endian: the left part and 32 bits of the right part.
    Wide { pairs: Entries<8> },
}

impl Pairs {
    /// `len` times nothing; left parts will be below `lefts`, right parts below `rights`.
    pub(super) fn filled(len: usize, lefts: usize, rights: usize) -> Pairs {
        let bits = |below: usize| usize::BITS - below.leading_zeros();
        let shift = bits(rights);
        // `lefts` itself must fit too, so that no pair is all ones.
        if shift < 32 && bits(lefts) + shift <= 32 {
            Pairs::Narrow { shift, pairs: Entries::filled(len, u8::MAX) }
        } else {
            Pairs::Wide { pairs: Entries::filled(len, u8::MAX) }
        }
    }

    pub(super) fn set(&mut self, index: usize, left: u32, right: u32) {
        match self {
            Pairs::Narrow { shift, pairs } => {
                if let Some(pair) = pairs.as_mut_slice().get_mut(index) {
                    *pair = ((left << *shift) | right).to_le_bytes();
                }
            }
            Pairs::Wide { pairs } => {
                if let Some(pair) = pairs.as_mut_slice().get_mut(index) {
                    *pair = ((u64::from(left) << 32) | u64::from(right)).to_le_bytes();
                }
            }
        }
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<(u32, u32)> {
        match self {
            Pairs::Narrow { shift, pairs } => {
                let pair = u32::from_le_bytes(*pairs.as_slice().get(index)?);
                (pair != u32::MAX).then(|| (pair >> shift, pair & ((1 << shift) - 1)))
            }
            Pairs::Wide { pairs } => {
                let pair = u64::from_le_bytes(*pairs.as_slice().get(index)?);
                (pair != u64::MAX).then(|| halves(pair))
            }
        }
    }

    /// Says that [`Pairs::gather`] will ask for these.
    #[inline]
    pub(super) fn prefetch(&self, range: Range<usize>, indexes: &[u32]) {
        match self {
            Pairs::Narrow { pairs, .. } => prefetch(pairs.as_slice().get(range), indexes),
            Pairs::Wide { pairs } => prefetch(pairs.as_slice().get(range), indexes),
        }
    }

    /// The pairs at `indexes` of those in `range`; a left part of [`NOTHING`] where there is none. One tight loop, so that
    /// cache misses overlap.
    #[inline]
    pub(super) fn gather(&self, range: Range<usize>, indexes: &[u32], found: &mut [(u32, u32)]) {
        match self {
            Pairs::Narrow { shift, pairs } => {
                let pairs = pairs.as_slice().get(range).unwrap_or_default();
                for (slot, &index) in found.iter_mut().zip(indexes) {
                    let pair = pairs.get(index as usize).map_or(u32::MAX, |pair| u32::from_le_bytes(*pair));
                    let left = if pair == u32::MAX { NOTHING } else { pair >> shift };
                    *slot = (left, pair & ((1 << shift) - 1));
                }
            }
            Pairs::Wide { pairs } => {
                let pairs = pairs.as_slice().get(range).unwrap_or_default();
                for (slot, &index) in found.iter_mut().zip(indexes) {
                    // Nothing is all ones, and so is its left half.
                    *slot = halves(pairs.get(index as usize).map_or(u64::MAX, |pair| u64::from_le_bytes(*pair)));
                }
            }
        }
    }
}

#[inline]
fn prefetch<const N: usize>(pairs: Option<&[[u8; N]]>, indexes: &[u32]) {
    let pairs = pairs.unwrap_or_default();
    indexes.iter().for_each(|&index| prefetch_index(pairs, index as usize));
}

fn halves(pair: u64) -> (u32, u32) {
    let low = pair & u64::from(u32::MAX);
    (u32::try_from(pair >> 32).unwrap_or(u32::MAX), u32::try_from(low).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_keep_what_was_set_at_every_width() {
        for (lefts, rights) in
            [(1, 1), (8, 1 << 20), (255, 1 << 23), (256, 1 << 24), (3, (1 << 31) - 1), (65_000, 1 << 31)]
        {
            let mut pairs = Pairs::filled(4, lefts, rights);
            let extremes = [(0, 0), (lefts as u32 - 1, rights as u32 - 1), (lefts as u32 - 1, 0)];
            for (index, &(left, right)) in extremes.iter().enumerate() {
                pairs.set(index, left, right);
            }
            for (index, &pair) in extremes.iter().enumerate() {
                assert_eq!(pairs.get(index), Some(pair), "{lefts} x {rights}");
            }
            assert_eq!(pairs.get(3), None, "{lefts} x {rights}");
            assert_eq!(pairs.get(4), None);
            let mut found = [(0, 0); 5];
            pairs.gather(0..4, &[4, 3, 2, 1, 0], &mut found);
            let expected: Vec<(u32, u32)> = extremes.iter().rev().copied().collect();
            assert_eq!(&found[2..], expected.as_slice(), "{lefts} x {rights}");
            assert_eq!((found[0].0, found[1].0), (NOTHING, NOTHING));
            // Beyond the range there is nothing, whatever stands there.
            pairs.gather(0..2, &[0, 1, 2, 3], &mut found);
            assert_eq!(&found[..2], &extremes[..2], "{lefts} x {rights}");
            assert_eq!((found[2].0, found[3].0), (NOTHING, NOTHING));
        }
    }
}
