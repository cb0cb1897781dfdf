//! Where the values of an output stand, a batch at a time: one call of a column's codec serves many of them.

use super::rows::Entry;

/// Where values stand, a batch at a time.
pub(super) struct Positions<E> {
    entries: E,
    /// The entry that did not belong to the batch before.
    pending: Option<Entry>,
    batch: Vec<u32>,
}

/// Values that a batch has, those of its last row apart.
const BATCH: usize = 1_024;

impl<E: Iterator<Item = Entry>> Positions<E> {
    pub(super) fn of(entries: E) -> Positions<E> {
        Positions { entries, pending: None, batch: Vec::new() }
    }

    /// The next batch: a segment, and positions in its column.
    #[inline]
    pub(super) fn next(&mut self) -> Option<(usize, &[u32])> {
        let first = self.pending.take().or_else(|| self.entries.next())?;
        self.batch.clear();
        self.batch.extend(first.values());
        while self.batch.len() < BATCH {
            match self.entries.next() {
                Some(entry) if entry.segment == first.segment => self.batch.extend(entry.values()),
                other => {
                    self.pending = other;
                    break;
                }
            }
        }
        Some((first.segment as usize, &self.batch))
    }

    /// The values at these positions. `read`: appends those of one batch.
    pub(super) fn read(self, read: impl FnMut(usize, &[u32], &mut Vec<u64>)) -> impl Iterator<Item = u64> {
        Values { positions: self, read, batch: Vec::new(), given: 0 }
    }
}

/// Values, read a batch at a time.
struct Values<E, F> {
    positions: Positions<E>,
    read: F,
    batch: Vec<u64>,
    given: usize,
}

impl<E: Iterator<Item = Entry>, F: FnMut(usize, &[u32], &mut Vec<u64>)> Iterator for Values<E, F> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        loop {
            if let Some(value) = self.batch.get(self.given) {
                self.given += 1;
                return Some(*value);
            }
            let (segment, positions) = self.positions.next()?;
            self.given = 0;
            self.batch.clear();
            (self.read)(segment, positions, &mut self.batch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_have_every_position_once_in_order_and_never_of_two_segments() {
        // Rows with one value, with a few, and with more than a batch; segments that change often, and seldom.
        let lens = [1u32, 1, 1, 3, 1, 700, 1, 2_500, 1, 1];
        for every in [1usize, 2, 700, 5_000] {
            let mut next = [0u32; 3];
            let entries: Vec<Entry> = (0..4_000usize)
                .map(|row| {
                    let segment = row / every % next.len();
                    let (start, len) = (next[segment], lens[row % lens.len()]);
                    next[segment] += len;
                    Entry { doc: row as u32, segment: segment as u32, start, end: start + len }
                })
                .collect();
            let expected: Vec<(usize, u32)> = entries
                .iter()
                .flat_map(|entry| entry.values().map(|position| (entry.segment as usize, position)))
                .collect();

            let (mut positions, mut found) = (Positions::of(entries.iter().copied()), Vec::new());
            while let Some((segment, batch)) = positions.next() {
                assert!(!batch.is_empty() && batch.len() < BATCH + 2_500);
                found.extend(batch.iter().map(|&position| (segment, position)));
            }
            assert!(found == expected, "{every}");

            let word = |segment: usize, position: u32| (segment as u64) << 32 | u64::from(position);
            let values = Positions::of(entries.iter().copied()).read(|segment, positions, batch| {
                // What has no values gives none.
                if segment != 1 {
                    batch.extend(positions.iter().map(|&position| word(segment, position)));
                }
            });
            let expected = expected.iter().filter(|(segment, _)| *segment != 1);
            assert!(values.eq(expected.map(|&(segment, position)| word(segment, position))), "{every}");
        }
    }
}
