//! Arrays of optional pairs of numbers, in 32 bits each where they fit.

/// No left part.
pub(super) const NOTHING: u32 = u32::MAX;

/// Pairs by index.
#[derive(Debug)]
pub(super) enum Pairs {
    Narrow { shift: u32, pairs: Vec<u32> },
    Wide { pairs: Vec<u64> },
}

impl Pairs {
    /// `len` times nothing; left parts will be below `lefts`, right parts below `rights`.
    pub(super) fn filled(len: usize, lefts: usize, rights: usize) -> Pairs {
        let bits = |below: usize| usize::BITS - below.leading_zeros();
        let shift = bits(rights);
        // `lefts` itself must fit too, so that no pair is all ones.
        if shift < 32 && bits(lefts) + shift <= 32 {
            Pairs::Narrow { shift, pairs: vec![u32::MAX; len] }
        } else {
            Pairs::Wide { pairs: vec![u64::MAX; len] }
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Pairs::Narrow { pairs, .. } => pairs.len(),
            Pairs::Wide { pairs } => pairs.len(),
        }
    }

    pub(super) fn set(&mut self, index: usize, left: u32, right: u32) {
        match self {
            Pairs::Narrow { shift, pairs } => {
                if let Some(pair) = pairs.get_mut(index) {
                    *pair = (left << *shift) | right;
                }
            }
            Pairs::Wide { pairs } => {
                if let Some(pair) = pairs.get_mut(index) {
                    *pair = (u64::from(left) << 32) | u64::from(right);
                }
            }
        }
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<(u32, u32)> {
        match self {
            Pairs::Narrow { shift, pairs } => {
                let pair = *pairs.get(index)?;
                (pair != u32::MAX).then(|| (pair >> shift, pair & ((1 << shift) - 1)))
            }
            Pairs::Wide { pairs } => {
                let pair = *pairs.get(index)?;
                (pair != u64::MAX).then(|| halves(pair))
            }
        }
    }
}

impl Pairs {
    /// The pairs at `indexes`; a left part of [`NOTHING`] where there is none. One tight loop, so that cache misses overlap.
    #[inline]
    pub(super) fn gather(&self, indexes: &[u32], found: &mut [(u32, u32)]) {
        match self {
            Pairs::Narrow { shift, pairs } => {
                for (slot, &index) in found.iter_mut().zip(indexes) {
                    let pair = pairs.get(index as usize).copied().unwrap_or(u32::MAX);
                    let left = if pair == u32::MAX { NOTHING } else { pair >> shift };
                    *slot = (left, pair & ((1 << shift) - 1));
                }
            }
            Pairs::Wide { pairs } => {
                for (slot, &index) in found.iter_mut().zip(indexes) {
                    // Nothing is all ones, and so is its left half.
                    *slot = halves(pairs.get(index as usize).copied().unwrap_or(u64::MAX));
                }
            }
        }
    }
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
            pairs.gather(&[4, 3, 2, 1, 0], &mut found);
            let expected: Vec<(u32, u32)> = extremes.iter().rev().copied().collect();
            assert_eq!(&found[2..], expected.as_slice(), "{lefts} x {rights}");
            assert_eq!((found[0].0, found[1].0), (NOTHING, NOTHING));
        }
    }
}
