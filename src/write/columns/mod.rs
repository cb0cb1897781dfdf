//! Columns (`.fast`): one value or several of a field per document, by DocId.
//!
//! Input: a source, and a group of its segments with the outputs they feed. Output: a `.fast` file per output, byte for
//! byte what tantivy's own merge of the same documents would write. Columns are taken one after the other, each for all
//! outputs: the source column is opened once, its dictionary is read once, its values a fixed number of times, however
//! many outputs there are; what is written is streamed.
//!
//! Type, cardinality and dictionary of a column are derived anew for each output, from the values that it gets.
//! Columns without a value vanish, those of the schema's fast fields apart. Old column files (version 1) come out as
//! version 2.
//!
//! | file | room for |
//! |---|---|
//! | `container` | the file: columns, and the table that finds them |
//! | `union` | which columns there are |
//! | `column` | a source segment's column, opened and checked |
//! | `rows`, `positions` | which values go to which row of which output, one by one and in batches |
//! | `survey` | how many they are |
//! | `index` | the column index: rows with values |
//! | `values` | 64-bit words: choice of codec |
//! | `numeric`, `dictionary`, `addresses` | the three kinds of columns |
//! | `merge`, `terms` | dictionaries of several segments as one stream; sets of ordinals |
//! | `table` | the sorted string table that is a dictionary |
//!
//! Memory: per output the buffer of its file; for sparse columns 1 byte per document, or 16 MiB; per distinct string of
//! the column at hand what `dictionary` says; 16 bytes per address of one output.

mod addresses;
mod column;
mod container;
#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "the tests' numbers are small")]
mod damage;
mod dictionary;
#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "the tests' numbers are small")]
pub(in crate::write) mod fixture;
mod index;
mod merge;
mod numeric;
mod positions;
mod rows;
mod survey;
mod table;
mod terms;
#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "the tests' numbers are small")]
mod tests;
mod union;
mod values;

use std::cell::Cell;
use std::io::Write;

use tantivy::columnar::ColumnType;

use self::column::SourceColumn;
use self::container::ColumnarFile;
use self::numeric::Numbers;
use self::rows::Rows;
use self::survey::{Shares, Survey};
use self::union::{Category, Union, readable};
use super::output::{ChildFiles, WrittenFile};
use crate::error::{Error, Result};
use crate::partition::Group;
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::source::{Component, Source};

/// What was read of the source's columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadCounts {
    /// Terms streamed out of dictionaries.
    pub(super) dictionary_terms: u64,
    /// Values looked up, once per pass.
    pub(super) values: u64,
}

/// The `.fast` files of a group's outputs.
#[derive(Debug)]
pub(super) struct WrittenColumns {
    /// By output.
    pub(super) files: Vec<WrittenFile>,
    /// What it took.
    pub(super) reads: ReadCounts,
}

/// Counters while writing.
#[derive(Default)]
struct Reads {
    dictionary_terms: Cell<u64>,
    values: Cell<u64>,
}

/// One column of the children while it is written.
struct Unit<'a> {
    union: &'a Union,
    /// Of strings, bytes and addresses; numeric columns may differ by output.
    kind: ColumnType,
    /// By segment of the group.
    columns: &'a [Option<SourceColumn>],
    rows: &'a Rows<'a>,
    /// By output.
    surveys: &'a [Survey],
}

impl Unit<'_> {
    /// Whether the output has this column.
    fn is_in(&self, output: usize) -> bool {
        self.union.required.is_some() || self.surveys.get(output).is_some_and(|survey| survey.rows > 0)
    }

    fn too_large(&self, child: usize, what: &'static str, size: u64) -> Error {
        Error::ColumnTooLarge { column: readable(&self.union.name), child, what, size }
    }

    /// Writes a length as u32 LE.
    fn write_len(&self, file: &mut ColumnarFile, what: &'static str, len: u64) -> Result<()> {
        let narrow = u32::try_from(len).map_err(|_| self.too_large(file.child(), what, len))?;
        let name = file.name().to_owned();
        file.file().write_all(&narrow.to_le_bytes()).map_err(Error::io("write", name))
    }
}

/// Checks that the columns of every group can be united without changing a value. Reads only columns whose type differs
/// between segments, or from the schema's.
///
/// # Errors
/// [`Error::ColumnTypes`] names the first column that cannot; [`Error::Corrupt`] and [`Error::Io`] as for [`write()`].
pub(super) fn check(source: &Source, groups: &[Group]) -> Result<()> {
    for group in groups {
        let mut shares = None;
        for union in union::unite(source, group)? {
            let mut kinds = union.kinds();
            let first = kinds.next();
            if kinds.all(|kind| Some(kind) == first) {
                continue;
            }
            drop(kinds);
            let columns = column::open(source, group, &union)?;
            let rows = Rows::new(group, indexes(&columns));
            let shares = shares.get_or_insert_with(|| Shares::of(source, group));
            for output in 0..group.outputs.len() {
                let survey = survey(&columns, &rows, shares, output)?;
                if survey.rows > 0 {
                    Numbers::unite(&union, &columns, &rows, output, &survey)?;
                }
            }
        }
    }
    Ok(())
}

