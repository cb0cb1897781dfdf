//! Field norms (`.fieldnorm`): per document and field with norms one byte that stands for the field's length.
//!
//! Input: a source, and a group of its segments with the outputs they feed. Output: a `.fieldnorm` file per output with
//! every field that has norms, in field order, and exactly one byte per document; and the sums of lengths from which the
//! postings writer gets a field's average. Norms are copied as bytes and never computed anew: they are rounded. Each is
//! read once for the files, by a thread per output, and once more where documents are dropped, to see what they had.
//! Memory: the buffers of the files that are open.

use std::io::Write;

use tantivy::directory::OwnedBytes;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::schema::Field;

use super::file::CompositeWriter;
use super::output::{ChildFiles, WrittenFile};
use crate::error::{Error, Result};
use crate::partition::Group;
use crate::source::{Component, Source};
use crate::threads;

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
    /// By output, at least: a norm stands for the shortest length that has it.
    pub(super) outputs: Vec<u64>,
    /// By output, at most. Equal to `outputs` where norms are exact.
    pub(super) most: Vec<u64>,
    /// Over documents that go nowhere.
    pub(super) dropped: u64,
    /// Whether every norm was an exact number of tokens.
    pub(super) exact: bool,
}

/// What norm ids stand for.
struct Scale {
    /// The shortest length in tokens, by id.
    least: Vec<u64>,
    /// The longest.
    most: Vec<u64>,
}

impl Scale {
    fn new() -> Scale {
        let least: Vec<u64> = (0..=u8::MAX).map(|id| u64::from(FieldNormReader::id_to_fieldnorm(id))).collect();
        // The longest field with a norm is one token shorter than the shortest with the next norm.
        let next = least.iter().skip(1).map(|&next| next - 1);
        let most = next.chain(least.last().copied()).collect();
        Scale { least, most }
    }

    fn least(&self, id: u8) -> u64 {
        self.least.get(usize::from(id)).copied().unwrap_or(0)
    }

    fn most(&self, id: u8) -> u64 {
        self.most.get(usize::from(id)).copied().unwrap_or(0)
    }
}

/// Norm ids of a field, by segment of the group; `None` where there are none.
type Norms = Vec<Option<OwnedBytes>>;

/// Writes the norms of all outputs of `group`. `ids`: their segment ids.
///
/// # Errors
/// [`Error::Corrupt`] if a field has norms in some segments of the source only, or not one per document; [`Error::Io`].
pub(super) fn write(
    source: &Source,
    group: &Group,
    files: &dyn ChildFiles,
    ids: &[String],
    threads: usize,
) -> Result<WrittenNorms> {
    let scale = Scale::new();
    let schema = source.schema();
    let with_norms = schema.fields().filter(|(_, entry)| entry.is_indexed() && entry.has_fieldnorms());
    let fields: Vec<(Field, Norms)> =
        with_norms.map(|(field, _)| Ok((field, norms_of(source, group, field)?))).collect::<Result<_>>()?;
    let outputs: Vec<(usize, &String)> = ids.iter().enumerate().collect();
    let written =
        threads::each(&outputs, threads, |&(output, id)| write_output(group, (output, id), files, &fields, &scale))?;
    let mut lengths: Vec<(Field, FieldLengths)> =
        fields.iter().map(|(field, norms)| (*field, dropped(source, group, norms, &scale))).collect();
    let mut all = Vec::with_capacity(written.len());
    for (file, sums) in written {
        for ((_, lengths), sum) in lengths.iter_mut().zip(sums) {
            lengths.outputs.push(sum.least);
            lengths.most.push(sum.most);
            lengths.exact &= sum.exact;
        }
        all.push(file);
    }
    Ok(WrittenNorms { files: all, lengths })
}

/// Lengths of one field in one output.
struct Sum {
    least: u64,
    most: u64,
    exact: bool,
}

