//! Entries of a term dictionary: what no document shows, but look-ups need.
//!
//! Streaming a dictionary and looking terms up read the same automaton in different ways: a node with many transitions
//! has a table by byte that only look-ups use. So a term can be there and still not be found, and one that is not there can
//! be found. Looking every term up
//! would cost as much as reading it; the branches of such nodes are looked up, one term each, and a 64th of the others.

use std::io;

use tantivy::postings::TermInfo;
use tantivy::termdict::TermDictionary;

use crate::source::dictionary::TermReader;

/// Of the terms that need no table every so many are looked up too.
const LOOKUP: u64 = 64;

/// Checks the entries of a range of terms, in order.
pub(super) struct EntryCheck<'a> {
    dictionary: &'a TermDictionary,
    previous: Option<(Vec<u8>, TermInfo)>,
    /// It was said that look-ups find what is not there.
    told: bool,
}

impl<'a> EntryCheck<'a> {
    pub(super) fn new(dictionary: &'a TermDictionary) -> EntryCheck<'a> {
        EntryCheck { dictionary, previous: None, told: false }
    }

    /// What is wrong with finding the term under `terms`, whose place is `ordinal`, if it is its turn to be looked up.
    pub(super) fn sample(&self, terms: &TermReader<'_>, ordinal: u64) -> io::Result<Option<String>> {
        self.look_up(terms, ordinal.is_multiple_of(LOOKUP))
    }

    /// What is wrong with the entry under `terms`, whose place is `ordinal`.
    pub(super) fn check(&mut self, terms: &TermReader<'_>, ordinal: u64) -> io::Result<Option<String>> {
        let (term, info) = (terms.key(), terms.info());
        let problem = match &self.previous {
            _ if terms.ordinal() != ordinal => Some(format!("has ordinal {}, its place is {ordinal}", terms.ordinal())),
            _ if terms.leads_astray() && !self.told => {
                self.told = true;
                Some("stands below a node whose table finds terms that are not there".to_owned())
            }
            _ if info.doc_freq == 0 => Some("is in the dictionary without a document".to_owned()),
            _ if info.postings_range.is_empty() || info.positions_range.end < info.positions_range.start => {
                Some("has a range of bytes that ends where it begins, or before".to_owned())
            }
            Some((previous, _)) if previous.as_slice() >= term => Some(format!("comes after {}", show(previous))),
            Some((previous, before))
                if before.postings_range.end != info.postings_range.start
                    || before.positions_range.end != info.positions_range.start =>
            {
                Some(format!("does not begin where {} ends", show(previous)))
            }
            _ => None,
        };
        // The first term of a range may come by a table of a node that the range before has entered.
        let by_table = self.previous.is_none() || terms.is_by_table();
        let (previous, before) = self.previous.get_or_insert_default();
        previous.clear();
        previous.extend_from_slice(term);
        before.clone_from(info);
        match problem {
            Some(problem) => Ok(Some(problem)),
            None => self.look_up(terms, by_table || ordinal.is_multiple_of(LOOKUP)),
        }
    }

    fn look_up(&self, terms: &TermReader<'_>, wanted: bool) -> io::Result<Option<String>> {
        let missed = wanted && self.dictionary.get(terms.key())?.as_ref() != Some(terms.info());
        Ok(missed.then(|| "is not found by looking it up".to_owned()))
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

    /// Every term of two bytes.
    fn wide() -> (Vec<u8>, Vec<[u8; 2]>) {
        let terms: Vec<[u8; 2]> = (0..40u8).flat_map(|a| (0..50u8).map(move |b| [a * 3, b * 5])).collect();
        let mut builder = TermDictionaryBuilder::create(Vec::new()).unwrap();
        for (at, term) in terms.iter().enumerate() {
            builder.insert(term, &info(1, at..at + 1)).unwrap();
        }
        (builder.finish().unwrap(), terms)
    }

    /// What checking the ranges between `bounds` finds.
    fn problems(bytes: &[u8], bounds: &[u64]) -> Vec<String> {
        let dictionary = TermDictionary::open(FileSlice::from(bytes.to_vec())).unwrap();
        let mut problems = Vec::new();
        for range in bounds.windows(2) {
            let mut bound = Vec::new();
            if range[0] > 0 && !dictionary.ord_to_term(range[0], &mut bound).unwrap_or(false) {
                return vec![format!("no term {}", range[0])];
            }
            let mut terms = TermReader::open(bytes, Some(&bound)).unwrap();
            let mut check = EntryCheck::new(&dictionary);
            for ordinal in range[0]..range[1] {
                match terms.advance() {
                    Ok(true) => problems.extend(check.check(&terms, ordinal).unwrap()),
                    Ok(false) => break,
                    Err(damaged) => return vec![damaged.to_string()],
                }
            }
        }
        problems
    }

    #[test]
    fn entries_out_of_place_are_told() {
        let told = |infos: &[TermInfo]| {
            let mut builder = TermDictionaryBuilder::create(Vec::new()).unwrap();
            for (at, info) in (b'a'..).zip(infos) {
                builder.insert([at], info).unwrap();
            }
            problems(&builder.finish().unwrap(), &[0, infos.len() as u64])
        };
        assert!(told(&[info(1, 0..4), info(1, 4..6)]).is_empty());
        assert_eq!(told(&[info(1, 0..4), info(1, 5..6)]), ["does not begin where \"a\" ends"]);
        assert_eq!(told(&[info(1, 0..4), info(0, 4..5)]), ["is in the dictionary without a document"]);
        assert_eq!(
            told(&[info(1, 0..4), info(1, 4..4)]),
            ["has a range of bytes that ends where it begins, or before"]
        );
    }

    #[test]
    fn terms_out_of_order_or_place_and_those_of_another_dictionary_are_told() {
        let dictionary = TermDictionary::empty();
        let (bytes, _) = wide();
        let mut terms = TermReader::open(&bytes, None).unwrap();
        let mut check = EntryCheck::new(&dictionary);
        let mut at = |terms: &TermReader<'_>, ordinal| check.check(terms, ordinal).unwrap().unwrap_or_default();
        assert!(terms.advance().unwrap());
        assert_eq!(at(&terms, 0), "is not found by looking it up");
        assert_eq!(at(&terms, 0), "comes after \"\\0\\0\"");
        assert_eq!(at(&terms, 7), "has ordinal 0, its place is 7");
    }

    #[test]
    fn no_term_that_cannot_be_looked_up_is_missed_wherever_the_dictionary_is_cut() {
        let (bytes, terms) = wide();
        let cuts: [&[u64]; 3] = [&[0, 2000], &[0, 20, 2000], &[0, 1030, 1031, 1045, 2000]];
        for cut in cuts {
            assert_eq!(problems(&bytes, cut), [""; 0]);
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
                    assert!(!problems(&bytes, cut).is_empty(), "byte {at}, cut {cut:?}");
                }
            }
        }
        assert!(unfindable >= 40, "{unfindable}");
    }

