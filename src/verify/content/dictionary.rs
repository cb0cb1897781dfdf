//! Entries of a term dictionary: what no document shows, but look-ups need.
//!
//! Streaming a dictionary and looking terms up read the same automaton in different ways: a node with more than 32
//! transitions has a table by byte that only look-ups use. So a term can be there and still not be found. Looking every
//! term up would cost as much as reading it; only the branches of such nodes are looked up, one term each.

use std::io;

use tantivy::postings::TermInfo;
use tantivy::termdict::TermDictionary;

/// Transitions from which on a node has a table (tantivy-fst 0.5, `src/raw/node.rs`).
const WIDE: usize = 32;
const NOT_FOUND: &str = "is not found by looking it up";
/// Of the others every so many terms are looked up too.
const LOOKUP: u64 = 64;

/// Checks the entries of a range of terms, in order.
pub(super) struct EntryCheck<'a> {
    dictionary: &'a TermDictionary,
    previous: Option<(Vec<u8>, TermInfo, u64)>,
    /// Per depth, the branches seen so far below the current prefix.
    levels: Vec<Branches>,
    /// How many of them count; the others keep their allocations.
    depths: usize,
    /// The range begins within the dictionary: nodes on the way to its first term have branches that are not seen.
    inner: bool,
}

#[derive(Default)]
struct Branches {
    /// Ordinal of the first term of each, as long as they are few.
    first: Vec<u64>,
    /// They are many, or may be: every further branch is looked up at once.
    wide: bool,
}

