//! Numbers, booleans and dates: uniting their types, and writing them.
//!
//! Columns of one name may have different numeric types in different segments. As in tantivy's merge an output takes
//! the type the schema demands, else the one all its source columns agree on, else the first of i64, u64, f64 that
//! holds the least and greatest value of each source column it draws from (tantivy-columnar 0.27,
//! `src/columnar/merge/mod.rs` and `writer/column_writers.rs`). What tantivy does not do: a number that f64 cannot hold
//! exactly is an error, never a different number.
//!
//! Cost: one pass over an output's values, two where they are many (see `values`), one more where integers become f64.

use std::cell::Cell;
use std::sync::Arc;

use tantivy::columnar::{ColumnType, ColumnValues, MonotonicallyMappableToU64};

use super::column::{SourceColumn, look_up};
use super::rows::Rows;
use super::survey::Survey;
use super::union::{Union, readable};
use crate::error::{Error, Result};

/// How a stored word becomes a word of another type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cast {
    Keep,
    /// Between i64 and u64: the stored forms differ in the top bit.
    FlipTopBit,
    I64ToF64,
    U64ToF64,
}

const TOP_BIT: u64 = 1 << 63;

impl Cast {
    /// `None` if `column` has values that `to` cannot hold.
    fn between(column: &SourceColumn, to: ColumnType) -> Option<Cast> {
        let words = column.words()?;
        match (column.kind, to) {
            (from, to) if from == to => Some(Cast::Keep),
            (ColumnType::I64, ColumnType::U64) => {
                (i64::from_u64(words.min_value()) >= 0 || column.num_values == 0).then_some(Cast::FlipTopBit)
            }
            (ColumnType::U64, ColumnType::I64) => (words.max_value() < TOP_BIT).then_some(Cast::FlipTopBit),
            (ColumnType::I64, ColumnType::F64) => Some(Cast::I64ToF64),
            (ColumnType::U64, ColumnType::F64) => Some(Cast::U64ToF64),
            _ => None,
        }
    }

    fn apply(self, word: u64) -> u64 {
        match self {
            Cast::Keep => word,
            Cast::FlipTopBit => word ^ TOP_BIT,
            Cast::I64ToF64 => (i64::from_u64(word) as f64).to_u64(),
            Cast::U64ToF64 => (word as f64).to_u64(),
        }
    }

    /// Whether the value stays the same number.
    #[expect(clippy::cast_possible_truncation, reason = "2^64 and all below it fit an i128")]
    fn is_exact(self, word: u64) -> bool {
        match self {
            Cast::Keep | Cast::FlipTopBit => true,
            // Through i128, which holds every i64, every u64 and 2^64, so that nothing saturates on the way back.
            Cast::I64ToF64 => {
                let number = i64::from_u64(word);
                (number as f64) as i128 == i128::from(number)
            }
            Cast::U64ToF64 => (word as f64) as i128 == i128::from(word),
        }
    }
}

/// A source column's values, and what they become.
type Words = (Arc<dyn ColumnValues<u64>>, Cast);

/// The values of one output's numeric column.
pub(super) struct Numbers {
    pub(super) kind: ColumnType,
    /// Per segment of the group.
    columns: Vec<Option<Words>>,
}

impl Numbers {
    /// Decides the type of the column that an output with this `survey` gets, and checks that no value changes.
    pub(super) fn unite(
        union: &Union,
        columns: &[Option<SourceColumn>],
        rows: &Rows<'_>,
        output: usize,
        survey: &Survey,
    ) -> Result<Numbers> {
        let drawn: Vec<Option<&SourceColumn>> = columns
            .iter()
            .enumerate()
            .map(|(segment, column)| column.as_ref().filter(|_| survey.draws_from(segment)))
            .collect();
        let refused = || Error::ColumnTypes { column: readable(&union.name), types: types(union) };
        let kind = union.required.or_else(|| united(drawn.iter().copied().flatten())).ok_or_else(refused)?;
        let mut casts = Vec::with_capacity(drawn.len());
        for column in drawn {
            casts.push(match column {
                Some(column) => {
                    let words = Arc::clone(column.words().ok_or_else(refused)?);
                    Some((words, Cast::between(column, kind).ok_or_else(refused)?))
                }
                None => None,
            });
        }
        let numbers = Numbers { kind, columns: casts };
        let lossy = |cast: &Cast| matches!(cast, Cast::I64ToF64 | Cast::U64ToF64);
        if numbers.columns.iter().flatten().any(|(_, cast)| lossy(cast)) && !numbers.are_exact(rows, output) {
            return Err(refused());
        }
        Ok(numbers)
    }

