//! Column values.
//!
//! A value is hashed with its column's name, its class and its place in the row. Numbers are hashed by exact value,
//! whatever their type: tantivy unites columns of one name whose type differs from segment to segment (i64 5, u64 5,
//! f64 5.0), and that is no difference as long as every value survives. -0.0 and NaN are taken by their bits.
//! Memory: 8 bytes per entry of the dictionary of a string or bytes column while it is read.

use tantivy::columnar::{Column, ColumnIndex, DynamicColumn, DynamicColumnHandle};
use tantivy_sstable::{Dictionary, VoidSSTable};

use super::digest::{self, Seed, Tag};
use super::sums::{Adder, SegmentSums};
use super::unit::{Outcome, View, column_name};
use crate::error::{Error, Result};
use crate::progress::Cancel;
use crate::source::{Component, terms};
use crate::verify::finding::FindingKind;

/// Values fetched at once.
const BATCH: u32 = 1024;

/// Classes of values that can never be equal; numeric columns share the first three.
mod class {
    pub(super) const NATURAL: u8 = 0;
    pub(super) const NEGATIVE: u8 = 1;
    pub(super) const FRACTION: u8 = 2;
    pub(super) const BOOL: u8 = 3;
    pub(super) const DATE: u8 = 4;
    pub(super) const IP: u8 = 5;
    pub(super) const BYTES: u8 = 6;
    pub(super) const STR: u8 = 7;
}

/// Reads one column.
pub(super) fn read(
    view: &View<'_>,
    name: &str,
    handle: &DynamicColumnHandle,
    sums: &SegmentSums,
    outcome: &mut Outcome,
    cancel: &Cancel,
) -> Result<()> {
    let path = view.segment.file(Component::FastFields);
    let column = handle.open().map_err(Error::io("read", &path))?;
    let mut rows = Rows {
        name,
        seed: Seed::new(Tag::Column, 0, name.as_bytes()),
        max_doc: view.segment.max_doc(),
        adder: sums.adder(),
        strict: view.strict,
        outcome,
        cancel,
    };
    match column {
        DynamicColumn::I64(column) => rows.read(&column, 0i64, integer),
        DynamicColumn::U64(column) => rows.read(&column, 0u64, |value| (class::NATURAL, value)),
        DynamicColumn::F64(column) => rows.read(&column, 0f64, float),
        DynamicColumn::Bool(column) => rows.read(&column, false, |value| (class::BOOL, u64::from(value))),
        DynamicColumn::DateTime(column) => rows.read(&column, Default::default(), |value: tantivy::DateTime| {
            (class::DATE, value.into_timestamp_nanos().cast_unsigned())
        }),
        DynamicColumn::IpAddr(column) => rows.read(&column, std::net::Ipv6Addr::UNSPECIFIED, |value| {
            (class::IP, Seed::new(Tag::Column, u32::from(class::IP), &value.octets()).value())
        }),
        DynamicColumn::Bytes(column) => {
            let hashes = rows.dictionary(view, column.dictionary())?;
            rows.read_ords(column.ords(), class::BYTES, &hashes)
        }
        DynamicColumn::Str(column) => {
            let hashes = rows.dictionary(view, column.dictionary())?;
            rows.read_ords(column.ords(), class::STR, &hashes)
        }
    }
}

fn integer(value: i64) -> (u8, u64) {
    (if value < 0 { class::NEGATIVE } else { class::NATURAL }, value.cast_unsigned())
}

/// A float that is an integer of i64 or u64 hashes as that integer.
fn float(value: f64) -> (u8, u64) {
    const TWO_63: f64 = 9_223_372_036_854_775_808.0;
    let whole = value.trunc() == value && !(value == 0.0 && value.is_sign_negative());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and in range, so exact")]
    if whole && (0.0..2.0 * TWO_63).contains(&value) {
        (class::NATURAL, value as u64)
    } else if whole && (-TWO_63..0.0).contains(&value) {
        integer(value as i64)
    } else {
        (class::FRACTION, value.to_bits())
    }
}

struct Rows<'a> {
    name: &'a str,
    seed: Seed,
    max_doc: u32,
    adder: Adder<'a>,
    /// Whether what only range queries need is checked too.
    strict: bool,
    outcome: &'a mut Outcome,
    cancel: &'a Cancel,
}

