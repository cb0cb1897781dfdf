//! Matching documents of both sides by all they consist of.

use crate::verify::content::sums::SegmentSums;
use crate::verify::content::unit::View;

/// The child of a document when routing is not known.
pub(super) const NOWHERE: usize = usize::MAX;

/// A live document of one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    /// Of all its content.
    pub(super) hash: u64,
    /// Position of the child it belongs to (source) or stands in (child); [`NOWHERE`] without routing.
    pub(super) at: usize,
    /// Index of its view.
    pub(super) view: u32,
    /// DocId.
    pub(super) doc: u32,
}

/// Live documents in order, as far as `at` gives them a child.
pub(super) fn entries(
    views: &[View<'_>],
    sums: &[SegmentSums],
    at: impl Fn(usize, u32) -> Option<usize>,
) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (number, (view, sums)) in (0u32..).zip(views.iter().zip(sums)) {
        sums.for_each(|doc, sum| {
            if view.segment.is_alive(doc)
                && let Some(at) = at(number as usize, doc)
            {
                entries.push(Entry { hash: sum.mix().short(), at, view: number, doc });
            }
        });
    }
    entries
}

/// What matching leaves over.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Matched {
    /// In the source, in no child.
    pub(super) lost: Vec<Entry>,
    /// In a child, not in the source.
    pub(super) foreign: Vec<Entry>,
    /// In the source, and in a child once more than there.
    pub(super) doubled: Vec<(Entry, Entry)>,
    /// In another child than they belong to.
    pub(super) misplaced: Vec<(Entry, Entry)>,
}

/// Matches documents of equal content: within the child they belong to, then across children.
pub(super) fn run(wanted: &[Entry], present: &[Entry]) -> Matched {
    let (mut wanted, mut present) = (wanted.to_vec(), present.to_vec());
    wanted.sort_unstable();
    present.sort_unstable();
    let mut matched = Matched::default();
    let (mut wanted, mut present) = (wanted.as_slice(), present.as_slice());
    while let Some(hash) = [wanted.first(), present.first()].into_iter().flatten().map(|entry| entry.hash).min() {
        let (ours, rest) = wanted.split_at(wanted.partition_point(|entry| entry.hash <= hash));
        wanted = rest;
        let (theirs, rest) = present.split_at(present.partition_point(|entry| entry.hash <= hash));
        present = rest;
        group(ours, theirs, &mut matched);
    }
    // Back into the order in which documents stand.
    let place = |entry: &Entry| (entry.at, entry.view, entry.doc);
    matched.lost.sort_unstable_by_key(place);
    matched.foreign.sort_unstable_by_key(place);
    matched.doubled.sort_unstable_by_key(|(_, entry)| place(entry));
    matched.misplaced.sort_unstable_by_key(|(_, entry)| place(entry));
    matched
}

/// One group of documents with equal content, sorted by child.
fn group(ours: &[Entry], theirs: &[Entry], matched: &mut Matched) {
    if let ([our], [their]) = (ours, theirs)
        && our.at == their.at
    {
        return;
    }
    let (mut left, mut over): (Vec<&Entry>, Vec<&Entry>) = (Vec::new(), Vec::new());
    let (mut our, mut their) = (ours.iter().peekable(), theirs.iter().peekable());
    loop {
        match (our.peek(), their.peek()) {
            (Some(a), Some(b)) if a.at == b.at => {
                our.next();
                their.next();
            }
            (Some(a), Some(b)) if a.at < b.at => left.extend(our.next()),
            (Some(_), None) => left.extend(our.next()),
            (_, Some(_)) => over.extend(their.next()),
            (None, None) => break,
        }
    }
    let pairs = left.len().min(over.len());
    matched.misplaced.extend(left.iter().zip(&over).map(|(a, b)| (**a, **b)));
    matched.lost.extend(left.iter().skip(pairs).map(|entry| **entry));
    for &&entry in over.iter().skip(pairs) {
        match ours.first() {
            Some(original) => matched.doubled.push((*original, entry)),
            None => matched.foreign.push(entry),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(entries: &[(u64, usize)]) -> Vec<Entry> {
        (0u32..).zip(entries).map(|(doc, &(hash, at))| Entry { hash, at, view: 0, doc }).collect()
    }

    fn docs(entries: &[Entry]) -> Vec<u32> {
        entries.iter().map(|entry| entry.doc).collect()
    }

    #[test]
    fn equal_sets_leave_nothing_over_in_whatever_order() {
        let matched = run(&side(&[(7, 0), (5, 1), (7, 0)]), &side(&[(7, 0), (7, 0), (5, 1)]));
        assert_eq!(matched, Matched::default());
    }

    #[test]
    fn what_is_lost_doubled_foreign_or_misplaced_is_told_apart() {
        let wanted = side(&[(1, 0), (2, 0), (3, 1), (4, 1), (5, 1)]);
        let present = side(&[(1, 0), (1, 0), (3, 0), (4, 1), (9, 1)]);
        let matched = run(&wanted, &present);
        assert_eq!(docs(&matched.lost), [1, 4]);
        assert_eq!(docs(&matched.foreign), [4]);
        assert_eq!(matched.doubled.iter().map(|(a, b)| (a.doc, b.doc)).collect::<Vec<_>>(), [(0, 1)]);
        assert_eq!(matched.misplaced.iter().map(|(a, b)| (a.doc, b.doc)).collect::<Vec<_>>(), [(2, 2)]);
    }

    #[test]
    fn one_of_two_equal_documents_can_be_lost() {
        let matched = run(&side(&[(1, 0), (1, 0)]), &side(&[(1, 0)]));
        assert_eq!(matched.lost.len(), 1);
        assert!(matched.doubled.is_empty() && matched.foreign.is_empty());
    }
}
