//! Sorted string tables, in which columns keep their distinct strings.
//!
//! A table is `blocks ‖ index ‖ u64 LE offset of the index ‖ u64 LE terms ‖ u32 LE version`. A block is `u32 LE length ‖ u8 flag
//! ‖ data`, the flag counted, 1 for a zstd frame; one of length 0 or 1 ends the blocks. Uncompressed data is values, then
//! keys: how many bytes the key shares with the one before, how many follow, and these. The two numbers are four bits
//! each in one byte, or a byte 1 and two numbers of seven bits a byte, low ones first, the top bit set on all but the
//! last byte. The index of version 2 (tantivy 0.20 to 0.22) is itself blocks of such a table; that of version 3 claims
//! nothing. Facts from tantivy-sstable 0.27.

use std::ops::Range;
use std::path::Path;

use tantivy_sstable::{Dictionary, VoidSSTable};

use super::frame;
use crate::error::{Error, Result};
use crate::source::bytes::{Bytes, tail};

const FOOTER: usize = 20;
const INDEX_IS_TABLE: u32 = 2;

/// Looks at the blocks of the dictionary of `column`, in the file at `path`, for what reads its terms.
///
/// # Errors
/// [`Error::Corrupt`] where a block claims more than it can hold, [`Error::Io`].
pub(crate) fn check_terms(path: &Path, column: &str, dictionary: &Dictionary<VoidSSTable>) -> Result<()> {
    let blocks = dictionary.sstable_slice.read_bytes().map_err(Error::io("read a dictionary of", path))?;
    let column = column.replace('\u{1}', ".");
    let mut most = 0u64;
    each_block(&blocks, |block| {
        most = most.saturating_add(block.len());
        Ok(())
    })
    .map_err(|problem| Error::corrupt(path, format!("the dictionary of column {column:?} has {problem}")))?;
    // Room is made for as many ordinals as there are said to be terms; each takes a byte at the least.
    let terms = dictionary.num_terms() as u64;
    if terms <= most {
        return Ok(());
    }
    let problem = format!("column {column:?} says it has {terms} distinct values in a dictionary of {most} bytes");
    Err(Error::corrupt(path, problem))
}

/// Whether the dictionary of a string or bytes column, which ends in `u32 LE length of the dictionary`, can be opened:
/// tantivy reads the index of version 2 then.
pub(in crate::source) fn check_dictionary(column: &[u8]) -> Result<(), String> {
    let len = tail(column, 4).and_then(|bytes| Bytes::new(bytes).u32()).and_then(|len| usize::try_from(len).ok());
    let table = len.and_then(|len| column.get(..len)).ok_or("is cut off")?;
    Table::open(table)?.index_blocks().map(|_| ())
}

/// The parts of a table.
pub(super) struct Table<'a> {
    pub(super) blocks: &'a [u8],
    pub(super) num_terms: u64,
    index: Option<&'a [u8]>,
}

impl<'a> Table<'a> {
    pub(super) fn open(table: &'a [u8]) -> Result<Table<'a>, String> {
        let cut_off = || format!("has {} bytes", table.len());
        let mut footer = Bytes::new(tail(table, FOOTER).ok_or_else(cut_off)?);
        let (Some(offset), Some(num_terms), Some(version)) = (footer.u64(), footer.u64(), footer.u32()) else {
            return Err(cut_off());
        };
        let body = table.get(..table.len() - FOOTER).unwrap_or_default();
        let parts = usize::try_from(offset).ok().and_then(|offset| body.split_at_checked(offset));
        let (blocks, index) = parts.ok_or_else(|| format!("puts its index at byte {offset} of {}", body.len()))?;
        Ok(Table { blocks, num_terms, index: (version == INDEX_IS_TABLE).then_some(index) })
    }

    /// What the index of a version 2 table names: the blocks, and how many terms stand before each.
    pub(super) fn index_blocks(&self) -> Result<Vec<(Range<u64>, u64)>, String> {
        let mut found = Vec::new();
        let (mut key, mut buffer) = (Vec::new(), Vec::new());
        let Some(index) = self.index else { return Ok(found) };
        each_block(index, |block| {
            let mut bytes = Bytes::new(block.read(&mut buffer)?);
            let wrong = || "an index whose values end early or count too far".to_owned();
            let before = found.len() as u64;
            let count = number(&mut bytes).ok_or_else(wrong)?;
            let mut start = number(&mut bytes).ok_or_else(wrong)?;
            let mut terms = 0u64;
            // Each takes two bytes or more, so a false count runs out of bytes before it costs memory.
            for _ in 0..count {
                let (len, more) = number(&mut bytes).zip(number(&mut bytes)).ok_or_else(wrong)?;
                let end = start.checked_add(len).ok_or_else(wrong)?;
                terms = terms.checked_add(more).ok_or_else(wrong)?;
                found.push((start..end, terms));
                start = end;
            }
            let keys = each_key(bytes, &mut key, |_| Ok(()))?;
            if before + keys == found.len() as u64 { Ok(()) } else { Err(wrong()) }
        })
        .map_err(|problem| format!("has, in its index, {problem}"))?;
        Ok(found)
    }
}

/// A block in its table.
pub(super) struct Block<'a> {
    /// Its place, header included.
    pub(super) range: Range<usize>,
    data: &'a [u8],
    /// Bytes it has uncompressed, where it is compressed.
    size: Option<u64>,
}

