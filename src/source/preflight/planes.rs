//! Field norms, columns and deletes: that each speaks of exactly the documents of its segment.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tantivy::columnar::{ColumnIndex, ColumnType, ColumnarReader, DynamicColumn, DynamicColumnHandle};
use tantivy::directory::{FileSlice, OwnedBytes};
use tantivy::schema::Schema;

use super::{CheckedFile, Parts, WrittenBy};
use crate::error::{Error, Result};
use crate::source::bytes::{Bytes, tail};
use crate::source::claims::{check_dictionary, check_names};
use crate::source::guard::guard;

/// `.fieldnorm`: every part has one byte per document, and every field with norms that has postings has a part.
pub(super) fn check_norms(
    file: &CheckedFile,
    norms: &Parts,
    postings: &Parts,
    schema: &Schema,
    max_doc: u32,
) -> Result<()> {
    for field in norms.fields() {
        if norms.len(field) as u64 != u64::from(max_doc) {
            let (id, found) = (field.field_id(), norms.len(field));
            return Err(Error::corrupt(&file.path, format!("field {id} has {found} norms for {max_doc} documents")));
        }
    }
    for field in postings.fields() {
        if schema.get_field_entry(field).has_fieldnorms() && norms.get(field, &file.body).is_none() {
            return Err(Error::corrupt(&file.path, format!("field {} has postings and no norms", field.field_id())));
        }
    }
    Ok(())
}

/// A columnar file, and its columns by name.
pub(super) type Columns = (ColumnarReader, BTreeMap<String, Vec<DynamicColumnHandle>>);

/// Ends a columnar file.
pub(crate) const COLUMNAR_MAGIC: [u8; 4] = [2, 113, 119, 66];

/// `.fast`: `columns ‖ dictionary of columns ‖ u64 LE length of the dictionary ‖ u32 LE rows ‖ u32 LE version ‖ magic`.
/// Opens every column once: cheap, and a column that does not open would stop a split in the middle. `sort` names the
/// column that documents are sorted by, where there is one.
pub(super) fn check_columns(file: &CheckedFile, max_doc: u32, sort: Option<&str>) -> Result<Columns> {
    let path = &file.path;
    let short = || Error::corrupt(path, format!("it has {} bytes, a columnar footer alone has 20", file.body.len()));
    let mut footer = Bytes::new(tail(&file.body, 20).ok_or_else(short)?);
    let (Some(dictionary_len), Some(rows), Some(version)) = (footer.u64(), footer.u32(), footer.u32()) else {
        return Err(short());
    };
    if footer.take(4) != Some(&COLUMNAR_MAGIC) {
        return Err(not_columnar(path, file.footer.written_by));
    }
    if !(1..=2).contains(&version) {
        return Err(Error::Unsupported {
            path: path.clone(),
            what: "the version of the columns",
            found: version.to_string(),
            expected: "1 or 2".to_owned(),
            hint: "a newer tantivy wrote it, or the file is damaged".to_owned(),
        });
    }
    if rows != max_doc {
        return Err(Error::corrupt(path, format!("its columns have {rows} rows for {max_doc} documents")));
    }
    let parts = file.body.len().checked_sub(20).and_then(|end| {
        let start = end.checked_sub(usize::try_from(dictionary_len).ok()?)?;
        Some((start, file.body.get(start..end)?))
    });
    let Some((columns_len, dictionary)) = parts else {
        return Err(Error::corrupt(path, format!("its dictionary of columns claims {dictionary_len} bytes")));
    };
    check_names(dictionary, columns_len as u64)
        .map_err(|problem| Error::corrupt(path, format!("its dictionary of columns {problem}")))?;
    guard(path, "the dictionary of columns", || {
        let reader = ColumnarReader::open(FileSlice::new(Arc::new(file.body.clone())));
        let reader = reader.map_err(Error::io("read the columns of", path))?;
        let mut handles: BTreeMap<String, Vec<DynamicColumnHandle>> = BTreeMap::new();
        for (name, handle) in reader.list_columns().map_err(Error::io("list the columns of", path))? {
            guard(path, format!("the column {name:?}"), || {
                if matches!(handle.column_type(), ColumnType::Str | ColumnType::Bytes) {
                    let bytes = handle.file_slice().read_bytes().map_err(Error::io("read a column of", path))?;
                    check_dictionary(&bytes).map_err(|problem| {
                        Error::corrupt(path, format!("the dictionary of column {name:?} {problem}"))
                    })?;
                }
                let column = handle.open().map_err(Error::io("open a column of", path))?;
                check_rows(&column, max_doc).map_err(|rows| {
                    Error::corrupt(path, format!("column {name:?} has {rows} rows for {max_doc} documents"))
                })
            })?;
            handles.entry(name).or_default().push(handle);
        }
        if sort.is_none_or(|sort| handles.contains_key(sort)) || max_doc == 0 {
            return Ok((reader, handles));
        }
        Err(Error::corrupt(path, format!("it lacks the column {:?}, which the index is sorted by", sort.unwrap_or(""))))
    })
}

