//! Tables as tantivy writes them, and made by hand so that they lie.

use super::*;
use tantivy_sstable::SSTable;

fn table(terms: u32) -> Vec<u8> {
    let mut writer = VoidSSTable::writer(Vec::new());
    for term in 0..terms {
        writer.insert(format!("some term that repeats itself {term:08}"), &()).unwrap();
    }
    writer.finish().unwrap()
}

/// Numbers as a table has them.
pub(in crate::source::claims) fn numbers(numbers: &[u64]) -> Vec<u8> {
    let mut out = Vec::new();
    for &number in numbers {
        let mut rest = number;
        while rest >= 0x80 {
            out.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
            rest >>= 7;
        }
        out.push(u8::try_from(rest).unwrap());
    }
    out
}

/// A block that is not compressed.
pub(in crate::source::claims) fn block(data: &[u8]) -> Vec<u8> {
    let len = u32::try_from(data.len() + 1).unwrap();
    [&len.to_le_bytes()[..], &[0], data].concat()
}

/// A table of these blocks, with an index of `version`.
pub(in crate::source::claims) fn seal(blocks: &[u8], index: &[u8], num_terms: u64, version: u32) -> Vec<u8> {
    let offset = blocks.len() as u64;
    [blocks, index, &offset.to_le_bytes(), &num_terms.to_le_bytes(), &version.to_le_bytes()].concat()
}

#[test]
fn all_blocks_and_keys_of_tables_of_any_size_are_read_as_written() {
    for terms in [0, 1, 2, 100, 20_000] {
        let bytes = table(terms);
        let table = Table::open(&bytes).unwrap();
        assert_eq!(table.num_terms, u64::from(terms));
        let (mut seen, mut key, mut buffer, mut blocks) = (0u32, Vec::new(), Vec::new(), 0);
        each_block(table.blocks, |block| {
            blocks += 1;
            let data = Bytes::new(block.read(&mut buffer)?);
            each_key(data, &mut key, |key| {
                assert_eq!(key, format!("some term that repeats itself {seen:08}").as_bytes());
                seen += 1;
                Ok(())
            })
            .map(|_| ())
        })
        .unwrap();
        assert_eq!(seen, terms);
        assert!(blocks > 1 || terms < 20_000);
    }
}

#[test]
fn a_compressed_block_that_claims_more_than_it_holds_is_named_by_its_place() {
    let bytes = table(20_000);
    let blocks = Table::open(&bytes).unwrap().blocks;
    let len = u32::from_le_bytes(*blocks.first_chunk().unwrap()) as usize;
    // The first block's frame: its content size of two bytes becomes one of eight.
    let frame = &blocks[5..4 + len];
    assert_eq!((blocks[4], frame[4]), (1, 0x60));
    let lie = [&frame[..4], &[0xe0], &(1u64 << 40).to_le_bytes(), &frame[7..]].concat();
    let header = u32::try_from(lie.len() + 1).unwrap().to_le_bytes();
    let damaged = [&header[..], &[1], &lie, &blocks[4 + len..]].concat();
    let problem = each_block(&damaged, |_| Ok(())).unwrap_err();
    assert!(problem.contains("a block at byte 0 that of") && problem.contains("1099511627776"), "{problem}");
    assert!(each_block(&blocks[..len], |_| Ok(())).unwrap_err().contains("cut off"));
}

/// An index of version 2 for two blocks of ten and twenty bytes, seven terms in the first.
fn index(count: u64) -> Vec<u8> {
    block(&[&numbers(&[count, 0, 10, 0, 20, 7])[..], &[0x10, b'm', 0x10, b'z']].concat())
}

#[test]
fn an_index_of_version_2_gives_its_blocks_and_believes_no_count() {
    let read = |index: &[u8]| Table::open(&seal(&[], index, 0, 2)).unwrap().index_blocks();
    assert_eq!(read(&index(2)), Ok(vec![(0..10, 0), (10..30, 7)]));
    for count in [0, 1, 3, 1 << 40] {
        assert!(read(&index(count)).is_err(), "{count}");
    }
    // A key that shares a terabyte with the one before.
    let key = [&[1][..], &numbers(&[1 << 40, 1]), b"a"].concat();
    let long = block(&[&numbers(&[1, 0, 10, 0])[..], &key].concat());
    assert!(read(&long).unwrap_err().contains("longer than its bytes"));
    // Of version 3, nothing is believed that could cost memory.
    assert_eq!(Table::open(&seal(&[], &long, 0, 3)).unwrap().index_blocks(), Ok(vec![]));
}

#[test]
fn numbers_that_do_not_end_or_do_not_fit_are_none() {
    for value in [0, 127, 128, 1 << 40, u64::MAX] {
        let bytes = numbers(&[value]);
        assert_eq!(number(&mut Bytes::new(&bytes)), Some(value));
        assert_eq!(number(&mut Bytes::new(&bytes[..bytes.len() - 1])), None);
    }
    assert_eq!(number(&mut Bytes::new(&[0xff; 12])), None);
    assert_eq!(number(&mut Bytes::new(&[&[0xff; 9][..], &[2]].concat())), None);
}
