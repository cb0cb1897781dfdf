//! Keys from a column.
//!
//! Text columns hold ordinals of a sorted dictionary: each distinct text is hashed once, documents look their hash up
//! by ordinal (4 bytes per distinct text). Number columns hold the numbers: each document's is hashed as decimal.
//!
//! A text column keeps the first [`MOST_BYTES`] bytes of a text, be it in the middle of a character. What is as long as
//! that may have been cut, so it tells no key.

use std::io::Write;

use tantivy::DocId;
use tantivy::columnar::{Column, ColumnType, DynamicColumn, DynamicColumnHandle};
use tantivy_sstable::{Dictionary, VoidSSTable};

use super::field::{KeyField, KeyHash, KeyKind};
use super::{Compared, Key, Seen, SeenTerms};
use crate::error::{Error, Result};
use crate::partition::bits::Bits;
use crate::progress::Cancel;
use crate::route::RoutingHash;
use crate::source::{Component, Segment, terms};

const TERMS_PER_CHECK: usize = 1 << 16;

/// Bytes of a text that tantivy's columns keep (`tantivy-stacker`, `mutate_or_create`: key lengths are u16).
const MOST_BYTES: usize = 65_535;

/// The column of `field`, if `segment` has one of its type.
pub(super) fn handle<'s>(segment: &'s Segment, field: &KeyField) -> Option<&'s DynamicColumnHandle> {
    segment.column_handles(&field.name).iter().find(|handle| match field.kind {
        KeyKind::Text => handle.column_type() == ColumnType::Str,
        KeyKind::Unsigned => handle.column_type() == ColumnType::U64,
        KeyKind::Signed => handle.column_type() == ColumnType::I64,
    })
}

fn open(segment: &Segment, field: &KeyField) -> Result<Option<DynamicColumn>> {
    let Some(handle) = handle(segment, field) else { return Ok(None) };
    let path = segment.file(Component::FastFields);
    let column = handle.open().map_err(Error::io("read a column of", &path))?;
    let docs = match &column {
        DynamicColumn::Str(column) => column.ords().num_docs(),
        DynamicColumn::U64(column) => column.num_docs(),
        DynamicColumn::I64(column) => column.num_docs(),
        _ => return Ok(None),
    };
    if docs == segment.max_doc() {
        return Ok(Some(column));
    }
    Err(Error::corrupt(
        path,
        format!("column {:?} has {docs} documents, the segment has {}", field.name, segment.max_doc()),
    ))
}

/// What a column says about a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKey {
    /// Its key, exactly.
    Exact(Key),
    /// It has a text that may have been cut.
    Cut,
    /// It has this ordinal, which the dictionary does not have.
    Unknown(u64),
}

/// Keys of one field of one segment.
pub(super) struct ColumnKeys {
    values: Values,
    /// Of numbers, as their decimal strings.
    hash: KeyHash,
    /// Keys hashed.
    pub(super) hashed: u64,
    compared: Compared,
}

enum Values {
    /// `cut`: ordinals of texts that may have been cut; `live`: ordinals that some document asked for has.
    Text {
        ords: Column<u64>,
        hashes: Vec<RoutingHash>,
        cut: Bits,
        live: Bits,
    },
    Unsigned(Column<u64>),
    Signed(Column<i64>),
}

impl ColumnKeys {
    /// `None` if the segment has no such column.
    pub(super) fn open(
        segment: &Segment,
        field: &KeyField,
        compared: Compared,
        cancel: &Cancel,
    ) -> Result<Option<ColumnKeys>> {
        let (values, hashed) = match open(segment, field)? {
            Some(DynamicColumn::Str(column)) => {
                let (dictionary, ords) = column.into_parts();
                let (hashes, cut) = hash_dictionary(segment, field, &dictionary, cancel)?;
                let hashed = hashes.len() as u64;
                (Values::Text { ords, hashes, cut, live: Bits::default() }, hashed)
            }
            Some(DynamicColumn::U64(column)) => (Values::Unsigned(column), 0),
            Some(DynamicColumn::I64(column)) => (Values::Signed(column), 0),
            _ => return Ok(None),
        };
        Ok(Some(ColumnKeys { values, hash: field.hash, hashed, compared }))
    }

    /// The key of `doc`.
    #[inline]
    pub(super) fn key(&mut self, doc: DocId) -> ColumnKey {
        ColumnKey::Exact(match &mut self.values {
            Values::Text { ords, hashes, cut, live } => match single(ords.values_for_doc(doc)) {
                Single::One(ord) => {
                    let index = usize::try_from(ord).unwrap_or(usize::MAX);
                    let Some(hash) = hashes.get(index) else { return ColumnKey::Unknown(ord) };
                    if cut.contains(index) {
                        return ColumnKey::Cut;
                    }
                    live.insert(index);
                    Key::One(*hash)
                }
                Single::None => Key::Missing,
                Single::Several => Key::Several,
            },
            Values::Unsigned(column) => decimal(self.hash, &mut self.hashed, single(column.values_for_doc(doc))),
            Values::Signed(column) => decimal(self.hash, &mut self.hashed, single(column.values_for_doc(doc))),
        })
    }

