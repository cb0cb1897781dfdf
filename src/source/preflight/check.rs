//! The order of the checks, and what they leave: every file mapped, with its footer and its tables.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tantivy::columnar::{ColumnarReader, DynamicColumnHandle};
use tantivy::directory::OwnedBytes;
use tantivy::schema::Schema;

use super::{FileFooter, Parts, StoreInfo, WrittenBy, footer, orphans, planes, settings, store, terms};
use crate::error::{Error, Result};
use crate::limits::Need;
use crate::source::directory::Blocks;
use crate::source::file_id::FileId;
use crate::source::meta::{META, Meta, SegmentEntry};
use crate::source::mmap;
use crate::source::segment::Component;

/// A mapped file whose footer is sound.
pub(in crate::source) struct CheckedFile {
    /// `None`: the alive bitset.
    pub(in crate::source) component: Option<Component>,
    pub(in crate::source) path: PathBuf,
    /// The file, footer included.
    pub(in crate::source) len: usize,
    pub(in crate::source) body: OwnedBytes,
    pub(in crate::source) footer: FileFooter,
    /// CRC-32 of the file, as its footer makes it.
    pub(in crate::source) crc32: u32,
    /// Which file it was; another one may have its name since.
    pub(in crate::source) id: FileId,
}

/// The files of one segment.
pub(in crate::source) struct CheckedSegment {
    /// In the order of [`Component::ALL`], then the alive bitset.
    pub(in crate::source) files: Vec<CheckedFile>,
    /// Tables of `.term`, `.idx`, `.pos` and `.fieldnorm`.
    pub(in crate::source) parts: BTreeMap<Component, Parts>,
    pub(in crate::source) columns: ColumnarReader,
    /// Its columns by name, as their table gives them.
    pub(in crate::source) handles: BTreeMap<String, Vec<DynamicColumnHandle>>,
    pub(in crate::source) store: StoreInfo,
    /// Bytes of the blocks of the store.
    pub(in crate::source) store_blocks: usize,
}

/// The files of an index.
pub(in crate::source) struct Checked {
    /// Whole files by name.
    pub(in crate::source) files: BTreeMap<PathBuf, OwnedBytes>,
    /// In the order of `meta.json`.
    pub(in crate::source) segments: Vec<CheckedSegment>,
}

impl Checked {
    /// The doc stores by file name.
    pub(in crate::source) fn stores(&self) -> BTreeMap<PathBuf, Blocks> {
        let store = |segment: &CheckedSegment| {
            let file = segment.files.iter().find(|file| file.component == Some(Component::Store))?;
            let name = PathBuf::from(file.path.file_name()?);
            Some((name, Blocks { codec: segment.store.codec, len: segment.store_blocks }))
        };
        self.segments.iter().filter_map(store).collect()
    }
}

/// Maps every file that `meta` names and checks it.
pub(in crate::source) fn map_and_check(dir: &Path, meta: &Meta, notes: &mut Vec<String>) -> Result<Checked> {
    let meta_path = dir.join(META);
    settings::check(&meta_path, meta)?;
    let names: Vec<FileName> = meta.segments().iter().flat_map(SegmentEntry::files).collect();
    let (mapped, ids) = map_all(dir, &names)?;
    let files = check_footers(dir, names, &mapped, &ids)?;
    let oldest = files.iter().flatten().map(|file| file.footer.written_by).min();
    let schema = settings::parse_schema(&meta_path, meta, oldest)?;
    let sort = settings::check_sort(&meta_path, meta, &schema)?;
    let segments = files
        .into_iter()
        .zip(meta.segments())
        .map(|(files, entry)| {
            let oldest = files.iter().map(|file| file.footer.written_by).min();
            check_segment(dir, files, entry, &schema, sort.as_deref()).map_err(|error| old_layout(error, oldest))
        })
        .collect::<Result<Vec<_>>>()?;
    notes.extend(orphans::note(dir, &mapped.keys().map(|name| name.as_os_str()).collect()));
    Ok(Checked { files: mapped, segments })
}

/// A file's component, and its name.
type FileName = (Option<Component>, String);

/// Whole files, and which files they are, by name.
type Mapped = (BTreeMap<PathBuf, OwnedBytes>, BTreeMap<PathBuf, FileId>);

