//! What an index is made of: segments, fields, sizes, deletes, fields that can serve as key.
//!
//! Input: an open [`Source`]. Output: an [`Inspection`], pure data for whoever renders it. Reads tables only; the cost
//! is that of listing the columns, plus what [`usable_key_fields`] reads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;
use tantivy::schema::{Field, FieldEntry, IndexRecordOption, Schema};

use crate::error::{Error, Result};
use crate::partition::{KeyPlane, usable_key_fields};
use crate::source::{Component, Segment, Source, StoreInfo, WrittenBy, guard};

/// An index as found.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    /// The index directory, as given.
    pub dir: PathBuf,
    /// The versions of tantivy that wrote its segments, oldest first.
    pub written_by: Vec<WrittenBy>,
    /// Opstamp of the last commit.
    pub opstamp: u64,
    /// Payload of the last commit.
    pub payload: Option<String>,
    /// Index settings.
    pub settings: Settings,
    /// The segments, in the order of `meta.json`.
    pub segments: Vec<SegmentInspection>,
    /// The fields, in the order of the schema.
    pub fields: Vec<FieldInspection>,
    /// Over all segments.
    pub totals: Totals,
    /// Fields that can serve as key, with the plane that would be read.
    pub key_fields: Vec<KeyField>,
    /// What an operator should know.
    pub notes: Vec<String>,
}

/// Index settings as `meta.json` has them.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    /// Codec that new doc stores are written with; the ones there name their own in [`SegmentInspection::store`].
    pub docstore_compression: String,
    /// Bytes of documents in a block of a doc store, before compression.
    pub docstore_blocksize: u64,
    /// The field that documents are sorted by, where there is one.
    pub sort_by_field: Option<String>,
    /// Whether that order is descending.
    pub sort_descending: bool,
}

/// One segment.
#[derive(Clone, Debug, Serialize)]
pub struct SegmentInspection {
    /// 32 hexadecimal digits.
    pub id: String,
    /// Documents, deleted ones included.
    pub max_doc: u32,
    /// Live documents.
    pub live: u32,
    /// Deleted documents.
    pub deleted: u32,
    /// The newest tantivy that wrote one of its files.
    pub written_by: WrittenBy,
    /// Version and codec of its doc store.
    pub store: StoreInfo,
    /// Sizes of its files.
    pub bytes: ComponentBytes,
}

/// Sizes of files in bytes, footers included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ComponentBytes {
    /// `.term`.
    pub terms: u64,
    /// `.idx`.
    pub postings: u64,
    /// `.pos`.
    pub positions: u64,
    /// `.fieldnorm`.
    pub norms: u64,
    /// `.fast`.
    pub columns: u64,
    /// `.store`.
    pub store: u64,
    /// `.del`.
    pub deletes: u64,
}

impl ComponentBytes {
    fn of(segment: &Segment) -> ComponentBytes {
        ComponentBytes {
            terms: segment.component_bytes(Component::Terms),
            postings: segment.component_bytes(Component::Postings),
            positions: segment.component_bytes(Component::Positions),
            norms: segment.component_bytes(Component::FieldNorms),
            columns: segment.component_bytes(Component::FastFields),
            store: segment.component_bytes(Component::Store),
            deletes: segment.deletes_bytes(),
        }
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        let ComponentBytes { terms, postings, positions, norms, columns, store, deletes } = self;
        terms + postings + positions + norms + columns + store + deletes
    }

    fn add(&mut self, other: &ComponentBytes) {
        self.terms += other.terms;
        self.postings += other.postings;
        self.positions += other.positions;
        self.norms += other.norms;
        self.columns += other.columns;
        self.store += other.store;
        self.deletes += other.deletes;
    }
}

/// One field of the schema.
#[derive(Clone, Debug, Serialize)]
pub struct FieldInspection {
    /// Its name.
    pub name: String,
    /// Its type, as `meta.json` spells it.
    #[serde(rename = "type")]
    pub kind: String,
    /// What its postings record: `basic`, `freq` or `position`; `None` where it is not indexed.
    pub record: Option<&'static str>,
    /// Name of its tokenizer, where it has one.
    pub tokenizer: Option<String>,
    /// Whether its values are in the doc store.
    pub stored: bool,
    /// Whether it has columns.
    pub fast: bool,
    /// Whether it has norms.
    pub norms: bool,
    /// Bytes in each plane over all segments; `store` and `deletes` are not kept by field and 0.
    pub bytes: ComponentBytes,
}

/// Over all segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Segments.
    pub segments: u64,
    /// Live documents.
    pub live: u64,
    /// Deleted documents.
    pub deleted: u64,
    /// Sizes of files.
    pub bytes: ComponentBytes,
}

