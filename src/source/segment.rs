//! One segment of an open index: its planes as mapped bytes, and tantivy's own reader beside them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::columnar::ColumnarReader;
use tantivy::directory::{CompositeFile, FileSlice, OwnedBytes};
use tantivy::index::SegmentMeta;
use tantivy::schema::Field;
use tantivy::termdict::TermDictionary;
use tantivy::{DocId, Index, SegmentReader};

use super::meta::Meta;
use crate::error::{Error, Result};

/// The files of a segment that every segment has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// How the blocks of a doc store are compressed; from the store's own footer, not from the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreCodec {
    /// Stored as they are (id 0).
    None,
    /// u32 LE length, then an LZ4 block (id 1).
    Lz4,
    /// u32 LE length, then a zstd frame (id 4).
    Zstd,
}

/// What the 28-byte footer of a `.store` body says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreInfo {
    /// 1: stored dates are microseconds; 2: nanoseconds.
    pub version: u32,
    /// How blocks are compressed.
    pub codec: StoreCodec,
}

/// One segment of an open index.
pub struct Segment {
    path: PathBuf,
    id: String,
    reader: SegmentReader,
    bodies: BTreeMap<Component, OwnedBytes>,
    num_bytes: u64,
    terms: CompositeFile,
    postings: CompositeFile,
    positions: CompositeFile,
    norms: CompositeFile,
    columns: ColumnarReader,
    store: StoreInfo,
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segment").field("id", &self.id).field("max_doc", &self.max_doc()).finish_non_exhaustive()
    }
}

impl Segment {
    pub(super) fn open(
        dir: &Path,
        index: &Index,
        meta: &SegmentMeta,
        _index_meta: &Meta,
        files: &BTreeMap<PathBuf, OwnedBytes>,
    ) -> Result<Segment> {
        let id = meta.id().uuid_string();
        let path = |component: Component| dir.join(component.file_name(&id));
        let segment = index.segment(meta.clone());
        let reader = SegmentReader::open(&segment).map_err(Error::tantivy(format!("segment {id}"), dir))?;
        let mut bodies = BTreeMap::new();
        let mut num_bytes = 0;
        for component in Component::ALL {
            let name = PathBuf::from(component.file_name(&id));
            let file = files.get(&name).ok_or_else(|| Error::MissingFiles {
                path: dir.to_path_buf(),
                files: vec![name.display().to_string()],
            })?;
            num_bytes += file.len() as u64;
            let (_, body) = tantivy::directory::footer::Footer::extract_footer(FileSlice::new(Arc::new(file.clone())))
                .map_err(Error::io("read the footer of", path(component)))?;
            let body = body.read_bytes().map_err(Error::io("read", path(component)))?;
            bodies.insert(component, body);
        }
        let composite = |component: Component| -> Result<CompositeFile> {
            let body = bodies.get(&component).cloned().unwrap_or_else(OwnedBytes::empty);
            CompositeFile::open(&FileSlice::new(Arc::new(body))).map_err(Error::io("read", path(component)))
        };
        let (terms, postings) = (composite(Component::Terms)?, composite(Component::Postings)?);
        let (positions, norms) = (composite(Component::Positions)?, composite(Component::FieldNorms)?);
        let fast = bodies.get(&Component::FastFields).cloned().unwrap_or_else(OwnedBytes::empty);
        let columns = ColumnarReader::open(FileSlice::new(Arc::new(fast)))
            .map_err(Error::io("read", path(Component::FastFields)))?;
        let store =
            store_info(&path(Component::Store), bodies.get(&Component::Store).map_or(&[][..], |body| body.as_slice()))?;
        Ok(Segment {
            path: dir.join(&id),
            id,
            reader,
            bodies,
            num_bytes,
            terms,
            postings,
            positions,
            norms,
            columns,
            store,
        })
    }

    /// 32 hexadecimal digits.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
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
        self.num_bytes
    }

    /// tantivy's reader.
    #[must_use]
    pub fn reader(&self) -> &SegmentReader {
        &self.reader
    }

    /// A file's bytes without its footer.
    #[must_use]
    pub fn body(&self, component: Component) -> &[u8] {
        self.bodies.get(&component).map_or(&[], |body| body.as_slice())
    }

    /// The term dictionary of `field`; `None` where the segment has no term for it.
    pub fn terms(&self, field: Field) -> Result<Option<TermDictionary>> {
        let Some(slice) = self.terms.open_read(field) else { return Ok(None) };
        TermDictionary::open(slice)
            .map(Some)
            .map_err(Error::io("read the term dictionary of", self.file(Component::Terms)))
    }

    /// Bytes of the term dictionary of `field`.
    #[must_use]
    pub fn terms_len(&self, field: Field) -> u64 {
        self.terms.open_read(field).map_or(0, |slice| slice.num_bytes().get_bytes())
    }

    /// Postings of `field`: a u64 LE total number of tokens, then what the ranges of term infos refer to.
    pub fn postings(&self, field: Field) -> Result<Option<OwnedBytes>> {
        self.read(&self.postings, field, Component::Postings)
    }

    /// Positions of `field`, as the ranges of term infos refer to them.
    pub fn positions(&self, field: Field) -> Result<Option<OwnedBytes>> {
        self.read(&self.positions, field, Component::Positions)
    }

    /// Field norm ids of `field`, one byte per document.
    pub fn norms(&self, field: Field) -> Result<Option<OwnedBytes>> {
        let norms = self.read(&self.norms, field, Component::FieldNorms)?;
        match &norms {
            Some(norms) if norms.len() != self.max_doc() as usize => Err(Error::corrupt(
                self.file(Component::FieldNorms),
                format!("field {} has {} norms for {} documents", field.field_id(), norms.len(), self.max_doc()),
            )),
            _ => Ok(norms),
        }
    }

    fn read(&self, file: &CompositeFile, field: Field, component: Component) -> Result<Option<OwnedBytes>> {
        let Some(slice) = file.open_read(field) else { return Ok(None) };
        slice.read_bytes().map(Some).map_err(Error::io("read", self.file(component)))
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &ColumnarReader {
        &self.columns
    }

    /// Version and codec of the doc store.
    #[must_use]
    pub fn store(&self) -> StoreInfo {
        self.store
    }
}

/// Reads version and codec from the last 28 bytes of a store's body.
pub(super) fn store_info(path: &Path, body: &[u8]) -> Result<StoreInfo> {
    let footer =
        body.len().checked_sub(28).and_then(|start| body.get(start..)).ok_or_else(|| {
            Error::corrupt(path, format!("it has {} bytes, a store's footer alone has 28", body.len()))
        })?;
    let version = footer.first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    if !(1..=2).contains(&version) {
        return Err(Error::Unsupported {
            path: path.to_path_buf(),
            what: "the store version",
            found: version.to_string(),
            expected: "1 or 2".to_owned(),
            hint: "a newer tantivy wrote it, or the file is damaged".to_owned(),
        });
    }
    let codec = match footer.get(12).copied().unwrap_or(u8::MAX) {
        0 => StoreCodec::None,
        1 => StoreCodec::Lz4,
        4 => StoreCodec::Zstd,
        other => {
            let name = match other {
                2 => "2 (brotli)".to_owned(),
                3 => "3 (snappy)".to_owned(),
                other => other.to_string(),
            };
            return Err(Error::Unsupported {
                path: path.to_path_buf(),
                what: "the store codec",
                found: name,
                expected: "none, lz4 or zstd".to_owned(),
                hint: "re-index with a supported codec".to_owned(),
            });
        }
    };
    Ok(StoreInfo { version, codec })
}