fn map_all(dir: &Path, names: &[FileName]) -> Result<Mapped> {
    Need { files: 0, maps: names.len() as u64 }.check_maps()?;
    let (mut files, mut ids) = (BTreeMap::new(), BTreeMap::new());
    let mut missing = BTreeSet::new();
    for (_, name) in names {
        match mmap::map(&dir.join(name)) {
            Ok((bytes, id)) => {
                files.insert(PathBuf::from(name), bytes);
                ids.insert(PathBuf::from(name), id);
            }
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                missing.insert(name.clone());
            }
            Err(error) => return Err(error),
        }
    }
    if missing.is_empty() {
        Ok((files, ids))
    } else {
        Err(Error::MissingFiles { path: dir.to_path_buf(), files: missing.into_iter().collect() })
    }
}

/// Reads all footers; one list of files per segment, in the order of `names`.
fn check_footers(
    dir: &Path,
    names: Vec<FileName>,
    mapped: &BTreeMap<PathBuf, OwnedBytes>,
    ids: &BTreeMap<PathBuf, FileId>,
) -> Result<Vec<Vec<CheckedFile>>> {
    let files: Vec<(Option<Component>, PathBuf, OwnedBytes)> = names
        .into_iter()
        .map(|(component, name)| {
            let bytes = mapped.get(Path::new(&name)).cloned().unwrap_or_else(OwnedBytes::empty);
            (component, dir.join(name), bytes)
        })
        .collect();
    let footers = footer::parse_all(files.iter().map(|(_, path, bytes)| (path.as_path(), bytes.as_slice())))?;
    let mut segments: Vec<Vec<CheckedFile>> = Vec::new();
    for ((component, path, bytes), footer) in files.into_iter().zip(footers) {
        // Every segment begins with the first component.
        if component == Component::ALL.first().copied() {
            segments.push(Vec::new());
        }
        let body = bytes.slice(0..footer.body_len);
        let mut crc32 = crc32fast::Hasher::new_with_initial_len(footer.crc32, footer.body_len as u64);
        crc32.update(bytes.get(footer.body_len..).unwrap_or_default());
        let crc32 = crc32.finalize();
        let id = path.file_name().and_then(|name| ids.get(Path::new(name)));
        let id = id.cloned().unwrap_or_else(|| FileId::Path(path.clone()));
        let checked = CheckedFile { component, path, len: bytes.len(), body, footer, crc32, id };
        if let Some(segment) = segments.last_mut() {
            segment.push(checked);
        }
    }
    Ok(segments)
}

/// What looks like damage in a segment of a release before columns is how that release wrote: tantivy 0.19 counts its
/// format as 5, as 0.20 and 0.21 do.
fn old_layout(error: Error, written_by: Option<WrittenBy>) -> Error {
    match (error, written_by) {
        (Error::Corrupt { path, problem }, Some(by)) if (by.major, by.minor) < settings::FIRST_READABLE => {
            Error::Unsupported {
                path,
                what: "the layout",
                found: format!("that of {by} ({problem})"),
                expected: "one of tantivy 0.20 to 0.27".to_owned(),
                hint: "re-index the documents with a current tantivy".to_owned(),
            }
        }
        (error, _) => error,
    }
}

fn check_segment(
    dir: &Path,
    files: Vec<CheckedFile>,
    entry: &SegmentEntry,
    schema: &Schema,
    sort: Option<&str>,
) -> Result<CheckedSegment> {
    let file = |component: Option<Component>| files.iter().find(|file| file.component == component);
    let missing = |name: String| Error::MissingFiles { path: dir.to_path_buf(), files: vec![name] };
    let plane = |component: Component| file(Some(component)).ok_or_else(|| missing(component.file_name(&entry.id)));

    let mut parts = BTreeMap::new();
    for component in [Component::Terms, Component::Postings, Component::Positions, Component::FieldNorms] {
        let file = plane(component)?;
        parts.insert(component, Parts::read(&file.path, &file.body, schema)?);
    }
    let none = Parts::default();
    let table = |component: Component| parts.get(&component).unwrap_or(&none);
    terms::check(
        (plane(Component::Terms)?, table(Component::Terms)),
        (plane(Component::Postings)?, table(Component::Postings)),
        (plane(Component::Positions)?, table(Component::Positions)),
    )?;
    let (norms, postings) = (table(Component::FieldNorms), table(Component::Postings));
    planes::check_norms(plane(Component::FieldNorms)?, norms, postings, schema, entry.max_doc)?;
    let fast = plane(Component::FastFields)?;
    let (columns, handles) = planes::check_columns(fast, entry.max_doc, sort)?;
    let store = plane(Component::Store)?;
    let (store, store_blocks) = store::check(&store.path, &store.body, entry.max_doc)?;
    if let (Some(file), Some((deleted, _))) = (file(None), entry.deletes) {
        planes::check_deletes(&file.path, &file.body, entry.max_doc, deleted)?;
    }
    Ok(CheckedSegment { files, parts, columns, handles, store, store_blocks })
}