    /// What [`ColumnKeys::key`] was asked for.
    pub(super) fn into_seen(self) -> Seen {
        match self.values {
            Values::Text { live, hashes, .. } => {
                let hashes = if self.compared == Compared::Across { hashes } else { Vec::new() };
                Seen::ColumnTerms(SeenTerms { live, hashes })
            }
            Values::Unsigned(_) | Values::Signed(_) => Seen::Numbers,
        }
    }
}

/// The hash of every text, and which texts may have been cut.
fn hash_dictionary(
    segment: &Segment,
    field: &KeyField,
    dictionary: &Dictionary<VoidSSTable>,
    cancel: &Cancel,
) -> Result<(Vec<RoutingHash>, Bits)> {
    let path = || segment.file(Component::FastFields);
    let mut terms = terms(&path(), &field.name, dictionary)?;
    // Not sized by the dictionary's own count: that is a number from disk.
    let (mut hashes, mut cut) = (Vec::new(), Bits::default());
    while terms.advance()? {
        if terms.key().len() >= MOST_BYTES {
            cut.insert(hashes.len());
            hashes.push(0);
            continue;
        }
        let text = std::str::from_utf8(terms.key()).map_err(|_| {
            Error::corrupt(path(), format!("value {} of column {:?} is not UTF-8", hashes.len(), field.name))
        })?;
        hashes.push((field.hash)(text));
        if hashes.len().is_multiple_of(TERMS_PER_CHECK) {
            cancel.check()?;
        }
    }
    Ok((hashes, cut))
}

enum Single<T> {
    None,
    One(T),
    Several,
}

/// The one value there is, however often.
#[inline]
fn single<T: Copy + PartialEq>(mut values: impl Iterator<Item = T>) -> Single<T> {
    match values.next() {
        None => Single::None,
        Some(first) if values.all(|value| value == first) => Single::One(first),
        Some(_) => Single::Several,
    }
}

fn decimal<T: std::fmt::Display>(hash: KeyHash, hashed: &mut u64, value: Single<T>) -> Key {
    match value {
        Single::None => Key::Missing,
        Single::Several => Key::Several,
        Single::One(number) => {
            *hashed += 1;
            Key::One(hash_decimal(hash, number))
        }
    }
}

/// Hash of a 64-bit number's decimal string.
pub(super) fn hash_decimal(hash: KeyHash, number: impl std::fmt::Display) -> RoutingHash {
    // A sign and 19 digits, or 20 digits.
    let mut buffer = [0u8; 20];
    let mut rest = buffer.as_mut_slice();
    let written = write!(rest, "{number}").is_ok();
    let len = 20 - rest.len();
    match buffer.get(..len).map(std::str::from_utf8) {
        Some(Ok(text)) if written => hash(text),
        _ => hash(&number.to_string()),
    }
}

/// The dictionary of a text column, to be walked again.
pub(in crate::partition) fn text_dictionary(
    segment: &Segment,
    field: &KeyField,
) -> Result<Option<std::sync::Arc<Dictionary<VoidSSTable>>>> {
    Ok(match open(segment, field)? {
        Some(DynamicColumn::Str(column)) => Some(column.into_parts().0),
        _ => None,
    })
}

/// A number column, to be walked again; signed numbers in an order-preserving disguise.
pub(in crate::partition) fn numbers(segment: &Segment, field: &KeyField) -> Result<Option<Column<u64>>> {
    Ok(match open(segment, field)? {
        Some(DynamicColumn::U64(column)) => Some(column),
        Some(DynamicColumn::I64(column)) => Some(column.to_u64_monotonic()),
        _ => None,
    })
}

/// The one number of a document.
pub(in crate::partition) fn number_at(column: &Column<u64>, doc: DocId) -> Option<u64> {
    match single(column.values_for_doc(doc)) {
        Single::One(number) => Some(number),
        Single::None | Single::Several => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::routing_hash;

    #[test]
    fn numbers_hash_as_their_decimal_string() {
        for number in [0, 7, 10, 1234567890, u64::MAX] {
            assert_eq!(hash_decimal(routing_hash, number), routing_hash(&number.to_string()));
        }
        for number in [0, -1, i64::MIN, i64::MAX] {
            assert_eq!(hash_decimal(routing_hash, number), routing_hash(&number.to_string()));
        }
    }

    #[test]
    fn a_repeated_value_is_one_key_and_a_different_one_makes_several() {
        assert!(matches!(single([].iter().copied()), Single::<u8>::None));
        assert!(matches!(single([4, 4, 4].into_iter()), Single::One(4)));
        assert!(matches!(single([4, 4, 5].into_iter()), Single::Several));
    }
}