impl Rows<'_> {
    /// Hashes of the entries of a dictionary, by ordinal.
    fn dictionary(&mut self, view: &View<'_>, dictionary: &Dictionary<VoidSSTable>) -> Result<Vec<u64>> {
        let mut hashes = Vec::new();
        let mut previous: Vec<u8> = Vec::new();
        let mut stream = terms(&view.segment.file(Component::FastFields), self.name, dictionary)?;
        while stream.advance()? {
            let key = stream.key();
            if !hashes.is_empty() && previous.as_slice() >= key {
                self.fault("has a dictionary whose entries do not ascend");
            }
            previous.clear();
            previous.extend_from_slice(key);
            hashes.push(Seed::new(Tag::Column, 0, key).value());
            if hashes.len() % 4096 == 0 {
                self.cancel.check()?;
            }
        }
        if hashes.len() != dictionary.num_terms() {
            self.fault("has a dictionary that is shorter or longer than it says");
        }
        Ok(hashes)
    }

    fn read_ords(&mut self, column: &Column<u64>, class: u8, hashes: &[u64]) -> Result<()> {
        let mut beyond = false;
        let result = self.read(column, 0, |ordinal| {
            let hash = usize::try_from(ordinal).ok().and_then(|ordinal| hashes.get(ordinal));
            beyond |= hash.is_none();
            (class, hash.copied().unwrap_or(0))
        });
        if beyond {
            self.fault("has values that its dictionary does not hold");
        }
        result
    }

    fn read<T>(&mut self, column: &Column<T>, empty: T, mut hash: impl FnMut(T) -> (u8, u64)) -> Result<()>
    where
        T: PartialOrd + Copy + std::fmt::Debug + Send + Sync + 'static,
    {
        if column.num_docs() != self.max_doc {
            let (found, expected) = (column.num_docs(), self.max_doc);
            let name = column_name(self.name);
            self.outcome.fault(FindingKind::MaxDoc, Component::FastFields, || {
                format!("column {name:?} has {found} rows for {expected} documents")
            });
            return Ok(());
        }
        let num_values = column.values.num_vals();
        let mut batch = [empty; BATCH as usize];
        let (least, greatest, mut outside) = (column.min_value(), column.max_value(), 0u64);
        let mut fetch = |from: u32, to: u32, each: &mut dyn FnMut(u32, T)| {
            let mut start = from;
            while start < to {
                let len = (to - start).min(BATCH);
                let Some(values) = batch.get_mut(..len as usize) else { break };
                column.values.get_range(u64::from(start), values);
                outside += values.iter().filter(|value| **value < least || **value > greatest).count() as u64;
                for (row, value) in (start..).zip(values.iter()) {
                    each(row, *value);
                }
                start += len;
            }
        };
        let (seed, cancel) = (self.seed, self.cancel);
        let adder = &mut self.adder;
        let mut add = |doc: u32, index: u32, (class, value): (u8, u64)| {
            adder.add(doc, seed.item(digest::value(class, value, index)));
        };
        match &column.index {
            ColumnIndex::Empty { .. } => {}
            ColumnIndex::Full => {
                for start in (0..num_values).step_by(1 << 16) {
                    cancel.check()?;
                    fetch(start, num_values.min(start + (1 << 16)), &mut |row, value| add(row, 0, hash(value)));
                }
            }
            ColumnIndex::Optional(optional) => {
                let mut docs = optional.iter_non_null_docs();
                let mut lost = 0u32;
                fetch(0, num_values, &mut |_, value| match docs.next() {
                    Some(doc) => add(doc, 0, hash(value)),
                    None => lost += 1,
                });
                if lost > 0 || docs.next().is_some() {
                    drop(docs);
                    self.fault("has another number of values than of documents with one");
                }
            }
            ColumnIndex::Multivalued(multivalued) => {
                let mut seen = 0u32;
                for doc in multivalued.iter_non_null_docs() {
                    if doc % 4096 == 0 {
                        cancel.check()?;
                    }
                    let range = column.index.value_row_ids(doc);
                    if range.start != seen || range.end < range.start || range.end > num_values {
                        break;
                    }
                    seen = range.end;
                    let first = range.start;
                    fetch(range.start, range.end, &mut |row, value| add(doc, row - first, hash(value)));
                }
                if seen != num_values {
                    self.fault("has rows that do not cover its values");
                }
            }
        }
        // Range queries pass over columns, and parts of them, by these bounds.
        if self.strict && outside > 0 {
            self.fault("has values beyond the least and the greatest that it names, so range queries lose them");
        }
        Ok(())
    }

    fn fault(&mut self, what: &str) {
        let name = column_name(self.name);
        self.outcome.fault(FindingKind::Structure, Component::FastFields, || format!("column {name:?} {what}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_equal_value_are_equal_whatever_their_type() {
        assert_eq!(float(5.0), (class::NATURAL, 5));
        assert_eq!(integer(5), float(5.0));
        assert_eq!(integer(-7), float(-7.0));
        assert_eq!(integer(i64::MIN), float(-9_223_372_036_854_775_808.0));
        assert_eq!(float(18_446_744_073_709_549_568.0), (class::NATURAL, 18_446_744_073_709_549_568));
        assert_eq!(float(0.0), integer(0));
    }

    #[test]
    fn numbers_of_different_value_differ() {
        assert_ne!(float(-0.0), float(0.0));
        assert_ne!(float(5.5), float(5.0));
        assert_ne!(integer(-1), (class::NATURAL, u64::MAX));
        // 2^53 + 1 has no f64: a column united to f64 has lost it.
        assert_ne!(integer((1 << 53) + 1), float(((1i64 << 53) + 1) as f64));
        assert_eq!(float(18_446_744_073_709_551_616.0).0, class::FRACTION);
        assert_eq!(float(f64::NAN), float(f64::NAN));
        assert_eq!(float(f64::INFINITY).0, class::FRACTION);
    }
}
