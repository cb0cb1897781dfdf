//! Everything that would make a later stage fail, checked before anything is written.
//!
//! Input: an index directory and its `meta.json`. Output: [`Checked`], every file mapped, its footer read, its tables
//! and counts found to agree; or the first refusal, which names file, found, expected and what to do. Order: settings,
//! then all files there, then all footers, then schema, then segment by segment.
//!
//! | file | checked |
//! |---|---|
//! | `meta.json` | [`settings`]: extensions, custom fields, store codec, sort field, schema |
//! | all | [`footer`]: magic, length, version that wrote it |
//! | `.term` `.idx` `.pos` | [`composite`], [`terms`]: tables of fields, kinds of dictionary, ranges of term infos |
//! | `.fieldnorm` `.fast` `.del` | [`planes`]: documents they speak of, every column opens |
//! | `.store` | [`store`]: version, codec, skip index |
//!
//! Bodies are not compared with their checksums here, since that reads every byte: see
//! [`Source::check_checksums`](super::Source::check_checksums).

mod composite;
mod footer;
mod orphans;
mod planes;
mod settings;
mod store;
mod terms;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tantivy::columnar::ColumnarReader;
use tantivy::directory::OwnedBytes;
use tantivy::schema::Schema;

use super::meta::{META, Meta, SegmentEntry};
use super::mmap;
use super::segment::Component;
use crate::error::{Error, Result};

pub(super) use composite::Parts;
pub(super) use footer::FileFooter;
pub use footer::WrittenBy;
pub(crate) use footer::{FOOTER_MAGIC, MAX_FOOTER};
pub(crate) use planes::COLUMNAR_MAGIC;
pub(crate) use store::STORE_FOOTER;
pub use store::{StoreCodec, StoreInfo};

/// A mapped file whose footer is sound.
pub(super) struct CheckedFile {
    /// `None`: the alive bitset.
    pub(super) component: Option<Component>,
    pub(super) path: PathBuf,
    /// The file, footer included.
    pub(super) len: usize,
    pub(super) body: OwnedBytes,
    pub(super) footer: FileFooter,
}

/// The files of one segment.
pub(super) struct CheckedSegment {
    /// In the order of [`Component::ALL`], then the alive bitset.
    pub(super) files: Vec<CheckedFile>,
    /// Tables of `.term`, `.idx`, `.pos` and `.fieldnorm`.
    pub(super) parts: BTreeMap<Component, Parts>,
    pub(super) columns: ColumnarReader,
    pub(super) store: StoreInfo,
}

/// The files of an index.
pub(super) struct Checked {
    /// Whole files by name.
    pub(super) files: BTreeMap<PathBuf, OwnedBytes>,
    /// In the order of `meta.json`.
    pub(super) segments: Vec<CheckedSegment>,
}

/// Maps every file that `meta` names and checks it.
pub(super) fn map_and_check(dir: &Path, meta: &Meta, notes: &mut Vec<String>) -> Result<Checked> {
    let meta_path = dir.join(META);
    settings::check(&meta_path, meta)?;
    let names: Vec<FileName> = meta.segments().iter().flat_map(SegmentEntry::files).collect();
    let mapped = map_all(dir, &names)?;
    let files = check_footers(dir, names, &mapped)?;
    let oldest = files.iter().flatten().map(|file| file.footer.written_by).min();
    let schema = settings::parse_schema(&meta_path, meta, oldest)?;
    let sort = settings::check_sort(&meta_path, meta, &schema)?;
    let segments = files
        .into_iter()
        .zip(meta.segments())
        .map(|(files, entry)| check_segment(dir, files, entry, &schema, sort.as_deref()))
        .collect::<Result<Vec<_>>>()?;
    notes.extend(orphans::note(dir, &mapped.keys().map(|name| name.as_os_str()).collect()));
    Ok(Checked { files: mapped, segments })
}

/// A file's component, and its name.
type FileName = (Option<Component>, String);

fn map_all(dir: &Path, names: &[FileName]) -> Result<BTreeMap<PathBuf, OwnedBytes>> {
    let mut files = BTreeMap::new();
    let mut missing = BTreeSet::new();
    for (_, name) in names {
        match mmap::map(&dir.join(name)) {
            Ok(bytes) => {
                files.insert(PathBuf::from(name), bytes);
            }
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                missing.insert(name.clone());
            }
            Err(error) => return Err(error),
        }
    }
    if missing.is_empty() {
        Ok(files)
    } else {
        Err(Error::MissingFiles { path: dir.to_path_buf(), files: missing.into_iter().collect() })
    }
}

/// Reads all footers; one list of files per segment, in the order of `names`.
fn check_footers(
    dir: &Path,
    names: Vec<FileName>,
    mapped: &BTreeMap<PathBuf, OwnedBytes>,
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
        let checked = CheckedFile { component, path, len: bytes.len(), body, footer };
        if let Some(segment) = segments.last_mut() {
            segment.push(checked);
        }
    }
    Ok(segments)
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
    let columns = planes::check_columns(fast, entry.max_doc, sort)?;
    let store = plane(Component::Store)?;
    let store = store::check(&store.path, &store.body, entry.max_doc)?;
    if let (Some(file), Some((deleted, _))) = (file(None), entry.deletes) {
        planes::check_deletes(&file.path, &file.body, entry.max_doc, deleted)?;
    }
    Ok(CheckedSegment { files, parts, columns, store })
}
