//! Pairing documents that were altered with what they were.
//!
//! First by stored bytes, then by everything but stored bytes, then, with less right, by order within a child. A pair is
//! made only where as many documents are left on one side as on the other; what finds no partner is lost, or foreign.

use std::collections::BTreeMap;

use super::Case;
use super::matching::Entry;
use crate::error::Result;
use crate::verify::content::digest::Sum;
use crate::verify::content::sums::SegmentSums;
use crate::verify::content::unit::{Detail, Part};

/// What pairing gives.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// A document of the source and what became of it.
    pub(super) altered: Vec<(Entry, Entry)>,
    /// Pairs that only their place suggests.
    pub(super) guessed: Vec<(Entry, Entry)>,
    /// Documents of the source without a partner.
    pub(super) lost: Vec<Entry>,
    /// Documents of children without a partner.
    pub(super) foreign: Vec<Entry>,
}

/// Sums of both sides.
type Both<'a> = (&'a [SegmentSums], &'a [SegmentSums]);

/// Pairs `lost` with `foreign`. `whole`: sums over everything.
pub(super) fn run(case: &Case<'_>, whole: Both<'_>, lost: Vec<Entry>, foreign: Vec<Entry>) -> Result<Pairs> {
    let mut pairs = Pairs { lost, foreign, ..Pairs::default() };
    if pairs.lost.is_empty() || pairs.foreign.is_empty() {
        return Ok(pairs);
    }
    let source_store = case.source.read(Some(&Part::Store), Detail::Positions, case.reading)?;
    let found_store = case.found.read(Some(&Part::Store), Detail::Positions, case.reading)?;
    let store = (source_store.as_slice(), found_store.as_slice());
    pairs.round(|entry| sums(store.0, entry), |entry| sums(store.1, entry));
    let rest = |whole: &[SegmentSums], store: &[SegmentSums], entry: Entry| {
        let mut rest = sums(whole, entry);
        rest.subtract(sums(store, entry));
        rest
    };
    pairs.round(|entry| rest(whole.0, store.0, entry), |entry| rest(whole.1, store.1, entry));
    let paired = pairs.altered.len();
    pairs.round(|_| Sum::default(), |_| Sum::default());
    pairs.guessed = pairs.altered.split_off(paired);
    pairs.altered.sort_unstable_by_key(|(_, entry)| (entry.at, entry.view, entry.doc));
    Ok(pairs)
}

fn sums(side: &[SegmentSums], entry: Entry) -> Sum {
    side.get(entry.view as usize).map_or_else(Sum::default, |sums| sums.get(entry.doc))
}

impl Pairs {
    /// Pairs documents of one child whose keys are equal, in order, where there are as many on either side.
    fn round(&mut self, key_of_lost: impl Fn(Entry) -> Sum, key_of_foreign: impl Fn(Entry) -> Sum) {
        let mut groups: BTreeMap<(usize, Sum), (Vec<Entry>, Vec<Entry>)> = BTreeMap::new();
        for entry in self.lost.drain(..) {
            groups.entry((entry.at, key_of_lost(entry))).or_default().0.push(entry);
        }
        for entry in self.foreign.drain(..) {
            groups.entry((entry.at, key_of_foreign(entry))).or_default().1.push(entry);
        }
        for (lost, foreign) in groups.into_values() {
            if lost.len() == foreign.len() {
                self.altered.extend(lost.into_iter().zip(foreign));
            } else {
                self.lost.extend(lost);
                self.foreign.extend(foreign);
            }
        }
        let place = |entry: &Entry| (entry.at, entry.view, entry.doc);
        self.lost.sort_unstable_by_key(place);
        self.foreign.sort_unstable_by_key(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::content::digest::{Seed, Tag};

    #[test]
    fn a_key_pairs_only_where_both_sides_have_as_many() {
        let key = |entry: Entry| Seed::new(Tag::Stored, 0, &[u8::try_from(entry.hash).unwrap()]).alone();
        let entry = |hash, doc| Entry { hash, at: 0, view: 0, doc };
        let mut pairs = Pairs {
            lost: vec![entry(1, 0), entry(2, 1), entry(2, 2), entry(3, 3)],
            foreign: vec![entry(2, 5), entry(1, 6), entry(4, 7)],
            ..Pairs::default()
        };
        pairs.round(key, key);
        assert_eq!(pairs.altered, [(entry(1, 0), entry(1, 6))]);
        assert_eq!(pairs.lost, [entry(2, 1), entry(2, 2), entry(3, 3)]);
        assert_eq!(pairs.foreign, [entry(2, 5), entry(4, 7)]);
    }
}