impl Block<'_> {
    /// Bytes it has uncompressed.
    fn len(&self) -> u64 {
        self.size.unwrap_or(self.data.len() as u64)
    }

    /// Its bytes as they stand in the table.
    pub(super) fn data(&self) -> &[u8] {
        self.data
    }

    /// Bytes it has uncompressed, where it is compressed.
    pub(super) fn size(&self) -> Option<u64> {
        self.size
    }

    /// Its data, decompressed into `buffer` if need be.
    pub(super) fn read<'b>(&'b self, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], String> {
        let Some(size) = self.size else { return Ok(self.data) };
        buffer.clear();
        let size = usize::try_from(size).map_err(|_| "a block larger than memory")?;
        buffer.try_reserve(size).map_err(|_| "a block larger than memory")?;
        buffer.resize(size, 0);
        let written = zstd::bulk::decompress_to_buffer(self.data, buffer.as_mut_slice());
        let written = written.map_err(|error| format!("a block at byte {} ({error})", self.range.start))?;
        buffer.truncate(written);
        Ok(buffer)
    }
}

/// Calls `each` with every block of `blocks`, none of which claims more than it can hold. Errors are noun phrases.
pub(super) fn each_block<'a>(
    blocks: &'a [u8],
    mut each: impl FnMut(Block<'a>) -> Result<(), String>,
) -> Result<(), String> {
    let mut start = 0;
    while let Some(block) = next_block(blocks, start)? {
        start = block.range.end;
        each(block)?;
    }
    Ok(())
}

/// The block that begins at byte `start` of `blocks`; `None` at their end.
pub(super) fn next_block(blocks: &[u8], start: usize) -> Result<Option<Block<'_>>, String> {
    let mut rest = Bytes::new(blocks.get(start..).unwrap_or_default());
    if rest.len() == 0 {
        return Ok(None);
    }
    let cut_off = || format!("a block at byte {start} that is cut off");
    let len = rest.u32().and_then(|len| usize::try_from(len).ok()).ok_or_else(cut_off)?;
    if len <= 1 {
        return Ok(None);
    }
    let (flag, data) = rest.u8().zip(rest.take(len - 1)).ok_or_else(cut_off)?;
    let size = match flag {
        1 => Some(frame::content_size(data).map_err(|problem| format!("a block at byte {start} that {problem}"))?),
        _ => None,
    };
    Ok(Some(Block { range: start..blocks.len() - rest.len(), data, size }))
}

/// Calls `each` with every key of a block, which `keys` holds. `key`: the one before. Returns how many there are.
pub(super) fn each_key(
    mut keys: Bytes<'_>,
    key: &mut Vec<u8>,
    mut each: impl FnMut(&[u8]) -> Result<(), String>,
) -> Result<u64, String> {
    let mut count = 0;
    while keys.len() != 0 {
        next_key(&mut keys, key)
            .ok_or_else(|| format!("a key, the {count}th of its block, that is longer than its bytes"))?;
        each(key)?;
        count += 1;
    }
    Ok(count)
}

/// The next key of a block into `key`, which holds the one before; `None` where it does not fit.
#[inline]
pub(super) fn next_key(keys: &mut Bytes<'_>, key: &mut Vec<u8>) -> Option<()> {
    let (keep, add) = match keys.u8()? {
        1 => (usize::try_from(number(keys)?).ok()?, usize::try_from(number(keys)?).ok()?),
        byte => (usize::from(byte & 15), usize::from(byte >> 4)),
    };
    let added = keys.take(add)?;
    if keep > key.len() {
        return None;
    }
    key.truncate(keep);
    key.extend_from_slice(added);
    Some(())
}

/// Seven bits a byte, low ones first, the top bit set on all but the last.
pub(super) fn number(bytes: &mut Bytes<'_>) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = bytes.u8()?;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return (shift < 63 || byte < 2).then_some(value);
        }
    }
    None
}

#[cfg(test)]
pub(super) mod tests;
