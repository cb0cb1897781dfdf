//! Assignments over small indexes made by tantivy's own writer.

mod counts;
mod damage;
mod map;
mod planes;
mod problems;

use std::collections::BTreeMap;

use tantivy::columnar::DynamicColumn;
use tantivy::indexer::NoMergePolicy;
use tantivy::schema::{FAST, Field, INDEXED, Schema, SchemaBuilder};
use tantivy::{Index, IndexWriter, TantivyDocument, Term};
use tempfile::TempDir;

use super::*;
use crate::progress::{Cancel, Silent};
use crate::route::{SplitRouting, SplitSpec, routing_hash};
use crate::source::{LockMode, Segment, Source};
use crate::{Error, Result};

/// An index on disk whose documents carry their number, so that tests find them again wherever they stand.
struct Fixture {
    dir: TempDir,
    number: Field,
}

impl Fixture {
    /// One segment per batch. `fill` puts the fields of a document; numbers run over all batches. `deleted`: numbers
    /// of documents that are deleted afterwards.
    fn new<T>(
        mut schema: SchemaBuilder,
        batches: &[Vec<T>],
        deleted: &[u64],
        fill: impl Fn(&mut TantivyDocument, &T),
    ) -> Fixture {
        let number = schema.add_u64_field("number", FAST | INDEXED);
        let dir = tempfile::tempdir().unwrap();
        let index = Index::create_in_dir(dir.path(), schema.build()).unwrap();
        let mut writer: IndexWriter = index.writer_with_num_threads(1, 30_000_000).unwrap();
        writer.set_merge_policy(Box::new(NoMergePolicy));
        let mut next = 0;
        for batch in batches {
            for item in batch {
                let mut document = TantivyDocument::new();
                document.add_u64(number, next);
                fill(&mut document, item);
                writer.add_document(document).unwrap();
                next += 1;
            }
            writer.commit().unwrap();
        }
        for &gone in deleted {
            writer.delete_term(Term::from_field_u64(number, gone));
        }
        writer.commit().unwrap();
        Fixture { dir, number }
    }

    fn open(&self) -> Source {
        Source::open(self.dir.path(), LockMode::Writer).unwrap()
    }

    fn number(&self, segment: &Segment, doc: u32) -> u64 {
        let name = segment.reader().schema().get_field_name(self.number).to_owned();
        let handle = segment.columns().read_columns(&name).unwrap().remove(0);
        let DynamicColumn::U64(column) = handle.open().unwrap() else { panic!("numbers are u64") };
        column.first(doc).unwrap()
    }

    /// Child index by document number; `None` for documents that go nowhere.
    fn children(&self, source: &Source, assigned: &Assigned) -> BTreeMap<u64, Option<usize>> {
        let mut children = BTreeMap::new();
        for (index, segment) in source.segments().iter().enumerate() {
            let column = assigned.assignment.segment(index);
            assert_eq!(column.len(), segment.max_doc() as usize);
            for (doc, &child) in (0..).zip(column) {
                let child = (child != NO_CHILD).then_some(usize::from(child));
                assert!(children.insert(self.number(segment, doc), child).is_none());
            }
        }
        children
    }

    /// Document number at an address.
    fn at(&self, source: &Source, address: &DocAddress) -> u64 {
        let segment = source.segments().iter().find(|segment| segment.id() == address.segment).unwrap();
        self.number(segment, address.doc)
    }
}

fn spec(key: &str, routing_field: Option<&str>) -> KeySpec {
    KeySpec { key: key.to_owned(), routing_field: routing_field.map(str::to_owned) }
}

fn into(children: u32) -> SplitRouting {
    SplitRouting::new(SplitSpec::new(children)).unwrap()
}

fn run(source: &Source, keys: &KeySpec, routing: &SplitRouting) -> Result<Assigned> {
    run_with(source, keys, routing, KeyPolicies::default())
}

fn run_with(source: &Source, keys: &KeySpec, routing: &SplitRouting, policies: KeyPolicies) -> Result<Assigned> {
    assign(source, keys, routing, &policies, 2, &Silent, &Cancel::new())
}

fn problems(result: Result<Assigned>) -> KeyProblems {
    match result {
        Err(Error::Keys(problems)) => *problems,
        other => panic!("expected problems with keys, found {other:?}"),
    }
}

/// The child that Elasticsearch's formula gives a key, spelt out.
fn formula(key: &str, children: u32) -> usize {
    let routing_shards = crate::route::default_number_of_routing_shards(children);
    let hash = i64::from(routing_hash(key));
    usize::try_from(hash.rem_euclid(i64::from(routing_shards)) / i64::from(routing_shards / children)).unwrap()
}