    /// Whether all values stay the same numbers.
    fn are_exact(&self, rows: &Rows<'_>, output: usize) -> bool {
        let (mut positions, mut batch) = (rows.positions(output), Vec::new());
        while let Some((segment, positions)) = positions.next() {
            let Some(Some((words, cast))) = self.columns.get(segment) else { continue };
            look_up(words, positions, &mut batch);
            if !batch.iter().all(|&word| cast.is_exact(word)) {
                return false;
            }
        }
        true
    }

    /// The values as they are written. `read` counts those read.
    pub(super) fn values<'a>(
        &'a self,
        rows: &'a Rows<'a>,
        output: usize,
        read: &'a Cell<u64>,
    ) -> impl Iterator<Item = u64> + 'a {
        rows.positions(output).read(move |segment, positions, batch| {
            let Some(Some((words, cast))) = self.columns.get(segment) else { return };
            read.set(read.get() + positions.len() as u64);
            look_up(words, positions, batch);
            if *cast != Cast::Keep {
                batch.iter_mut().for_each(|word| *word = cast.apply(*word));
            }
        })
    }
}

/// The type that columns of these types get together; `None` without columns.
fn united<'a>(columns: impl Iterator<Item = &'a SourceColumn> + Clone) -> Option<ColumnType> {
    let first = columns.clone().next()?.kind;
    if columns.clone().all(|column| column.kind == first) {
        return Some(first);
    }
    let (mut fits_i64, mut fits_u64) = (true, true);
    for column in columns {
        let words = column.words()?;
        match column.kind {
            ColumnType::I64 => fits_u64 &= i64::from_u64(words.min_value()) >= 0,
            // tantivy's bound leaves out i64::MAX itself.
            ColumnType::U64 => fits_i64 &= words.max_value() < TOP_BIT - 1,
            _ => (fits_i64, fits_u64) = (false, false),
        }
    }
    Some(match (fits_i64, fits_u64) {
        (true, _) => ColumnType::I64,
        (false, true) => ColumnType::U64,
        (false, false) => ColumnType::F64,
    })
}

/// The types of a union, for a message.
fn types(union: &Union) -> String {
    let mut kinds: Vec<ColumnType> = union.kinds().collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn casts_give_the_word_of_the_same_number() {
        for number in [0i64, 1, 77, i64::MAX] {
            assert_eq!(Cast::FlipTopBit.apply(number.to_u64()), number as u64);
            assert_eq!(Cast::FlipTopBit.apply(number as u64), number.to_u64());
        }
        for number in [-5i64, 0, 1 << 53] {
            assert_eq!(f64::from_u64(Cast::I64ToF64.apply(number.to_u64())), number as f64);
        }
        assert_eq!(f64::from_u64(Cast::U64ToF64.apply(12)), 12.0);
    }

    #[test]
    fn only_numbers_that_survive_the_way_to_f64_and_back_are_exact() {
        let exact = |number: i64| Cast::I64ToF64.is_exact(number.to_u64());
        assert!(exact(1 << 53) && exact(-(1 << 53)) && exact((1 << 53) + 2) && exact(i64::MIN));
        assert!(!exact((1 << 53) + 1) && !exact(-(1 << 53) - 1));
        // i64::MAX rounds to 2^63, which saturates back to i64::MAX.
        assert!(!exact(i64::MAX));
        assert!(!Cast::U64ToF64.is_exact(u64::MAX));
        assert!(Cast::U64ToF64.is_exact(TOP_BIT));
    }
}