/// Writes the file of one output.
fn write_output(
    group: &Group,
    (output, id): (usize, &str),
    files: &dyn ChildFiles,
    fields: &[(Field, Norms)],
    scale: &Scale,
) -> Result<(WrittenFile, Vec<Sum>)> {
    let name = Component::FieldNorms.file_name(id);
    let child = group.outputs.get(output).map_or(0, |output| output.child);
    let mut writer = CompositeWriter::create(files, child, name.clone())?;
    let mut sums = Vec::with_capacity(fields.len());
    let mut chunk = Vec::with_capacity(CHUNK);
    for (field, segments) in fields {
        let part = writer.begin(*field);
        let mut sum = Sum { least: 0, most: 0, exact: true };
        for row in group.rows(output) {
            // A field without any norms in the source has length 0 everywhere.
            let norms = segments.get(row.segment).and_then(Option::as_ref);
            let id = norms.and_then(|norms| norms.get(row.doc as usize)).copied().unwrap_or(0);
            sum.least += scale.least(id);
            sum.most += scale.most(id);
            sum.exact &= id < FIRST_LOSSY;
            chunk.push(id);
            if chunk.len() == CHUNK {
                part.write_all(&chunk).map_err(Error::io("write", &*name))?;
                chunk.clear();
            }
        }
        part.write_all(&chunk).map_err(Error::io("write", &*name))?;
        chunk.clear();
        sums.push(sum);
    }
    Ok((writer.finish()?, sums))
}

/// Lengths of one field, as far as documents go nowhere.
fn dropped(source: &Source, group: &Group, norms: &Norms, scale: &Scale) -> FieldLengths {
    let mut lengths = FieldLengths { exact: true, ..FieldLengths::default() };
    let segments = group.segments.iter().filter_map(|&index| source.segments().get(index));
    let docs: u64 = segments.map(|segment| u64::from(segment.max_doc())).sum();
    if docs == group.outputs.iter().map(|output| u64::from(output.num_docs)).sum::<u64>() {
        return lengths;
    }
    for (segment, norms) in norms.iter().enumerate() {
        let norms = norms.as_ref().map_or(&[][..], OwnedBytes::as_slice);
        for (doc, &id) in (0..).zip(norms) {
            if group.lookup(segment, doc).is_none() {
                lengths.dropped += scale.least(id);
                lengths.exact &= id < FIRST_LOSSY;
            }
        }
    }
    lengths
}

