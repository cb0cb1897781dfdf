//! The column index: which rows have how many values.
//!
//! Format (tantivy-columnar 0.27, `src/column_index`, version 2). A byte says the cardinality; *full* (0), one value in
//! every row, ends there. *Optional* (1) goes on with the set of rows that have a value; *multivalued* (2) with that
//! set, the start offsets of these rows' values plus the end of the last as 64-bit words, and the length of the set as
//! u32 LE.
//!
//! The set: VInt number of rows; per block of 65,536 rows that is not empty its members, as u16 LE each or, from 5,120
//! on, as 1,024 pairs of a 64-bit mask and the u16 LE number of members before it; then (u16 LE block, u16 LE members
//! minus one) per such block, and their number as u16 LE.
//!
//! Cost: one pass over the rows for the set, two more for offsets. Memory: one block, 8 KiB.

use std::io::{self, Write};

use tantivy::columnar::Cardinality;

use super::super::file::{FileWriter, write_vint};
use super::rows::Rows;
use super::survey::Survey;
use super::values;
use crate::error::{Error, Result};
use crate::progress::Cancel;

const BLOCK_ROWS: u32 = 1 << 16;
const WORDS_PER_BLOCK: usize = 1 << 10;
/// From here on a mask takes less room than a list.
const DENSE_FROM: u32 = 5_120;

/// Writes the index of an output's column; returns its length.
pub(super) fn write(
    rows: &Rows<'_>,
    output: usize,
    survey: &Survey,
    num_docs: u32,
    cancel: &Cancel,
    name: &str,
    file: &mut FileWriter,
) -> Result<u64> {
    let start = file.len();
    let cardinality = survey.cardinality(num_docs);
    file.write_all(&[cardinality as u8]).map_err(Error::io("write", name))?;
    if cardinality != Cardinality::Full {
        let set_start = file.len();
        write_set(rows.entries(output).map(|entry| entry.doc), num_docs, file).map_err(Error::io("write", name))?;
        let set_len =
            u32::try_from(file.len() - set_start).map_err(|error| Error::io("write", name)(io::Error::other(error)))?;
        if cardinality == Cardinality::Multivalued {
            let offsets = || {
                let ends = rows.entries(output).scan(0u64, |end, entry| {
                    *end += u64::from(entry.end - entry.start);
                    Some(*end)
                });
                std::iter::once(0).chain(ends)
            };
            values::write(offsets, &values::OFFSETS, cancel, name, file)?;
            file.write_all(&set_len.to_le_bytes()).map_err(Error::io("write", name))?;
        }
    }
    Ok(file.len() - start)
}

/// Writes a set of rows, given in ascending order.
fn write_set(mut members: impl Iterator<Item = u32>, num_rows: u32, out: &mut impl Write) -> io::Result<()> {
    let mut head = Vec::new();
    write_vint(u64::from(num_rows), &mut head);
    out.write_all(&head)?;

    let mut directory = Vec::new();
    let mut block = Block::new();
    let mut current = 0;
    members.try_for_each(|row| {
        let number = row / BLOCK_ROWS;
        if number != current {
            block.flush(current, &mut directory, out)?;
            current = number;
        }
        block.insert(row % BLOCK_ROWS);
        Ok::<_, io::Error>(())
    })?;
    block.flush(current, &mut directory, out)?;

    let blocks = u16::try_from(directory.len() / 4).map_err(io::Error::other)?;
    out.write_all(&directory)?;
    out.write_all(&blocks.to_le_bytes())
}

/// Members of one block of rows.
struct Block {
    words: Vec<u64>,
    members: u32,
}

impl Block {
    fn new() -> Block {
        Block { words: vec![0; WORDS_PER_BLOCK], members: 0 }
    }

    fn insert(&mut self, row: u32) {
        if let Some(word) = self.words.get_mut(row as usize / 64) {
            let bit = 1 << (row % 64);
            self.members += u32::from(*word & bit == 0);
            *word |= bit;
        }
    }

    /// Writes and empties the block; an empty block leaves no trace.
    fn flush(&mut self, number: u32, directory: &mut Vec<u8>, out: &mut impl Write) -> io::Result<()> {
        let Some(last) = self.members.checked_sub(1) else { return Ok(()) };
        let mut bytes = Vec::new();
        if self.members < DENSE_FROM {
            bytes.reserve(self.members as usize * 2);
            for (first, word) in (0u32..).step_by(64).zip(&self.words) {
                let mut left = *word;
                while left != 0 {
                    let row = u16::try_from(first | left.trailing_zeros()).map_err(io::Error::other)?;
                    bytes.extend_from_slice(&row.to_le_bytes());
                    left &= left - 1;
                }
            }
        } else {
            bytes.reserve(WORDS_PER_BLOCK * 10);
            let mut before = 0u32;
            for word in &self.words {
                bytes.extend_from_slice(&word.to_le_bytes());
                // Never more than 65,472: the last word's own members do not count.
                bytes.extend_from_slice(&u16::try_from(before).unwrap_or(u16::MAX).to_le_bytes());
                before += word.count_ones();
            }
        }
        out.write_all(&bytes)?;
        let number = u16::try_from(number).map_err(io::Error::other)?;
        let last = u16::try_from(last).map_err(io::Error::other)?;
        directory.extend_from_slice(&number.to_le_bytes());
        directory.extend_from_slice(&last.to_le_bytes());
        self.words.fill(0);
        self.members = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tantivy::columnar::column_index::{SerializableColumnIndex, SerializableOptionalIndex, serialize_column_index};

    use super::*;

    fn ours(members: &[u32], num_rows: u32) -> Vec<u8> {
        let mut out = Vec::new();
        write_set(members.iter().copied(), num_rows, &mut out).unwrap();
        out
    }

    fn theirs(members: &[u32], num_rows: u32) -> Vec<u8> {
        let mut out = Vec::new();
        let set = SerializableOptionalIndex { non_null_row_ids: Box::new(members), num_rows };
        serialize_column_index(SerializableColumnIndex::Optional(set), &mut out).unwrap();
        out.split_off(1)
    }

    #[test]
    fn sets_of_rows_are_written_as_tantivy_writes_them() {
        let sets: [(Vec<u32>, u32); 9] = [
            (vec![], 0),
            (vec![], 200_000),
            (vec![0], 1),
            (vec![199_999], 200_000),
            ((0..5_119).collect(), 65_536),
            ((0..5_120).collect(), 65_536),
            ((0..65_536).collect(), 65_537),
            ((0..131_073).collect(), 131_074),
            ((0..70_000).step_by(3).chain([131_071, 131_072, 300_000]).collect(), 300_001),
        ];
        for (members, num_rows) in &sets {
            assert!(ours(members, *num_rows) == theirs(members, *num_rows), "{} of {num_rows}", members.len());
        }
    }

    proptest! {
        #[test]
        fn any_set_of_rows_is_written_as_tantivy_writes_it(gaps in prop::collection::vec(1u32..9_000, 0..400)) {
            let members: Vec<u32> =
                gaps.iter().scan(0, |row, gap| { *row += gap; Some(*row) }).collect();
            let num_rows = members.last().map_or(0, |last| last + 1);
            prop_assert_eq!(ours(&members, num_rows), theirs(&members, num_rows));
        }
    }
}
