//! A growable set of small numbers, one bit each.

/// Bits by index; all that were never set are clear.
#[derive(Clone, Debug, Default)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// Sets a bit; says whether it was clear.
    #[inline]
    pub(super) fn insert(&mut self, index: usize) -> bool {
        let word = index / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let bit = 1 << (index % 64);
        match self.0.get_mut(word) {
            Some(word) => {
                let clear = *word & bit == 0;
                *word |= bit;
                clear
            }
            None => false,
        }
    }

    /// Whether a bit is set.
    #[inline]
    pub(super) fn contains(&self, index: usize) -> bool {
        self.0.get(index / 64).is_some_and(|word| word & (1 << (index % 64)) != 0)
    }

    /// Number of bits that are set.
    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_independent_across_word_borders() {
        let mut bits = Bits::default();
        for index in [0, 63, 64, 1000] {
            assert!(bits.insert(index));
            assert!(!bits.insert(index));
        }
        let set: Vec<usize> = (0..2000).filter(|&index| bits.contains(index)).collect();
        assert_eq!(set, [0, 63, 64, 1000]);
        assert_eq!(bits.count(), 4);
    }
}