/// Files of index format 5 came with columns only from tantivy 0.20 on.
fn not_columnar(path: &Path, written_by: WrittenBy) -> Error {
    if (written_by.major, written_by.minor) < (0, 20) {
        return Error::Unsupported {
            path: path.to_path_buf(),
            what: "the form of the fast fields",
            found: format!("one from before columns, written by {written_by}"),
            expected: "columns (tantivy 0.20 to 0.27)".to_owned(),
            hint: "re-index the documents with a current tantivy".to_owned(),
        };
    }
    Error::corrupt(path, "its columnar footer does not end in the magic bytes")
}

/// `Err` with the number of rows where it is not `max_doc`.
fn check_rows(column: &DynamicColumn, max_doc: u32) -> Result<(), u32> {
    let rows = match column.column_index() {
        ColumnIndex::Empty { num_docs } => *num_docs,
        ColumnIndex::Full => column.num_values(),
        ColumnIndex::Optional(index) => index.num_docs(),
        ColumnIndex::Multivalued(index) => index.num_docs(),
    };
    if rows == max_doc { Ok(()) } else { Err(rows) }
}

/// `.del`: `u32 LE documents ‖ u64 LE words`, one bit per document, set for live ones.
pub(super) fn check_deletes(path: &Path, body: &OwnedBytes, max_doc: u32, num_deleted: u32) -> Result<()> {
    let words = u64::from(max_doc.div_ceil(64));
    if body.len() as u64 != 4 + 8 * words {
        let problem = format!("it has {} bytes, {} are due for {max_doc} documents", body.len(), 4 + 8 * words);
        return Err(Error::corrupt(path, problem));
    }
    let mut bytes = Bytes::new(body);
    let documents = bytes.u32().unwrap_or_default();
    if documents != max_doc {
        return Err(Error::corrupt(path, format!("it speaks of {documents} documents, the segment has {max_doc}")));
    }
    let (mut live, mut last) = (0u64, 0u64);
    while let Some(word) = bytes.u64() {
        live += u64::from(word.count_ones());
        last = word;
    }
    let padding = max_doc % 64;
    if padding != 0 && last >> padding != 0 {
        return Err(Error::corrupt(path, format!("it marks documents beyond {max_doc} as live")));
    }
    let due = u64::from(max_doc) - u64::from(num_deleted).min(u64::from(max_doc));
    if live != due {
        let problem = format!("it marks {live} documents as live, meta.json says {due} of {max_doc}");
        return Err(Error::corrupt(path, problem));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tantivy_common::BitSet;

    fn alive(max_doc: u32, deleted: &[u32]) -> Vec<u8> {
        let mut bits = BitSet::with_max_value_and_full(max_doc);
        for &doc in deleted {
            bits.remove(doc);
        }
        let mut bytes = Vec::new();
        bits.serialize(&mut bytes).unwrap();
        bytes
    }

    fn check(bytes: Vec<u8>, max_doc: u32, num_deleted: u32) -> Result<(), String> {
        check_deletes(Path::new("a.1.del"), &OwnedBytes::new(bytes), max_doc, num_deleted).map_err(|e| e.to_string())
    }

    #[test]
    fn alive_bitsets_of_every_width_pass_as_tantivy_writes_them() {
        for max_doc in [1, 63, 64, 65, 128, 200] {
            assert_eq!(check(alive(max_doc, &[0]), max_doc, 1), Ok(()), "{max_doc}");
            assert_eq!(check(alive(max_doc, &[max_doc - 1]), max_doc, 1), Ok(()), "{max_doc}");
        }
    }

    #[test]
    fn alive_bitsets_that_contradict_meta_json_are_refused() {
        for (what, bytes, expected) in [
            ("another count", alive(70, &[1, 2]), "69 of 70"),
            ("other documents", alive(69, &[1]), "speaks of 69"),
            ("cut off", alive(70, &[1])[..19].to_vec(), "19 bytes"),
            ("bits beyond the end", [&70u32.to_le_bytes()[..], &[0xff; 15], &[0x7f]].concat(), "beyond 70"),
        ] {
            let problem = check(bytes, 70, 1).unwrap_err();
            assert!(problem.contains(expected), "{what}: {problem}");
        }
    }

    #[test]
    fn fast_fields_from_before_columns_are_refused_with_the_version_that_wrote_them() {
        let by = |minor| WrittenBy { major: 0, minor, patch: 2, index_format: 5 };
        let error = not_columnar(Path::new("a.fast"), by(19));
        assert!(matches!(&error, Error::Unsupported { .. }) && error.to_string().contains("tantivy 0.19.2"), "{error}");
        assert!(matches!(not_columnar(Path::new("a.fast"), by(20)), Error::Corrupt { .. }));
    }
}