    #[test]
    fn tables_that_find_terms_that_are_not_there_are_told_wherever_the_dictionary_is_cut() {
        let (bytes, terms) = wide();
        let cuts: [&[u64]; 3] = [&[0, 2000], &[0, 20, 2000], &[0, 1030, 1031, 1045, 2000]];
        let absent: Vec<[u8; 2]> =
            (0..=255u8).flat_map(|byte| [[byte, 5], [0, byte]]).filter(|term| !terms.contains(term)).collect();
        let finds = |bytes: &[u8]| {
            let dictionary = TermDictionary::open(FileSlice::from(bytes.to_vec())).unwrap();
            absent.iter().any(|term| dictionary.term_ord(term).is_ok_and(|found| found.is_some()))
        };
        assert!(!finds(&bytes));
        let mut astray = 0;
        // Entries of bytes that no transition has.
        for at in (16..bytes.len() - 16).filter(|&at| bytes[at] == 0xff) {
            let mut bytes = bytes.clone();
            bytes[at] = 1;
            let lied = std::panic::catch_unwind(|| finds(&bytes)).unwrap_or(false);
            if lied {
                astray += 1;
                for cut in cuts {
                    assert!(!problems(&bytes, cut).is_empty(), "byte {at}, cut {cut:?}");
                }
            }
        }
        assert!(astray >= 300, "{astray}");
    }
}
