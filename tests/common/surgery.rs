//! Changes to the files of an index that tantivy's writer does not make, though indexes with them exist: other versions,
//! merges and programs made them.

use std::fs;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use tantivy::directory::{RamDirectory, TerminatingWrite};
use tantivy::fastfield::write_alive_bitset;
use tantivy::index::{SegmentComponent, SegmentId};
use tantivy::store::Compressor;
use tantivy::{Directory, Index};
use tantivy_common::BitSet;

/// Writes the files of `index`, which was made in `ram`, into `dir`, which is made.
pub fn write_out(index: &Index, ram: &RamDirectory, dir: &Path) {
    fs::create_dir_all(dir).unwrap();
    let mut paths = index.directory().list_managed_files();
    paths.insert(MANAGED.into());
    for path in &paths {
        // Read from below: the managed directory shows files without their footers.
        if let Ok(bytes) = ram.atomic_read(path) {
            fs::write(dir.join(path), bytes).unwrap();
        }
    }
}

const META: &str = "meta.json";
const MANAGED: &str = ".managed.json";

/// Deletes all documents of these segments, and leaves the segments. tantivy's writer drops them.
pub fn delete_all_documents(dir: &Path, segments: &[SegmentId]) {
    if segments.is_empty() {
        return;
    }
    let index = Index::open_in_dir(dir).unwrap();
    let opstamp = index.load_metas().unwrap().opstamp;
    for segment in index.searchable_segments().unwrap().into_iter().filter(|segment| segments.contains(&segment.id())) {
        let max_doc = segment.meta().max_doc();
        if segment.meta().delete_opstamp() == Some(opstamp) {
            fs::remove_file(dir.join(segment.relative_path(SegmentComponent::Delete))).unwrap();
        }
        let segment = segment.with_delete_meta(max_doc, opstamp);
        let mut file = segment.open_write(SegmentComponent::Delete).unwrap();
        write_alive_bitset(&BitSet::with_max_value(max_doc), &mut file).unwrap();
        file.flush().unwrap();
        file.terminate().unwrap();
    }
    let ids: Vec<String> = segments.iter().map(SegmentId::uuid_string).collect();
    edit(dir, META, |meta| {
        for segment in meta["segments"].as_array_mut().unwrap() {
            let id = segment["segment_id"].as_str().unwrap().replace('-', "");
            if ids.contains(&id) {
                segment["deletes"] = json!({"num_deleted_docs": segment["max_doc"], "opstamp": opstamp});
            }
        }
    });
}

/// Adds the only segment of `index`, which has no documents, to the index in `dir`.
pub fn add_empty_segment(dir: &Path, (index, ram): &(Index, RamDirectory)) {
    let segment = index.searchable_segment_metas().unwrap().remove(0);
    assert_eq!(segment.max_doc(), 0);
    let mut names = Vec::new();
    for path in index.directory().list_managed_files() {
        if path.to_str().unwrap().starts_with(&segment.id().uuid_string()) {
            fs::write(dir.join(&path), ram.atomic_read(&path).unwrap()).unwrap();
            names.push(path);
        }
    }
    edit(dir, MANAGED, |managed| managed.as_array_mut().unwrap().extend(names.into_iter().map(|name| json!(name))));
    let segment = serde_json::to_value(&segment).unwrap();
    edit(dir, META, |meta| meta["segments"].as_array_mut().unwrap().push(segment));
}

/// Changes the codec that the settings name. Stores say themselves which one they have.
pub fn rename_codec(dir: &Path, codec: Compressor) {
    edit(dir, META, |meta| meta["index_settings"]["docstore_compression"] = serde_json::to_value(codec).unwrap());
}

/// Adds keys that tantivy 0.27 does not know to `meta.json`.
pub fn add_unknown_keys(dir: &Path) {
    edit(dir, META, |meta| {
        meta["written_by"] = json!({"name": "another program", "versions": [1, 2.50, 18_446_744_073_709_551_615_u64]});
        meta["index_settings"]["unheard_of"] = json!(null);
    });
}

fn edit(dir: &Path, name: &str, change: impl FnOnce(&mut Value)) {
    let path = dir.join(name);
    let mut value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut value);
    fs::write(&path, serde_json::to_vec(&value).unwrap()).unwrap();
}
