//! One segment of an open index: its planes as mapped bytes, and tantivy's own reader beside them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::columnar::{ColumnarReader, DynamicColumnHandle};
use tantivy::directory::{CompositeFile, FileSlice, OwnedBytes};
use tantivy::index::SegmentMeta;
use tantivy::schema::Field;
use tantivy::termdict::TermDictionary;
use tantivy::{DocId, Index, SegmentReader};

use super::file_id::FileId;
use super::guard::guard;
use super::preflight::{CheckedFile, CheckedSegment, StoreInfo, WrittenBy};
use crate::error::{Error, Result};

/// The files of a segment that every segment has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Component {
    /// `.term`: one term dictionary per indexed field.
    Terms,
    /// `.idx`: postings: documents and term frequencies.
    Postings,
    /// `.pos`: positions.
    Positions,
    /// `.fieldnorm`: one byte per document and field with norms.
    FieldNorms,
    /// `.fast`: columns.
    FastFields,
    /// `.store`: stored documents.
    Store,
}

impl Component {
    /// In the order in which they are written.
    pub const ALL: [Component; 6] = [
        Component::Terms,
        Component::Postings,
        Component::Positions,
        Component::FieldNorms,
        Component::FastFields,
        Component::Store,
    ];

    /// File name extension, without the dot.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Component::Terms => "term",
            Component::Postings => "idx",
            Component::Positions => "pos",
            Component::FieldNorms => "fieldnorm",
            Component::FastFields => "fast",
            Component::Store => "store",
        }
    }

    /// File name for the segment whose id is `id` (32 hexadecimal digits).
    #[must_use]
    pub fn file_name(self, id: &str) -> String {
        format!("{id}.{}", self.extension())
    }
}

/// Name of the alive bitset of the segment whose id is `id`, as of `opstamp`.
#[must_use]
pub fn deletes_file_name(id: &str, opstamp: u64) -> String {
    format!("{id}.{opstamp}.del")
}

/// One segment of an open index.
pub struct Segment {
    path: PathBuf,
    id: String,
    origin: Option<usize>,
    reader: SegmentReader,
    checked: CheckedSegment,
    composites: BTreeMap<Component, CompositeFile>,
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segment").field("id", &self.id).field("max_doc", &self.max_doc()).finish_non_exhaustive()
    }
}

impl Segment {
    pub(super) fn open(
        dir: &Path,
        origin: Option<usize>,
        index: &Index,
        meta: &SegmentMeta,
        checked: CheckedSegment,
    ) -> Result<Segment> {
        let id = meta.id().uuid_string();
        let reader = guard(dir.join(&id), "the segment", || {
            SegmentReader::open(&index.segment(meta.clone())).map_err(Error::tantivy(format!("segment {id}"), dir))
        })?;
        let mut composites = BTreeMap::new();
        for file in &checked.files {
            let Some(component) = file.component.filter(|component| checked.parts.contains_key(component)) else {
                continue;
            };
            let body = FileSlice::new(Arc::new(file.body.clone()));
            let composite = guard(&file.path, "the table of fields", || {
                CompositeFile::open(&body).map_err(Error::io("read the table of fields of", &file.path))
            })?;
            composites.insert(component, composite);
        }
        let segment = Segment { path: dir.join(&id), id, origin, reader, checked, composites };
        // Opened once here, so that none fails in the middle of a split.
        for (field, _) in index.schema().fields() {
            segment.terms(field)?;
        }
        Ok(segment)
    }

    /// 32 hexadecimal digits.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Index of its directory in [`Source::dirs`](super::Source::dirs).
    #[must_use]
    pub fn origin(&self) -> usize {
        self.origin.unwrap_or(0)
    }

    /// Its directory where the source was opened as one of several, so that its id alone may not say which it is.
    #[must_use]
    pub fn origin_dir(&self) -> Option<&Path> {
        self.origin.and_then(|_| self.path.parent())
    }

    /// The index directory joined with the id; add an extension for a file's path, or print it as an address.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path of one of its files.
    #[must_use]
    pub fn file(&self, component: Component) -> PathBuf {
        self.path.with_extension(component.extension())
    }

    /// Documents, deleted ones included.
    #[must_use]
    pub fn max_doc(&self) -> u32 {
        self.reader.max_doc()
    }

    /// Live documents.
    #[must_use]
    pub fn num_docs(&self) -> u32 {
        self.reader.num_docs()
    }

    /// Whether `doc` is live. `doc` must be below [`Segment::max_doc`].
    #[must_use]
    pub fn is_alive(&self, doc: DocId) -> bool {
        self.reader.alive_bitset().is_none_or(|alive| alive.is_alive(doc))
    }