impl<'a> EntryCheck<'a> {
    /// For the terms from ordinal `start` on.
    pub(super) fn new(dictionary: &'a TermDictionary, start: u64) -> EntryCheck<'a> {
        EntryCheck { dictionary, previous: None, levels: Vec::new(), depths: 0, inner: start > 0 }
    }

    /// Whether tantivy finds `term` where it was read, if it is the turn of the term with this ordinal.
    pub(super) fn sample(&self, (term, info): (&[u8], &TermInfo), ordinal: u64) -> io::Result<Option<String>> {
        let missed = ordinal.is_multiple_of(LOOKUP) && self.dictionary.get(term)?.as_ref() != Some(info);
        Ok(missed.then(|| NOT_FOUND.to_owned()))
    }

    /// What is wrong with the entry of `term`, whose place is `ordinal`; `found`: the ordinal it has.
    pub(super) fn check(
        &mut self,
        (term, info): (&[u8], &TermInfo),
        (ordinal, found): (u64, u64),
    ) -> io::Result<Option<String>> {
        let mut problem = None;
        if found != ordinal {
            problem = Some(format!("has ordinal {found}, its place is {ordinal}"));
        } else if info.doc_freq == 0 {
            problem = Some("is in the dictionary without a document".to_owned());
        } else if info.postings_range.is_empty() || info.positions_range.end < info.positions_range.start {
            problem = Some("has a range of bytes that ends where it begins, or before".to_owned());
        }
        let mut lookup = ordinal.is_multiple_of(LOOKUP);
        if let Some((previous, before, last)) = &mut self.previous {
            if previous.as_slice() >= term {
                problem = Some(format!("comes after {}", show(previous)));
            } else if before.postings_range.end != info.postings_range.start
                || before.positions_range.end != info.positions_range.start
            {
                problem = Some(format!("does not begin where {} ends", show(previous)));
            }
            let depth = previous.iter().zip(term).take_while(|(a, b)| a == b).count();
            // Deeper nodes than this are left behind; those not seen yet were made by the previous term.
            for fresh in self.depths..=depth {
                if fresh >= self.levels.len() {
                    self.levels.push(Branches::default());
                }
                if let Some(level) = self.levels.get_mut(fresh) {
                    level.first.clear();
                    level.first.push(*last);
                    level.wide = self.inner;
                }
            }
            self.depths = depth + 1;
            previous.clear();
            previous.extend_from_slice(term);
            before.clone_from(info);
            *last = ordinal;
            self.inner = false;
            let mut few = Vec::new();
            if let Some(level) = self.levels.get_mut(depth) {
                lookup |= level.wide;
                if !level.wide {
                    level.first.push(ordinal);
                    if level.first.len() > WIDE {
                        level.wide = true;
                        few = std::mem::take(&mut level.first);
                    }
                }
            }
            if let Some(missed) = self.look_up_all(&few)? {
                problem = Some(missed);
            }
        } else {
            self.previous = Some((term.to_vec(), info.clone(), ordinal));
            lookup = true;
        }
        if lookup && self.dictionary.get(term)?.as_ref() != Some(info) {
            problem = Some(NOT_FOUND.to_owned());
        }
        Ok(problem)
    }

    /// What is wrong with nodes that go on beyond the range: any may be wide.
    pub(super) fn finish(&mut self) -> io::Result<Option<String>> {
        let levels = std::mem::take(&mut self.levels);
        let mut ordinals: Vec<u64> = levels.iter().take(self.depths).flat_map(|level| &level.first).copied().collect();
        // A look-up goes through all nodes on the way to its term, and terms that share a long prefix stand at as many
        // levels as it has bytes.
        ordinals.sort_unstable();
        ordinals.dedup();
        self.look_up_all(&ordinals)
    }

    fn look_up_all(&self, ordinals: &[u64]) -> io::Result<Option<String>> {
        let mut term = Vec::new();
        for &ordinal in ordinals {
            let known = self.dictionary.ord_to_term(ordinal, &mut term)?;
            if !known || self.dictionary.term_ord(&term)? != Some(ordinal) {
                return Ok(Some(format!("has a neighbour {} that is not found by looking it up", show(&term))));
            }
        }
        Ok(None)
    }
}

/// A term for people.
pub(in crate::verify) fn show(term: &[u8]) -> String {
    let text = String::from_utf8_lossy(term);
    let mut shown: String = text.chars().take(60).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

#[cfg(test)]
mod tests {
    use tantivy::directory::FileSlice;
    use tantivy::termdict::TermDictionaryBuilder;

    use super::*;

    fn info(doc_freq: u32, postings: std::ops::Range<usize>) -> TermInfo {
        TermInfo { doc_freq, postings_range: postings, positions_range: 0..0 }
    }

    #[test]
    fn entries_out_of_place_are_told() {
        let dictionary = TermDictionary::empty();
        let mut check = EntryCheck::new(&dictionary, 0);
        let mut at = |term: &[u8], info: TermInfo, ordinals: (u64, u64)| {
            check.check((term, &info), ordinals).unwrap().unwrap_or_default()
        };
        assert_eq!(at(b"b", info(1, 0..4), (1, 1)), "is not found by looking it up");
        assert_eq!(at(b"c", info(1, 4..6), (2, 2)), "");
        assert_eq!(at(b"c", info(1, 6..7), (3, 3)), "comes after \"c\"");
        assert_eq!(at(b"d", info(1, 8..9), (4, 4)), "does not begin where \"c\" ends");
        assert_eq!(at(b"e", info(1, 9..10), (5, 7)), "has ordinal 7, its place is 5");
        assert_eq!(at(b"f", info(0, 10..11), (6, 6)), "is in the dictionary without a document");
        assert_eq!(at(b"g", info(1, 11..11), (7, 7)), "has a range of bytes that ends where it begins, or before");
    }

    #[test]
    fn terms_that_share_a_long_prefix_are_looked_up_once_each() {
        // Once per byte of the prefix, this would take 65,000 * 65,000 steps for each of them.
        let mut builder = TermDictionaryBuilder::create(Vec::new()).unwrap();
        for at in 0..30 {
            builder.insert(format!("{}{at:02}", "x".repeat(65_000)), &info(1, at..at + 1)).unwrap();
        }
        let begun = std::time::Instant::now();
        assert_eq!(problems(&builder.finish().unwrap(), &[0, 10, 30]), 0);
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }

    /// Every term of two bytes.
    fn wide() -> (Vec<u8>, Vec<[u8; 2]>) {
        let terms: Vec<[u8; 2]> = (0..40u8).flat_map(|a| (0..50u8).map(move |b| [a * 3, b * 5])).collect();
        let mut builder = TermDictionaryBuilder::create(Vec::new()).unwrap();
        for (at, term) in terms.iter().enumerate() {
            builder.insert(term, &info(1, at..at + 1)).unwrap();
        }
        (builder.finish().unwrap(), terms)
    }

    /// Problems that checking the ranges finds.
    fn problems(bytes: &[u8], bounds: &[u64]) -> usize {
        let dictionary = TermDictionary::open(FileSlice::from(bytes.to_vec())).unwrap();
        let mut problems = 0;
        for range in bounds.windows(2) {
            let mut check = EntryCheck::new(&dictionary, range[0]);
            let mut stream = dictionary.stream().unwrap();
            while stream.advance() {
                let ordinal = stream.term_ord();
                if (range[0]..range[1]).contains(&ordinal) {
                    problems +=
                        usize::from(check.check((stream.key(), stream.value()), (ordinal, ordinal)).unwrap().is_some());
                }
            }
            problems += usize::from(check.finish().unwrap().is_some());
        }
        problems
    }

    #[test]
    fn no_term_that_cannot_be_looked_up_is_missed_wherever_the_dictionary_is_cut() {
        let (bytes, terms) = wide();
        let cuts: [&[u64]; 3] = [&[0, 2000], &[0, 20, 2000], &[0, 1030, 1031, 1045, 2000]];
        for cut in cuts {
            assert_eq!(problems(&bytes, cut), 0);
        }
        let mut unfindable = 0;
        // Behind the version, up to the end of the automaton.
        for at in 16..700 {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x04;
            let lost = std::panic::catch_unwind(|| {
                let dictionary = TermDictionary::open(FileSlice::from(bytes.clone())).unwrap();
                let mut stream = dictionary.stream().unwrap();
                let mut streamed = Vec::new();
                while stream.advance() {
                    streamed.push(stream.key().to_vec());
                }
                // Only the tables, which streams do not use.
                streamed == terms && (0..).zip(&terms).any(|(at, term)| dictionary.term_ord(term).unwrap() != Some(at))
            });
            if lost.unwrap_or(false) {
                unfindable += 1;
                for cut in cuts {
                    assert!(problems(&bytes, cut) > 0, "byte {at}, cut {cut:?}");
                }
            }
        }
        assert!(unfindable >= 40, "{unfindable}");
    }
}