/// Writes the columns of all outputs of `group`. `ids`: their segment ids.
///
/// # Errors
/// [`Error::ColumnTypes`] where [`check`] would have said so, [`Error::ColumnTooLarge`] where an output's column does
/// not fit the format, [`Error::Corrupt`] for columns that contradict themselves, [`Error::Interrupted`], and
/// [`Error::Io`].
pub(super) fn write(
    source: &Source,
    group: &Group,
    files: &dyn ChildFiles,
    ids: &[String],
    cancel: &Cancel,
    progress: &dyn Progress,
) -> Result<WrittenColumns> {
    let mut outputs = Vec::with_capacity(group.outputs.len());
    for (output, id) in group.outputs.iter().zip(ids) {
        let name = Component::FastFields.file_name(id);
        outputs.push(ColumnarFile::create(files, output.child, name, output.num_docs)?);
    }
    let reads = Reads::default();
    let shares = Shares::of(source, group);
    for union in union::unite(source, group)? {
        cancel.check()?;
        write_union(source, group, &shares, &union, &mut outputs, &reads, cancel)?;
        progress.advance(Stage::Write, Work::bytes(union.num_bytes()));
    }
    let files = outputs.into_iter().map(ColumnarFile::finish).collect::<Result<_>>()?;
    let reads = ReadCounts { dictionary_terms: reads.dictionary_terms.get(), values: reads.values.get() };
    Ok(WrittenColumns { files, reads })
}

fn write_union(
    source: &Source,
    group: &Group,
    shares: &Shares,
    union: &Union,
    files: &mut [ColumnarFile],
    reads: &Reads,
    cancel: &Cancel,
) -> Result<()> {
    let Some(kind) = union.kinds().next() else { return Ok(()) };
    let columns = column::open(source, group, union)?;
    let rows = Rows::new(group, indexes(&columns));
    let mut surveys = Vec::with_capacity(files.len());
    for output in 0..files.len() {
        cancel.check()?;
        surveys.push(survey(&columns, &rows, shares, output)?);
    }
    check_totals(&shares.whole, &columns, &surveys)?;
    let unit = Unit { union, kind, columns: &columns, rows: &rows, surveys: &surveys };
    for (survey, file) in surveys.iter().zip(files.iter()) {
        if survey.values > u64::from(u32::MAX) {
            return Err(unit.too_large(file.child(), "values", survey.values));
        }
    }
    match Category::of(kind) {
        Category::Str | Category::Bytes => dictionary::write(&unit, files, reads, cancel),
        Category::IpAddr => addresses::write(&unit, files, reads, cancel),
        Category::Numerical | Category::Bool | Category::DateTime => write_numbers(&unit, files, reads, cancel),
    }
}

/// Format: column index, values as 64-bit words, length of the index as u32 LE.
fn write_numbers(unit: &Unit<'_>, files: &mut [ColumnarFile], reads: &Reads, cancel: &Cancel) -> Result<()> {
    for (output, (file, survey)) in files.iter_mut().zip(unit.surveys).enumerate() {
        if !unit.is_in(output) {
            continue;
        }
        let numbers = Numbers::unite(unit.union, unit.columns, unit.rows, output, survey)?;
        let (name, num_docs) = (file.name().to_owned(), file.num_docs());
        let index_len = index::write(unit.rows, output, survey, num_docs, cancel, &name, file.file())?;
        let words = || numbers.values(unit.rows, output, &reads.values);
        values::write(words, &values::NUMBERS, cancel, &name, file.file())?;
        unit.write_len(file, "bytes of index", index_len)?;
        file.end_column(&unit.union.name, numbers.kind)?;
    }
    Ok(())
}

fn indexes(columns: &[Option<SourceColumn>]) -> Vec<Option<&tantivy::columnar::ColumnIndex>> {
    columns.iter().map(|column| column.as_ref().map(|column| &column.index)).collect()
}

/// Surveys an output, and checks that its rows ascend and their values exist.
fn survey(columns: &[Option<SourceColumn>], rows: &Rows<'_>, shares: &Shares, output: usize) -> Result<Survey> {
    let mut next = 0;
    rows.survey(output, shares, |entry| {
        let Some(Some(column)) = columns.get(entry.segment as usize) else { return Ok(()) };
        if entry.start > entry.end || entry.end > column.num_values {
            let problem = format!("gives a row the values {}..{} of {}", entry.start, entry.end, column.num_values);
            return Err(column.corrupt(&problem));
        }
        if entry.doc < next {
            return Err(column.corrupt("has an index that is out of order"));
        }
        next = entry.doc + 1;
        Ok(())
    })
}

/// Checks that segments whose documents all go somewhere gave away all their values: an index out of order hides some.
fn check_totals(whole: &[bool], columns: &[Option<SourceColumn>], surveys: &[Survey]) -> Result<()> {
    for (index, (whole, column)) in whole.iter().zip(columns).enumerate() {
        let Some(column) = column else { continue };
        let given: u64 = surveys.iter().map(|survey| survey.values_of(index)).sum();
        if *whole && given != u64::from(column.num_values) {
            return Err(column.corrupt(&format!("has {} values, its rows {given}", column.num_values)));
        }
    }
    Ok(())
}
