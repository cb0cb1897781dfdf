//! The two ways of the doc map, in one of two kinds: as ranks and places, or as pairs of numbers.

use std::ops::Range;
use std::sync::Arc;

use super::docmap::RowAddr;
use super::pairs::Pairs;
use super::ranks::Ranks;
use crate::huge::Entries;

/// Per document, segment after segment: output and new DocId.
#[derive(Debug)]
pub(super) enum Forward {
    Ranks(Ranks),
    Pairs(Pairs),
}

/// Per output, by new DocId: where the document is in the source.
#[derive(Debug)]
pub(super) enum Back {
    /// Places in blocks of [`Forward::Ranks`].
    Places(Vec<Entries<2>>),
    /// Segments and DocIds.
    Pairs(Vec<Pairs>),
}

impl Forward {
    /// Output and new DocId; `None` if the document goes nowhere.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<(u32, u32)> {
        match self {
            Forward::Ranks(ranks) => ranks.get(index),
            Forward::Pairs(pairs) => pairs.get(index),
        }
    }

    /// [`Forward::get`] of `docs` of those in `range`; an output of [`super::pairs::NOTHING`] for those that go nowhere. One
    /// tight loop, so that cache misses overlap.
    #[inline]
    pub(super) fn gather(&self, range: Range<usize>, docs: &[u32], found: &mut [(u32, u32)]) {
        match self {
            Forward::Ranks(ranks) => ranks.gather(range, docs, found),
            Forward::Pairs(pairs) => pairs.gather(range, docs, found),
        }
    }

    /// Says that [`Forward::gather`] will ask for these.
    #[inline]
    pub(super) fn prefetch(&self, range: Range<usize>, docs: &[u32]) {
        match self {
            Forward::Ranks(ranks) => ranks.prefetch(range, docs),
            Forward::Pairs(pairs) => pairs.prefetch(range, docs),
        }
    }

    /// The way back. `ranges`: where the documents of each segment stand; `lens`: documents by output.
    pub(super) fn back(&self, ranges: &[Range<usize>], lens: impl Iterator<Item = usize>) -> Back {
        let forward = match self {
            Forward::Ranks(ranks) => return Back::Places(ranks.places(lens)),
            Forward::Pairs(pairs) => pairs,
        };
        let rows = ranges.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
        let mut back: Vec<Pairs> = lens.map(|len| Pairs::filled(len, ranges.len(), rows)).collect();
        for (segment, range) in (0..).zip(ranges.iter().cloned()) {
            for (doc, index) in (0..).zip(range) {
                let Some((output, new_doc)) = forward.get(index) else { continue };
                if let Some(pairs) = back.get_mut(output as usize) {
                    pairs.set(new_doc as usize, segment, doc);
                }
            }
        }
        Back::Pairs(back)
    }
}

/// Documents of an output by ascending new DocId.
#[derive(Clone, Debug)]
pub struct Rows<'g> {
    forward: &'g Forward,
    /// Where the documents of each segment stand in `forward`.
    ranges: &'g [Range<usize>],
    back: Arc<Back>,
    output: usize,
    next: usize,
    len: usize,
    /// Of the next document or before: its block, how many documents the output has up to its end, and its segment.
    block: usize,
    through: usize,
    segment: usize,
}

impl<'g> Rows<'g> {
    pub(super) fn new(
        (forward, ranges, back): (&'g Forward, &'g [Range<usize>], Arc<Back>),
        output: usize,
        len: usize,
    ) -> Rows<'g> {
        let mut rows = Rows { forward, ranges, back, output, next: 0, len, block: 0, through: 0, segment: 0 };
        rows.through = rows.before(1);
        rows
    }

    fn before(&self, block: usize) -> usize {
        match self.forward {
            Forward::Ranks(ranks) => ranks.before(block, self.output),
            Forward::Pairs(_) => usize::MAX,
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = RowAddr;

    #[inline]
    fn next(&mut self) -> Option<RowAddr> {
        if self.next >= self.len {
            return None;
        }
        let row = match (&*self.back, self.forward) {
            (Back::Places(places), Forward::Ranks(ranks)) => {
                while self.next >= self.through {
                    self.block += 1;
                    self.through = ranks.before(self.block + 1, self.output);
                }
                let place = *places.get(self.output)?.as_slice().get(self.next)?;
                let index = ranks.index(self.block, place);
                let mut range = self.ranges.get(self.segment)?;
                while index >= range.end {
                    self.segment += 1;
                    range = self.ranges.get(self.segment)?;
                }
                RowAddr { segment: self.segment, doc: u32::try_from(index - range.start).ok()? }
            }
            (Back::Pairs(pairs), _) => {
                let (segment, doc) = pairs.get(self.output)?.get(self.next)?;
                RowAddr { segment: segment as usize, doc }
            }
            (Back::Places(_), Forward::Pairs(_)) => return None,
        };
        self.next += 1;
        Some(row)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len - self.next, Some(self.len - self.next))
    }
}