    /// Bytes of its files, footers included, `.del` apart.
    #[must_use]
    pub fn num_bytes(&self) -> u64 {
        Component::ALL.iter().map(|&component| self.component_bytes(component)).sum()
    }

    /// Bytes of one of its files, footer included.
    #[must_use]
    pub fn component_bytes(&self, component: Component) -> u64 {
        self.checked_file(Some(component)).map_or(0, |file| file.len as u64)
    }

    /// Bytes of its alive bitset, footer included; 0 where nothing is deleted.
    #[must_use]
    pub fn deletes_bytes(&self) -> u64 {
        self.checked_file(None).map_or(0, |file| file.len as u64)
    }

    /// Bytes that `field` takes in `.term`, `.idx`, `.pos` or `.fieldnorm`; 0 for the other components.
    #[must_use]
    pub fn field_bytes(&self, component: Component, field: Field) -> u64 {
        self.checked.parts.get(&component).map_or(0, |parts| parts.len(field) as u64)
    }

    /// The newest tantivy that wrote one of its six files.
    #[must_use]
    pub fn written_by(&self) -> WrittenBy {
        let files = self.checked.files.iter().filter(|file| file.component.is_some());
        files.map(|file| file.footer.written_by).max().unwrap_or_default()
    }

    /// CRC-32 of one of its files, all bytes: the footer's, continued over the footer. If the body was damaged since it was
    /// written, this is the checksum it should have.
    pub(crate) fn file_crc32(&self, component: Component) -> u32 {
        self.checked_file(Some(component)).map_or(0, |file| file.crc32)
    }

    /// Which file was mapped as one of its files; its name may stand for another one now.
    pub(crate) fn file_id(&self, component: Component) -> Option<&FileId> {
        self.checked_file(Some(component)).map(|file| &file.id)
    }

    pub(super) fn files(&self) -> &[CheckedFile] {
        &self.checked.files
    }

    fn checked_file(&self, component: Option<Component>) -> Option<&CheckedFile> {
        self.checked.files.iter().find(|file| file.component == component)
    }

    /// tantivy's reader.
    #[must_use]
    pub fn reader(&self) -> &SegmentReader {
        &self.reader
    }

    /// A file's bytes without its footer.
    #[must_use]
    pub fn body(&self, component: Component) -> &[u8] {
        self.checked_file(Some(component)).map_or(&[], |file| file.body.as_slice())
    }

    /// The term dictionary of `field`; `None` where the segment has no term for it.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Panic`], not for a segment of an open [`Source`](super::Source): it opened them all.
    pub fn terms(&self, field: Field) -> Result<Option<TermDictionary>> {
        let Some(file) = self.composites.get(&Component::Terms) else { return Ok(None) };
        let path = self.file(Component::Terms);
        guard(&path, format!("the term dictionary of field {}", field.field_id()), || {
            let Some(slice) = file.open_read(field) else { return Ok(None) };
            TermDictionary::open(slice).map(Some).map_err(Error::io("read the term dictionary of", &path))
        })
    }

    /// The bytes of that dictionary.
    pub fn terms_bytes(&self, field: Field) -> Result<Option<OwnedBytes>> {
        self.read(field, Component::Terms)
    }

    /// Postings of `field`: a u64 LE total number of tokens, then what the ranges of term infos refer to.
    pub fn postings(&self, field: Field) -> Result<Option<OwnedBytes>> {
        self.read(field, Component::Postings)
    }

    /// Positions of `field`, as the ranges of term infos refer to them.
    pub fn positions(&self, field: Field) -> Result<Option<OwnedBytes>> {
        self.read(field, Component::Positions)
    }

    /// Field norm ids of `field`, one byte per document.
    pub fn norms(&self, field: Field) -> Result<Option<OwnedBytes>> {
        self.read(field, Component::FieldNorms)
    }

    fn read(&self, field: Field, component: Component) -> Result<Option<OwnedBytes>> {
        let slice = self.composites.get(&component).and_then(|file| file.open_read(field));
        let Some(slice) = slice else { return Ok(None) };
        slice.read_bytes().map(Some).map_err(Error::io("read", self.file(component)))
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &ColumnarReader {
        &self.checked.columns
    }

    /// The columns called `name`, at most one of each type.
    #[must_use]
    pub fn column_handles(&self, name: &str) -> &[DynamicColumnHandle] {
        self.checked.handles.get(name).map_or(&[], Vec::as_slice)
    }

    /// Names of its columns, ascending.
    pub fn column_names(&self) -> impl Iterator<Item = &str> {
        self.checked.handles.keys().map(String::as_str)
    }

    /// Version and codec of the doc store.
    #[must_use]
    pub fn store(&self) -> StoreInfo {
        self.checked.store
    }
}
