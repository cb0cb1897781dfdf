//! What a split carries, plane by plane: the tests that the README's matrix names, and that it names none that is not.
//!
//! Every index is split by every method into 1, 3 and 8 children. Children are compared with their source document by
//! document, through tantivy's reader (`common::check`), and what the row is about is asked for by its value.

mod columns;
mod dictionaries;
mod matrix;
mod postings;
mod refused;
mod segments;
mod shape;
mod store;
mod types;

use std::path::PathBuf;

use crate::common::check::assert_split;
use crate::common::content::{Content, Doc};
use crate::common::files::{assert_source_unchanged, snapshot};
use crate::common::routing::Routing;
use shardsplit::job::Job;
use shardsplit::partition::SegmentMode;
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use tantivy::indexer::NoMergePolicy;
use tantivy::schema::{FAST, Field, STORED, STRING, Schema, SchemaBuilder};
use tantivy::{Index, IndexSettings, TantivyDocument, Term};

/// How children are written.
pub type Way = (Method, SegmentMode);

/// Every way to write children.
pub const WAYS: [Way; 3] =
    [(Method::Rewrite, SegmentMode::One), (Method::Rewrite, SegmentMode::Keep), (Method::Link, SegmentMode::One)];

/// Numbers of children.
pub const INTO: [u32; 3] = [1, 3, 8];

/// A schema with `id`, the key: raw, stored, with a column.
pub fn schema() -> (SchemaBuilder, Field) {
    let mut builder = Schema::builder();
    let id = builder.add_text_field("id", STRING | STORED | FAST);
    (builder, id)
}

/// Documents of these JSON texts.
pub fn parse(schema: &Schema, documents: impl IntoIterator<Item = serde_json::Value>) -> Vec<TantivyDocument> {
    let parse = |document: serde_json::Value| TantivyDocument::parse_json(schema, &document.to_string()).unwrap();
    documents.into_iter().map(parse).collect()
}

/// An index to be split by `id`.
pub struct Case {
    dir: tempfile::TempDir,
}

impl Case {
    /// Builds one: a segment per entry of `segments`.
    pub fn new(schema: &Schema, settings: IndexSettings, segments: &[Vec<TantivyDocument>]) -> Case {
        let case = Case { dir: tempfile::tempdir().unwrap() };
        std::fs::create_dir(case.source()).unwrap();
        let index = Index::builder().schema(schema.clone()).settings(settings).create_in_dir(case.source()).unwrap();
        let mut writer = index.writer_with_num_threads(1, 15_000_000).unwrap();
        writer.set_merge_policy(Box::new(NoMergePolicy));
        for segment in segments {
            for document in segment {
                writer.add_document(document.clone()).unwrap();
            }
            writer.commit().unwrap();
        }
        writer.wait_merging_threads().unwrap();
        case
    }

    /// With the settings that tantivy gives an index by itself.
    pub fn plain(schema: &Schema, segments: &[Vec<TantivyDocument>]) -> Case {
        Case::new(schema, IndexSettings::default(), segments)
    }

    /// Deletes documents by their ids.
    pub fn delete(&self, ids: impl IntoIterator<Item = String>) {
        let index = Index::open_in_dir(self.source()).unwrap();
        let id = index.schema().get_field("id").unwrap();
        let mut writer = index.writer_with_num_threads::<TantivyDocument>(1, 15_000_000).unwrap();
        writer.set_merge_policy(Box::new(NoMergePolicy));
        for doomed in ids {
            writer.delete_term(Term::from_field_text(id, &doomed));
        }
        writer.commit().unwrap();
        writer.wait_merging_threads().unwrap();
    }

    /// Where the index stands.
    pub fn source(&self) -> PathBuf {
        self.dir.path().join("source")
    }

    /// A job on it.
    pub fn job(&self, into: u32, (method, segments): Way) -> Job {
        Job { method, segments, threads: 2, ..Job::new(self.source(), self.dir.path().join("out"), into, "id") }
    }

    /// Splits it in every way, compares, and shows what came out.
    pub fn split(&self, see: impl FnMut(&Split)) {
        self.split_as(&INTO, &WAYS, see);
    }

    /// The same for some numbers of children and ways.
    pub fn split_as(&self, into: &[u32], ways: &[Way], mut see: impl FnMut(&Split)) {
        let source = Content::read(&self.source(), &["id"]);
        let before = snapshot(&self.source());
        for &into in into {
            for &way in ways {
                let job = self.job(into, way);
                job.run(&Silent, &Cancel::new()).unwrap_or_else(|error| panic!("{way:?} into {into}: {error}"));
                let children = assert_split(&source, &job.out, &Routing::by_key("id", into));
                see(&Split { way, into, source: &source, children });
                std::fs::remove_dir_all(&job.out).unwrap();
            }
        }
        assert_source_unchanged(&before, &snapshot(&self.source()));
    }
}

/// Children that hold what they should.
pub struct Split<'a> {
    pub way: Way,
    pub into: u32,
    pub source: &'a Content,
    /// By shard number.
    pub children: Vec<(u32, Content)>,
}

impl Split<'_> {
    /// Whether segments were written anew.
    pub fn rewritten(&self) -> bool {
        self.way.0 == Method::Rewrite
    }

    /// Whether the segments of the source became one.
    pub fn united(&self) -> bool {
        self.way == (Method::Rewrite, SegmentMode::One)
    }

    /// The documents of all children.
    pub fn docs(&self) -> impl Iterator<Item = &Doc> {
        self.children.iter().flat_map(|(_, child)| &child.docs)
    }

    /// The only document with this id.
    #[track_caller]
    pub fn doc(&self, id: &str) -> &Doc {
        let mut found = self.docs().filter(|doc| doc.keys["id"] == [id]);
        match (found.next(), found.next()) {
            (Some(doc), None) => doc,
            (None, _) => panic!("no document {id}"),
            _ => panic!("several documents {id}"),
        }
    }

    /// Asserts that the document with this id has these lines (see `Content::read`).
    #[track_caller]
    pub fn assert_lines<S: AsRef<str>>(&self, id: &str, lines: &[S]) {
        let doc = self.doc(id);
        for line in lines.iter().map(AsRef::as_ref) {
            let kin: String = line.split(' ').take(2).collect::<Vec<_>>().join(" ");
            let others: Vec<&String> = doc.lines.iter().filter(|other| other.starts_with(&kin)).collect();
            assert!(doc.lines.iter().any(|other| other == line), "{:?}: no «{line}» in {others:#?}", self.way);
        }
    }

    /// Asserts that no line of the document begins so.
    #[track_caller]
    pub fn assert_none(&self, id: &str, start: &str) {
        let found = self.doc(id).lines.iter().find(|line| line.starts_with(start));
        assert!(found.is_none(), "{:?}: {found:?}", self.way);
    }
}
