//! Which documents of a segment have no hash: two bits each, nothing at all where every document has one.

/// What a sidecar knows about a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashState {
    /// It has one key, with a hash.
    Hashed,
    /// It has no key.
    Missing,
    /// It has several different keys.
    Several,
    /// It was deleted when keys were read.
    Unread,
}

impl HashState {
    fn bits(self) -> u32 {
        match self {
            HashState::Hashed => 0,
            HashState::Missing => 1,
            HashState::Several => 2,
            HashState::Unread => 3,
        }
    }

    fn of(bits: u32) -> HashState {
        match bits & 3 {
            0 => HashState::Hashed,
            1 => HashState::Missing,
            2 => HashState::Several,
            _ => HashState::Unread,
        }
    }
}

/// Documents in a word.
const PER_WORD: usize = 16;

/// States by document; all are [`HashState::Hashed`] until set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HashStates(Vec<u32>);

impl HashStates {
    /// Words for `max_doc` documents.
    pub(super) fn words(max_doc: u32) -> usize {
        (max_doc as usize).div_ceil(PER_WORD)
    }

    /// Reads words as [`HashStates::words_of`] gave them.
    pub(super) fn from_words(words: impl Iterator<Item = u32>) -> HashStates {
        HashStates(words.collect())
    }

    /// The state of a document.
    #[inline]
    #[must_use]
    pub fn get(&self, doc: u32) -> HashState {
        let word = self.0.get(doc as usize / PER_WORD).copied().unwrap_or(0);
        HashState::of(word >> (doc as usize % PER_WORD * 2))
    }

    /// Sets the state of a document.
    #[inline]
    pub fn set(&mut self, doc: u32, state: HashState) {
        let (index, shift) = (doc as usize / PER_WORD, doc as usize % PER_WORD * 2);
        if index >= self.0.len() {
            if state == HashState::Hashed {
                return;
            }
            self.0.resize(index + 1, 0);
        }
        if let Some(word) = self.0.get_mut(index) {
            *word = *word & !(3 << shift) | state.bits() << shift;
        }
    }

    /// Whether every document has a hash.
    #[must_use]
    pub fn all_hashed(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// Exactly the words of `max_doc` documents.
    pub fn words_of(&self, max_doc: u32) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied().chain(std::iter::repeat(0)).take(HashStates::words(max_doc))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_independent_across_words_and_take_nothing_until_one_is_set() {
        let mut states = HashStates::default();
        states.set(40, HashState::Hashed);
        assert!(states.all_hashed() && states.0.is_empty());
        let set = [(0, HashState::Missing), (15, HashState::Unread), (16, HashState::Several), (33, HashState::Unread)];
        for (doc, state) in set {
            states.set(doc, state);
        }
        for doc in 0..100 {
            let expected = set.iter().find(|(other, _)| *other == doc).map_or(HashState::Hashed, |(_, state)| *state);
            assert_eq!(states.get(doc), expected, "{doc}");
        }
        assert_eq!(states.words_of(50).count(), 4);
        assert_eq!(HashStates::from_words(states.words_of(34)), states);
        for (doc, _) in set {
            states.set(doc, HashState::Hashed);
        }
        assert!(states.all_hashed());
    }
}
