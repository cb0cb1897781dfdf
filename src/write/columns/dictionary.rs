//! Columns of strings and bytes: a dictionary of the distinct values, and per value its ordinal there.
//!
//! Three steps, for all outputs together. A pass over the ordinals marks, per output and segment, the terms in use. One
//! merged pass over the segments' dictionaries hands every term to the outputs that use it. A second and third pass
//! over the ordinals writes them as the rank of their term among the output's; since ranks keep the order, ordinals
//! that ascend within a row (facets) still do.
//!
//! Format (tantivy-columnar 0.27, `src/column/serialize.rs`): sorted string table of the terms; column index; ordinals
//! as 64-bit words; length of the index as u32 LE; length of the table as u32 LE.
//!
//! Cost: each dictionary is read once, whatever the number of outputs. Memory: 32 bits per term and segment, first for its
//! output, then for its ordinal among all merged terms; for terms that several outputs have one bit per output; 1.5 bits per
//! merged term and output.

use super::column::{Data, SourceColumn, look_up};
use super::container::ColumnarFile;
use super::merge::{Part, merge};
use super::rows::Rows;
use super::table::{BlockPacker, TableWriter};
use super::terms::{OrdinalSet, Owners, RankedSet};
use super::{Reads, Unit, index, values};
use crate::error::{Error, Result};
use crate::progress::Cancel;
use crate::source::check_terms;

/// How often the merge looks whether it was cancelled, in terms.
const CANCEL_EVERY: u64 = 1 << 16;

/// Writes the column into the files of all outputs that have it.
pub(super) fn write(unit: &Unit<'_>, files: &mut [ColumnarFile], reads: &Reads, cancel: &Cancel) -> Result<()> {
    let parts = parts(unit.columns)?;
    let used = mark(unit, &parts, files.len(), reads, cancel)?;
    let (ordinals, dictionary_lens) = write_dictionaries(unit, &parts, used, files, reads, cancel)?;

    for (output, file) in files.iter_mut().enumerate() {
        let (Some(survey), Some(dictionary_len)) = (unit.surveys.get(output), dictionary_lens.get(output)) else {
            continue;
        };
        let Some(dictionary_len) = *dictionary_len else { continue };
        let (name, num_docs) = (file.name().to_owned(), file.num_docs());
        let index_len = index::write(unit.rows, output, survey, num_docs, cancel, &name, file.file())?;
        let ranks = || ordinals.ranks(unit.rows, output, &parts, reads);
        values::write(ranks, &values::NUMBERS, cancel, &name, file.file())?;
        unit.write_len(file, "bytes of index", index_len)?;
        unit.write_len(file, "bytes of dictionary", dictionary_len)?;
        file.end_column(&unit.union.name, unit.kind)?;
    }
    Ok(())
}

/// The dictionaries, ascending by segment.
fn parts(columns: &[Option<SourceColumn>]) -> Result<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    for (segment, column) in columns.iter().enumerate() {
        let Some(column) = column else { continue };
        let Data::Terms(terms) = &column.data else { continue };
        check_terms(column.path(), column.name(), terms.dictionary())?;
        let num_terms = u32::try_from(terms.num_terms())
            .map_err(|_| column.corrupt(&format!("says it has {} distinct values", terms.num_terms())))?;
        parts.push(Part { segment, column, terms, num_terms });
    }
    Ok(parts)
}

/// Per part, which outputs use each ordinal.
fn mark(unit: &Unit<'_>, parts: &[Part<'_>], outputs: usize, reads: &Reads, cancel: &Cancel) -> Result<Vec<Owners>> {
    let place = places(unit.columns.len(), parts);
    let mut used: Vec<Owners> = parts.iter().map(|part| Owners::of(part.num_terms)).collect();
    let mut ordinals = Vec::new();
    for output in 0..outputs {
        let mut positions = unit.rows.positions(output);
        while let Some((segment, positions)) = positions.next() {
            cancel.check()?;
            let Some(index) = place.get(segment).copied().flatten() else { continue };
            let (Some(part), Some(owners)) = (parts.get(index), used.get_mut(index)) else { continue };
            look_up(&part.terms.ords().values, positions, &mut ordinals);
            if let Some(ordinal) = ordinals.iter().find(|&&ordinal| !owners.add(ordinal, output)) {
                let problem = format!("refers to value {ordinal} of a dictionary of {}", part.num_terms);
                return Err(part.column.corrupt(&problem));
            }
            reads.values.set(reads.values.get() + positions.len() as u64);
        }
    }
    Ok(used)
}

