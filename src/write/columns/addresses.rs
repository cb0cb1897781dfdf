//! Columns of IP addresses: 128-bit words.
//!
//! Format (tantivy-columnar 0.27, `src/column/serialize.rs`): column index; values in tantivy's compact space; length of
//! the index as u32 LE. The codec is tantivy's and wants the values in one piece: 16 bytes per value of one output.

use std::net::Ipv6Addr;

use tantivy::columnar::ColumnValues;
use tantivy::columnar::column_values::serialize_column_values_u128;

use super::column::Data;
use super::container::ColumnarFile;
use super::{Reads, Unit, index};
use crate::error::{Error, Result};
use crate::progress::Cancel;

/// Writes the column into the files of all outputs that have it.
pub(super) fn write(unit: &Unit<'_>, files: &mut [ColumnarFile], reads: &Reads, cancel: &Cancel) -> Result<()> {
    for (output, (file, survey)) in files.iter_mut().zip(unit.surveys).enumerate() {
        if !unit.is_in(output) {
            continue;
        }
        cancel.check()?;
        let (name, num_docs) = (file.name().to_owned(), file.num_docs());
        let index_len = index::write(unit.rows, output, survey, num_docs, cancel, &name, file.file())?;
        let mut addresses: Vec<Ipv6Addr> = Vec::new();
        for entry in unit.rows.entries(output) {
            if let Some(Some(column)) = unit.columns.get(entry.segment as usize)
                && let Data::Addresses(values) = &column.data
            {
                addresses.extend(entry.values().map(|position| values.get_val(position)));
                reads.values.set(reads.values.get() + u64::from(entry.end - entry.start));
            }
        }
        serialize_column_values_u128(&addresses.as_slice(), file.file()).map_err(Error::io("write", &name))?;
        unit.write_len(file, "bytes of index", index_len)?;
        file.end_column(&unit.union.name, unit.kind)?;
    }
    Ok(())
}
