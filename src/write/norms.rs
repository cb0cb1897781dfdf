//! Field norms (`.fieldnorm`): per document and field with norms one byte that stands for the field's length.
//!
//! Input: a source, and a group of its segments with the outputs they feed. Output: a `.fieldnorm` file per output with
//! every field that has norms, in field order, and exactly one byte per document; and the sums of lengths from which the
//! postings writer gets a field's average. Norms are copied as bytes and never computed anew: they are rounded. Each is
//! read once for the files, and once more to see what dropped documents had. Memory: the buffers of the files.

use std::io::Write;

use tantivy::directory::OwnedBytes;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::schema::Field;

use super::file::CompositeWriter;
use super::output::{ChildFiles, WrittenFile};
use crate::error::{Error, Result};
use crate::partition::Group;
use crate::source::{Component, Source};

const CHUNK: usize = 4_096;

/// Norm ids below this one are exact numbers of tokens.
const FIRST_LOSSY: u8 = 40;

/// The `.fieldnorm` files of a group's outputs.
#[derive(Debug)]
pub(super) struct WrittenNorms {
    /// By output.
    pub(super) files: Vec<WrittenFile>,
    /// Per field with norms, ascending.
    pub(super) lengths: Vec<(Field, FieldLengths)>,
}

/// Lengths of one field in tokens, as its norms tell them, summed up by where documents go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldLengths {
    /// By output.
    pub(super) outputs: Vec<u64>,
    /// Over documents that go nowhere.
    pub(super) dropped: u64,
    /// Whether every norm was an exact number of tokens.
    pub(super) exact: bool,
}

/// Writes the norms of all outputs of `group`. `ids`: their segment ids.
///
/// # Errors
/// [`Error::Corrupt`] if a field has norms in some segments of the source only, or not one per document; [`Error::Io`].
pub(super) fn write(source: &Source, group: &Group, files: &dyn ChildFiles, ids: &[String]) -> Result<WrittenNorms> {
    let lengths: Vec<u64> = (0..=u8::MAX).map(|id| u64::from(FieldNormReader::id_to_fieldnorm(id))).collect();
    let mut writers = Vec::with_capacity(group.outputs.len());
    for (output, id) in group.outputs.iter().zip(ids) {
        let name = Component::FieldNorms.file_name(id);
        writers.push((CompositeWriter::create(files, output.child, name.clone())?, name));
    }
    let schema = source.schema();
    let mut all_lengths = Vec::new();
    for (field, entry) in schema.fields() {
        if !(entry.is_indexed() && entry.has_fieldnorms()) {
            continue;
        }
        let segments = norms_of(source, group, field)?;
        let mut sums = FieldLengths { outputs: Vec::with_capacity(writers.len()), dropped: 0, exact: true };
        for (output, (writer, name)) in writers.iter_mut().enumerate() {
            let part = writer.begin(field);
            let mut total = 0;
            let mut chunk = Vec::with_capacity(CHUNK);
            for row in group.rows(output) {
                // A field without any norms in the source has length 0 everywhere.
                let segment = segments.get(row.segment).and_then(Option::as_ref);
                let id = segment.and_then(|norms| norms.get(row.doc as usize)).copied().unwrap_or(0);
                total += lengths.get(usize::from(id)).copied().unwrap_or(0);
                sums.exact &= id < FIRST_LOSSY;
                chunk.push(id);
                if chunk.len() == CHUNK {
                    part.write_all(&chunk).map_err(Error::io("write", &*name))?;
                    chunk.clear();
                }
            }
            part.write_all(&chunk).map_err(Error::io("write", &*name))?;
            sums.outputs.push(total);
        }
        for (segment, norms) in segments.iter().enumerate() {
            for (doc, &id) in (0..).zip(norms.iter().flat_map(|norms| norms.iter())) {
                if group.lookup(segment, doc).is_none() {
                    sums.dropped += lengths.get(usize::from(id)).copied().unwrap_or(0);
                    sums.exact &= id < FIRST_LOSSY;
                }
            }
        }
        all_lengths.push((field, sums));
    }
    let files = writers.into_iter().map(|(writer, _)| writer.finish()).collect::<Result<_>>()?;
    Ok(WrittenNorms { files, lengths: all_lengths })
}

/// Norm ids of `field` by segment of the group: all of them, or none if no segment of the source has any.
fn norms_of(source: &Source, group: &Group, field: Field) -> Result<Vec<Option<OwnedBytes>>> {
    let mut lacking = None;
    let mut found = false;
    let mut norms = Vec::with_capacity(group.segments.len());
    for (index, segment) in source.segments().iter().enumerate() {
        let bytes = segment.norms(field)?;
        match &bytes {
            Some(_) => found = true,
            None => lacking = lacking.or(Some(segment)),
        }
        if group.segments.binary_search(&index).is_ok() {
            norms.push(bytes);
        }
    }
    match lacking {
        Some(segment) if found => {
            let name = source.schema().get_field_name(field).to_owned();
            Err(Error::corrupt(segment.file(Component::FieldNorms), format!("field {name:?} has no norms")))
        }
        _ => Ok(norms),
    }
}
