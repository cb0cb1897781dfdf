//! The table that finds the columns of a `.fast` file: from `name ‖ 0x00 ‖ type code` to the bytes of the column.
//!
//! A sorted string table (see [`super::table`]) whose values are, per block, a number n, the first byte of the first
//! column, and n - 1 lengths. tantivy reads as many values as n says, beyond the end of the block if need be. So all of
//! the table is read here, before tantivy opens it.

use super::table::{Table, each_block, each_key, number};
use crate::source::bytes::Bytes;

/// The greatest type code: dates.
const LAST_TYPE: u8 = 7;

/// Checks `table`, which finds columns in `columns` bytes.
pub(in crate::source) fn check_names(table: &[u8], columns: u64) -> Result<(), String> {
    let table = Table::open(table)?;
    let named = table.index_blocks()?;
    let mut blocks = Vec::new();
    let mut terms = 0u64;
    let (mut key, mut buffer, mut previous) = (Vec::new(), Vec::new(), Vec::new());
    each_block(table.blocks, |block| {
        let mut bytes = Bytes::new(block.read(&mut buffer)?);
        let ranges = read_ranges(&mut bytes, columns)
            .ok_or_else(|| format!("a block at byte {} with columns beyond byte {columns}", block.range.start))?;
        let keys = each_key(bytes, &mut key, |key| {
            // What streams the table does not look at the separator nor at the order; what looks a column up does.
            if !matches!(key, [.., 0, code] if *code <= LAST_TYPE) || key <= previous.as_slice() {
                return Err(format!(
                    "the name {:?} behind {:?}",
                    key.escape_ascii().to_string(),
                    previous.escape_ascii().to_string()
                ));
            }
            previous.clear();
            previous.extend_from_slice(key);
            Ok(())
        })?;
        if keys != ranges {
            return Err(format!("a block at byte {} with {keys} names for {ranges} columns", block.range.start));
        }
        let range = block.range.start as u64..block.range.end as u64;
        blocks.push((range, terms));
        terms += keys;
        Ok(())
    })
    .map_err(|problem| format!("has {problem}"))?;
    if terms != table.num_terms {
        return Err(format!("has {terms} names, it claims {}", table.num_terms));
    }
    if named.is_empty() || named == blocks {
        return Ok(());
    }
    Err("has an index that names other blocks than there are".to_owned())
}

/// How many columns the values of a block name; `None` where they end early or beyond the columns.
fn read_ranges(bytes: &mut Bytes<'_>, columns: u64) -> Option<u64> {
    let count = number(bytes)?;
    let mut end = 0u64;
    // Each takes a byte or more, so a false count runs out of bytes.
    for _ in 0..count {
        end = end.checked_add(number(bytes)?).filter(|end| *end <= columns)?;
    }
    Some(count.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::claims::table::tests::{block, numbers, seal};
    use tantivy_sstable::{RangeSSTable, SSTable};

    /// A table of `columns` columns of ten bytes each, as tantivy writes it.
    fn table(columns: u64) -> Vec<u8> {
        let mut writer = RangeSSTable::writer(Vec::new());
        for column in 0..columns {
            writer.insert(format!("json\u{1}path{column:08}\0\u{1}"), &(column * 10..column * 10 + 10)).unwrap();
        }
        writer.finish().unwrap()
    }

    #[test]
    fn tables_of_any_number_of_columns_pass_as_tantivy_writes_them() {
        for columns in [0, 1, 2, 300, 5_000] {
            assert_eq!(check_names(&table(columns), columns * 10), Ok(()), "{columns}");
            if columns > 0 {
                let problem = check_names(&table(columns), columns * 10 - 1).unwrap_err();
                assert!(problem.contains("beyond byte"), "{columns}: {problem}");
            }
        }
    }

    #[test]
    fn a_block_that_counts_more_columns_than_it_names_is_refused() {
        // Two columns: three values, two keys.
        let two = |count: u64| block(&[&numbers(&[count, 0, 10, 10])[..], b"\x30a\0\x01\x30b\0\x01"].concat());
        let check = |count| check_names(&seal(&two(count), &[0; 8], 2, 3), 20);
        assert_eq!(check(3), Ok(()));
        for count in [0, 1, 2, 4, 5, 1 << 40, u64::MAX] {
            assert!(check(count).is_err(), "{count}");
        }
        assert!(check_names(&seal(&two(3), &[0; 8], 3, 3), 20).unwrap_err().contains("2 names, it claims 3"));
    }

    #[test]
    fn names_that_no_look_up_would_find_are_refused() {
        let check = |keys: &[u8], columns: u64| {
            let values: Vec<u64> = std::iter::once(columns + 1).chain((0..=columns).map(|at| at.min(1) * 10)).collect();
            let blocks = block(&[&numbers(&values)[..], keys].concat());
            check_names(&seal(&blocks, &[0; 8], columns, 3), 1_000)
        };
        assert_eq!(check(b"\x30a\0\x01\x30b\0\x07", 2), Ok(()));
        for keys in [&b"\x30a\x01\x01"[..], b"\x30a\0\x08", b"\x10a", b"\x20\0a"] {
            assert!(check(keys, 1).unwrap_err().contains("the name"), "{keys:?}");
        }
        for keys in [b"\x30b\0\x01\x30a\0\x01", b"\x30a\0\x01\x30a\0\x01"] {
            assert!(check(keys, 2).unwrap_err().contains("behind"), "{keys:?}");
        }
    }

    #[test]
    fn an_index_of_version_2_must_name_the_blocks() {
        let blocks = block(&[&numbers(&[2, 0, 10])[..], b"\x30a\0\x01"].concat());
        let index = |len: u64| block(&[&numbers(&[1, 0, len, 0])[..], &[0x10, b'b']].concat());
        let check = |len| check_names(&seal(&blocks, &index(len), 1, 2), 10);
        assert_eq!(check(blocks.len() as u64), Ok(()));
        assert!(check(blocks.len() as u64 - 1).unwrap_err().contains("other blocks"));
    }

    #[test]
    fn a_table_cut_or_flipped_anywhere_is_an_error_or_still_sound() {
        let whole = table(400);
        for len in 0..whole.len() {
            assert!(check_names(&whole[..len], 4_000).is_err(), "{len}");
        }
        for at in 0..whole.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] ^= flip;
                let _ = check_names(&damaged, 4_000);
            }
        }
    }
}