/// Per segment of the group, its index among `parts`.
fn places(segments: usize, parts: &[Part<'_>]) -> Vec<Option<usize>> {
    let mut places = vec![None; segments];
    for (index, part) in parts.iter().enumerate() {
        if let Some(place) = places.get_mut(part.segment) {
            *place = Some(index);
        }
    }
    places
}

/// From a segment's ordinals to an output's.
struct Ordinals {
    /// Per segment of the group, the index among the parts.
    place: Vec<Option<usize>>,
    /// Per part, its ordinals among all merged terms; `None` where they are the same.
    merged: Option<Vec<Owners>>,
    /// Per output, the merged terms it has.
    kept: Vec<RankedSet>,
}

impl Ordinals {
    /// The ordinals of `output`'s values in its own dictionary.
    fn ranks<'a>(
        &'a self,
        rows: &'a Rows<'a>,
        output: usize,
        parts: &'a [Part<'a>],
        reads: &'a Reads,
    ) -> impl Iterator<Item = u64> + 'a {
        let kept = self.kept.get(output);
        rows.positions(output).read(move |segment, positions, batch| {
            let Some(index) = self.place.get(segment).copied().flatten() else { return };
            let (Some(part), Some(kept)) = (parts.get(index), kept) else { return };
            let merged = self.merged.as_ref().and_then(|merged| merged.get(index));
            reads.values.set(reads.values.get() + positions.len() as u64);
            look_up(&part.terms.ords().values, positions, batch);
            for ordinal in batch {
                // Checked against the dictionary when terms were marked.
                let narrow = u32::try_from(*ordinal).unwrap_or(u32::MAX);
                let number = merged.and_then(|merged| merged.number_of(narrow)).unwrap_or(narrow);
                *ordinal = u64::from(kept.rank(number));
            }
        })
    }
}

/// Streams the dictionaries once; returns the way to the new ordinals, and the length of each output's dictionary
/// (`None` where the output does not have the column).
fn write_dictionaries(
    unit: &Unit<'_>,
    parts: &[Part<'_>],
    mut used: Vec<Owners>,
    files: &mut [ColumnarFile],
    reads: &Reads,
    cancel: &Cancel,
) -> Result<(Ordinals, Vec<Option<u64>>)> {
    let outputs = files.len();
    let names: Vec<String> = files.iter().map(|file| file.name().to_owned()).collect();
    let written = |output: usize| Error::io("write", names.get(output).map_or("", String::as_str));
    let place = places(unit.columns.len(), parts);
    let several = parts.len() > 1;
    let mut kept: Vec<OrdinalSet> = (0..outputs).map(|_| OrdinalSet::default()).collect();

    let mut writers: Vec<_> = files
        .iter_mut()
        .enumerate()
        .map(|(output, file)| unit.is_in(output).then(|| TableWriter::new(file.file())))
        .collect();
    let mut packer = BlockPacker::new().map_err(Error::io("compress", "a dictionary"))?;
    let mut next = 0u32;
    let mut count = 0u64;
    let mut keepers = Vec::with_capacity(outputs);
    merge(parts, |term, found| {
        count += 1;
        if count.is_multiple_of(CANCEL_EVERY) {
            cancel.check()?;
        }
        reads.dictionary_terms.set(reads.dictionary_terms.get() + found.len() as u64);
        keepers.clear();
        for &(segment, ordinal) in found {
            let owners = place.get(segment).copied().flatten().and_then(|index| used.get(index));
            owners.into_iter().for_each(|owners| owners.of_term(ordinal, &mut keepers));
        }
        if found.len() > 1 {
            keepers.sort_unstable();
            keepers.dedup();
        }
        for &output in &keepers {
            if let Some(Some(writer)) = writers.get_mut(output) {
                writer.insert(term, &mut packer).map_err(written(output))?;
            }
        }
        let number = match found {
            &[(_, ordinal)] if !several => ordinal,
            _ => next,
        };
        for &output in &keepers {
            kept.get_mut(output).into_iter().for_each(|set| set.insert(number));
        }
        if several && !keepers.is_empty() {
            for &(segment, ordinal) in found {
                let owners = place.get(segment).copied().flatten().and_then(|index| used.get_mut(index));
                owners.into_iter().for_each(|owners| owners.number(ordinal, next));
            }
            // Fewer than u32::MAX: each takes part in some segment's table.
            next = next.checked_add(1).ok_or_else(|| unit.too_large(0, "distinct values", u64::from(u32::MAX) + 1))?;
        }
        Ok(())
    })?;
    for (output, writer) in writers.into_iter().enumerate() {
        if let Some(writer) = writer {
            writer.finish(&mut packer).map_err(written(output))?;
        }
    }
    // With one segment terms keep their ordinals.
    let merged = several.then_some(used);
    let lens = (files.iter().enumerate()).map(|(output, file)| unit.is_in(output).then(|| file.column_len())).collect();
    Ok((Ordinals { place, merged, kept: kept.into_iter().map(OrdinalSet::ranked).collect() }, lens))
}