/// A field that can serve as key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyField {
    /// Its name.
    pub field: String,
    /// Where keys would be read.
    pub plane: KeyPlane,
}

/// Looks at `source`.
///
/// # Errors
/// What reading columns or key fields gives; not for sizes, since opening read them.
pub fn inspect(source: &Source) -> Result<Inspection> {
    let segments: Vec<SegmentInspection> = source.segments().iter().map(inspect_segment).collect();
    let mut totals = Totals { segments: segments.len() as u64, ..Totals::default() };
    for segment in &segments {
        totals.live += u64::from(segment.live);
        totals.deleted += u64::from(segment.deleted);
        totals.bytes.add(&segment.bytes);
    }
    let key_fields = guard(source.dir(), "the fields that can serve as key", || usable_key_fields(source))?;
    let meta = source.meta().value();
    Ok(Inspection {
        dir: source.dir().to_path_buf(),
        written_by: segments.iter().map(|s| s.written_by).collect::<BTreeSet<_>>().into_iter().collect(),
        opstamp: source.meta().opstamp(),
        payload: meta.get("payload").and_then(Value::as_str).map(str::to_owned),
        settings: settings(source),
        fields: inspect_fields(source)?,
        segments,
        totals,
        key_fields: key_fields.into_iter().map(|(field, plane)| KeyField { field, plane }).collect(),
        notes: source.notes().to_vec(),
    })
}

fn settings(source: &Source) -> Settings {
    let settings = source.index().settings();
    let compression = serde_json::to_value(settings.docstore_compression).unwrap_or_default();
    Settings {
        docstore_compression: compression.as_str().unwrap_or_default().to_owned(),
        docstore_blocksize: settings.docstore_blocksize as u64,
        sort_by_field: settings.sort_by_field.as_ref().map(|sort| sort.field.clone()),
        sort_descending: settings.sort_by_field.as_ref().is_some_and(|sort| sort.order.is_desc()),
    }
}

fn inspect_segment(segment: &Segment) -> SegmentInspection {
    SegmentInspection {
        id: segment.id().to_owned(),
        max_doc: segment.max_doc(),
        live: segment.num_docs(),
        deleted: segment.max_doc() - segment.num_docs(),
        written_by: segment.written_by(),
        store: segment.store(),
        bytes: ComponentBytes::of(segment),
    }
}

fn inspect_fields(source: &Source) -> Result<Vec<FieldInspection>> {
    let schema = source.schema();
    let mut columns: BTreeMap<Field, u64> = BTreeMap::new();
    for segment in source.segments() {
        let path = segment.file(Component::FastFields);
        let listed = guard(&path, "the dictionary of columns", || {
            segment.columns().list_columns().map_err(Error::io("list the columns of", &path))
        })?;
        for (name, handle) in listed {
            if let Some(field) = field_of_column(&schema, &name) {
                *columns.entry(field).or_default() += handle.num_bytes().get_bytes();
            }
        }
    }
    let of_field = |field: Field| {
        let bytes = |component| source.segments().iter().map(|segment| segment.field_bytes(component, field)).sum();
        ComponentBytes {
            terms: bytes(Component::Terms),
            postings: bytes(Component::Postings),
            positions: bytes(Component::Positions),
            norms: bytes(Component::FieldNorms),
            columns: columns.get(&field).copied().unwrap_or(0),
            ..ComponentBytes::default()
        }
    };
    Ok(schema.fields().map(|(field, entry)| inspect_field(entry, of_field(field))).collect())
}

/// Columns of a JSON field are called `field ‖ 0x01 ‖ path`, all others like their field.
fn field_of_column(schema: &Schema, column: &str) -> Option<Field> {
    let name = column.split_once('\u{1}').map_or(column, |(field, _)| field);
    schema.get_field(name).ok()
}

fn inspect_field(entry: &FieldEntry, bytes: ComponentBytes) -> FieldInspection {
    // The schema's own JSON form names type and tokenizer; tantivy has no other public way to the latter for all types.
    let json = serde_json::to_value(entry).unwrap_or_default();
    let text = |pointer: &str| json.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    FieldInspection {
        name: entry.name().to_owned(),
        kind: text("/type").unwrap_or_default(),
        record: entry.field_type().get_index_record_option().map(|record| match record {
            IndexRecordOption::Basic => "basic",
            IndexRecordOption::WithFreqs => "freq",
            IndexRecordOption::WithFreqsAndPositions => "position",
        }),
        tokenizer: text("/options/indexing/tokenizer"),
        stored: entry.is_stored(),
        fast: entry.is_fast(),
        norms: entry.has_fieldnorms(),
        bytes,
    }
}