/// Norm ids of `field` by segment of the group: all of them, or none if no segment of the source has any.
fn norms_of(source: &Source, group: &Group, field: Field) -> Result<Norms> {
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

#[cfg(test)]
mod tests {
    use tantivy::directory::{CompositeFile, FileSlice};

    use super::super::columns::fixture::{self, MemoryFiles};
    use super::*;
    use crate::partition::SegmentMode;

    fn lengths_of(written: &WrittenNorms, field: Field) -> Option<&FieldLengths> {
        written.lengths.iter().find(|(found, _)| *found == field).map(|(_, lengths)| lengths)
    }

    fn total_of(written: &WrittenNorms, field: Field, output: usize) -> Option<u64> {
        lengths_of(written, field)?.outputs.get(output).copied()
    }

    fn compare(source: &Source, children: u16, mode: SegmentMode) {
        let map = fixture::deal(source, children, mode, |number| (number % 11) as u16);
        let schema = source.schema();
        let with_norms = ["id", "title", "body", "n"].map(|name| schema.get_field(name).unwrap());
        // The fields for which tantivy wrote norms, so that a wrong rule cannot agree with itself.
        for (field, _) in schema.fields() {
            assert_eq!(source.segments()[0].norms(field).unwrap().is_some(), with_norms.contains(&field));
        }
        for group in &map.groups {
            let files = MemoryFiles::default();
            let written = write(source, group, &files, &fixture::ids(group), 2).unwrap();
            assert!(written.lengths.iter().map(|(field, _)| *field).eq(with_norms));
            for (output, file) in written.files.iter().enumerate() {
                let body = files.body(group.outputs[output].child, file);
                let composite = CompositeFile::open(&FileSlice::from(body)).unwrap();
                let parts = schema.fields().filter(|(field, _)| composite.open_read(*field).is_some()).count();
                assert_eq!(parts, with_norms.len());
                for &field in &with_norms {
                    let expected: Vec<u8> = group
                        .rows(output)
                        .map(|row| {
                            let segment = &source.segments()[group.segments[row.segment]];
                            segment.reader().get_fieldnorms_reader(field).unwrap().fieldnorm_id(row.doc)
                        })
                        .collect();
                    let found = composite.open_read(field).unwrap().read_bytes().unwrap();
                    assert_eq!(found.as_slice(), expected);
                    assert_eq!(found.len(), group.outputs[output].num_docs as usize);
                    let total = expected.iter().map(|&id| u64::from(FieldNormReader::id_to_fieldnorm(id))).sum();
                    assert_eq!(total_of(&written, field, output), Some(total));
                }
            }
        }
    }

    #[test]
    fn every_document_keeps_its_norms() {
        let segments = [fixture::documents(0, 300), fixture::documents(1_000, 5_000)];
        let index = fixture::index(fixture::schema(), &segments, &["id-00000000", "id-9e3779b9"], None);
        compare(&index.source, 1, SegmentMode::One);
        compare(&index.source, 3, SegmentMode::One);
        compare(&index.source, 3, SegmentMode::Keep);
    }

    #[test]
    fn norms_follow_documents_that_interleave() {
        let segments = [fixture::documents(0, 300), fixture::documents(100, 300)];
        let index = fixture::index(fixture::schema(), &segments, &[], Some("u"));
        compare(&index.source, 4, SegmentMode::One);
    }

    #[test]
    fn totals_are_sums_of_lengths_and_say_whether_they_are_exact() {
        let docs = vec![
            r#"{"id":"a","title":"one two three"}"#.to_owned(),
            r#"{"id":"b","title":"one"}"#.to_owned(),
            r#"{"id":"c"}"#.to_owned(),
            r#"{"id":"d","title":"deleted words"}"#.to_owned(),
            format!(r#"{{"id":"e","body":"{}"}}"#, "word ".repeat(41)),
        ];
        let index = fixture::index(fixture::schema(), &[docs], &["d"], None);
        let map = fixture::deal(&index.source, 2, SegmentMode::One, |number| u16::from(number >= 3));
        let files = MemoryFiles::default();
        let written = write(&index.source, &map.groups[0], &files, &fixture::ids(&map.groups[0]), 2).unwrap();
        let lengths = |name| lengths_of(&written, index.source.schema().get_field(name).unwrap());
        assert_eq!(
            lengths("title"),
            Some(&FieldLengths { outputs: vec![4, 0], most: vec![4, 0], dropped: 2, exact: true })
        );
        // 41 tokens are stored as 40.
        assert_eq!(
            lengths("body"),
            Some(&FieldLengths { outputs: vec![0, 40], most: vec![0, 41], dropped: 0, exact: false })
        );
        assert_eq!(lengths("u"), None);
    }

    #[test]
    fn a_segment_that_alone_lacks_a_fields_norms_is_named() {
        // No document has a title: a segment with terms and no norms is refused when it is opened.
        let segments = ["a", "b"].map(|id| vec![format!(r#"{{"id":"{id}"}}"#), format!(r#"{{"id":"{id}{id}"}}"#)]);
        let index = fixture::index(fixture::schema(), &segments, &[], None);
        let title = index.source.schema().get_field("title").unwrap();
        let lacking = |segments: std::ops::Range<usize>| {
            for segment in &index.source.segments()[segments] {
                let files = MemoryFiles::default();
                let mut writer = CompositeWriter::create(&files, 0, "new".to_owned()).unwrap();
                for (field, _) in index.source.schema().fields().filter(|(field, _)| *field != title) {
                    if let Some(norms) = segment.norms(field).unwrap() {
                        writer.begin(field).write_all(&norms).unwrap();
                    }
                }
                let bytes = files.bytes(0, &writer.finish().unwrap());
                let path = segment.file(Component::FieldNorms);
                std::fs::remove_file(&path).unwrap();
                std::fs::write(&path, bytes).unwrap();
            }
            let source = fixture::open(index.dir.path());
            let map = fixture::deal(&source, 2, SegmentMode::One, |number| (number % 2) as u16);
            write(&source, &map.groups[0], &MemoryFiles::default(), &fixture::ids(&map.groups[0]), 2)
        };
        let error = lacking(1..2).unwrap_err();
        assert!(
            matches!(&error, Error::Corrupt { path, .. } if *path == index.source.segments()[1].file(Component::FieldNorms))
        );
        assert!(error.to_string().contains("field \"title\" has no norms"), "{error}");
        // A source without any: length 0 everywhere.
        assert_eq!(total_of(&lacking(0..2).unwrap(), title, 0), Some(0));
    }
}