impl ExactSizeIterator for Rows<'_> {}

#[cfg(test)]
mod tests {
    use super::super::pairs::NOTHING;
    use super::*;

    /// Targets of `len` documents over `outputs`, some of which go nowhere. With `most`, an output is left for the next one
    /// when it has so many.
    fn deal(len: usize, outputs: u32, most: u32) -> (Vec<Option<(u32, u32)>>, Vec<usize>) {
        let mut counts = vec![0u32; outputs as usize];
        let mut targets = Vec::new();
        for number in 0..len as u64 {
            let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let mut output = (mixed % u64::from(outputs)) as u32;
            while counts[output as usize] == most {
                output = (output + 1) % outputs;
            }
            // A block and more that goes nowhere, one that goes to the last output whole, and single gaps.
            let whole = (90_000..150_000).contains(&number);
            let nowhere = !whole && mixed % 7 == 0 || (40_000..75_000).contains(&number);
            if whole {
                output = outputs - 1;
            }
            let count = &mut counts[output as usize];
            targets.push((!nowhere).then_some((output, *count)));
            *count += u32::from(!nowhere);
        }
        (targets, counts.into_iter().map(|count| count as usize).collect())
    }

    fn ranges(len: usize) -> Vec<Range<usize>> {
        let cuts = [0, 0, len / 5, len / 3, len / 3, len - len / 9, len];
        cuts.windows(2).map(|pair| pair[0]..pair[1]).collect()
    }

    #[test]
    fn both_kinds_say_where_documents_go_and_where_they_came_from() {
        for (len, outputs, most) in [
            (0, 1, 9),
            (1, 1, 9),
            (200_000, 1, u32::MAX),
            (200_000, 2, u32::MAX),
            (150_000, 127, u32::MAX),
            (70_000, 16, 6_000),
        ] {
            let (targets, lens) = deal(len, outputs, most);
            let ranges = ranges(len);
            let ranks = Ranks::of(len, outputs as usize, targets.iter().copied()).unwrap();
            let mut pairs = Pairs::filled(len, outputs as usize, len);
            let set = targets.iter().enumerate().filter_map(|(index, target)| Some((index, (*target)?)));
            set.for_each(|(index, (output, doc))| pairs.set(index, output, doc));
            for forward in [Forward::Ranks(ranks), Forward::Pairs(pairs)] {
                assert!((0..len).map(|index| forward.get(index)).eq(targets.iter().copied()), "{len} {outputs}");
                assert_eq!(forward.get(len), None);

                let back = Arc::new(forward.back(&ranges, lens.iter().copied()));
                let mut expected = vec![Vec::new(); lens.len()];
                for (segment, range) in ranges.iter().enumerate() {
                    for (doc, target) in (0..).zip(&targets[range.clone()]) {
                        target.iter().for_each(|&(output, _)| expected[output as usize].push(RowAddr { segment, doc }));
                    }
                    let docs: Vec<u32> = (0..range.len() as u32 + 2).step_by(3).collect();
                    let mut found = vec![(1, 1); docs.len()];
                    forward.prefetch(range.clone(), &docs);
                    forward.gather(range.clone(), &docs, &mut found);
                    let of_range = |doc: u32| targets[range.clone()].get(doc as usize).copied().flatten();
                    for (&doc, found) in docs.iter().zip(found) {
                        // Beyond the range there is nothing, whatever stands there.
                        assert_eq!(
                            Some(found).filter(|(output, _)| *output != NOTHING),
                            of_range(doc),
                            "{doc} of {range:?}"
                        );
                    }
                }
                for (output, expected) in expected.iter().enumerate() {
                    let rows = Rows::new((&forward, &ranges, Arc::clone(&back)), output, lens[output]);
                    assert_eq!(rows.len(), expected.len());
                    assert!(rows.eq(expected.iter().copied()), "{len} {outputs}: output {output}");
                }
                assert_eq!(Rows::new((&forward, &ranges, back), lens.len(), 0).next(), None);
            }
        }
    }

    #[test]
    fn with_more_outputs_than_blocks_are_worth_there_are_no_ranks() {
        let targets = || (0..300u32).map(|doc| Some((doc % 128, doc / 128)));
        assert!(Ranks::of(300, 128, targets()).is_none());
    }
}
