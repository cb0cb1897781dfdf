//! tantivy 0.19: index format 5 as well, but with fast fields that no later release reads.

use std::fs;
use std::path::Path;

use serde_json::json;
use tantivy_0_19 as tantivy;

use crate::{documents, files};
use tantivy::schema::{FAST, STORED, STRING, Schema};
use tantivy::{Index, doc};

/// Builds an index of three documents in `dir/index`; `dir/expected.json` says no more than which. Without numbers its
/// schema is one that later releases read.
pub fn write(dir: &Path, numbers: bool) {
    let index_dir = dir.join("index");
    fs::create_dir_all(&index_dir).unwrap();
    let mut builder = Schema::builder();
    let id = builder.add_text_field("id", STRING | STORED);
    let rank = numbers.then(|| builder.add_u64_field("rank", FAST));
    let index = Index::create_in_dir(&index_dir, builder.build()).unwrap();
    let mut writer = index.writer_with_num_threads(1, 20_000_000).unwrap();
    for number in 0..3 {
        let mut document = doc!(id => documents::id(number));
        if let Some(rank) = rank {
            document.add_u64(rank, documents::rank(number));
        }
        writer.add_document(document).unwrap();
    }
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
    files::settle(&index_dir);
    let version = format!("{:?}", tantivy::version());
    let (release, format) = version.split_once(", index_format v").unwrap();
    let ids: Vec<_> = (0..3).map(|number| json!({ "id": documents::id(number) })).collect();
    let expected = format!(
        "{{\n\"tantivy\": {},\n\"index_format\": {format},\n\"docs\": {}\n}}\n",
        json!(release.strip_prefix("tantivy v")),
        json!(ids)
    );
    fs::write(dir.join("expected.json"), expected).unwrap();
}
