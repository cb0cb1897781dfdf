//! Splits without a key: by value, range, query, in turn, in sequence. What children hold is read by tantivy's own reader,
//! and where documents belong is said by their number.

mod places;
mod refused;
mod saved;
mod shell;

use std::path::{Path, PathBuf};

use shardsplit::job::Job;
use shardsplit::partition::{KeyPolicies, Placement, Policy, SegmentMode};
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::publish::read_set;
use shardsplit::report::SplitReport;
use shardsplit::source::LockMode;
use tantivy::indexer::NoMergePolicy;
use tantivy::schema::{FAST, INDEXED, STORED, STRING, Schema, TEXT};
use tantivy::{DateTime, Index, IndexWriter, TantivyDocument, Term};
use tempfile::TempDir;

use crate::common::content::{Content, Doc};

/// All ways to write children.
pub const WAYS: [(Method, SegmentMode); 3] =
    [(Method::Rewrite, SegmentMode::One), (Method::Rewrite, SegmentMode::Keep), (Method::Link, SegmentMode::One)];

/// Sizes of the segments.
const BATCHES: [u64; 3] = [70, 50, 30];

/// An index without ids whose documents carry their number.
pub struct Place {
    pub dir: TempDir,
}

/// The team of a document; every fifth has none.
pub fn team(number: u64) -> Option<&'static str> {
    ["red", "green", "blue", "violet", ""].get(number as usize % 5).copied().filter(|team| !team.is_empty())
}

pub fn year(number: u64) -> i64 {
    number as i64 % 30 - 10
}

/// Zero comes with both signs.
pub fn price(number: u64) -> f64 {
    let price = (number % 40) as f64 / 4.0 - 5.0;
    if number % 80 == 20 { -0.0 } else { price }
}

/// Hours since 2024 began.
pub fn hours(number: u64) -> i64 {
    number as i64 * 7 % 200
}

impl Place {
    pub fn new() -> Place {
        let place = Place { dir: TempDir::new().unwrap() };
        let mut schema = Schema::builder();
        let serial = schema.add_u64_field("serial", FAST | INDEXED | STORED);
        let team_field = schema.add_text_field("team", STRING | FAST | STORED);
        let tags = schema.add_text_field("tags", STRING | FAST);
        let years = schema.add_i64_field("year", FAST);
        let prices = schema.add_f64_field("price", FAST | STORED);
        let seen = schema.add_date_field("seen", FAST | INDEXED | STORED);
        let open = schema.add_bool_field("open", FAST | INDEXED);
        let body = schema.add_text_field("body", TEXT | STORED);
        std::fs::create_dir(place.source()).unwrap();
        let index = Index::create_in_dir(place.source(), schema.build()).unwrap();
        let mut writer: IndexWriter = index.writer_with_num_threads(1, 20_000_000).unwrap();
        writer.set_merge_policy(Box::new(NoMergePolicy));
        let mut number = 0;
        for docs in BATCHES {
            for _ in 0..docs {
                let mut document = TantivyDocument::new();
                document.add_u64(serial, number);
                team(number).into_iter().for_each(|team| document.add_text(team_field, team));
                document.add_text(tags, "common");
                if number % 6 == 1 {
                    document.add_text(tags, "rare");
                }
                document.add_i64(years, year(number));
                document.add_f64(prices, price(number));
                document.add_date(seen, DateTime::from_timestamp_secs(1_704_067_200 + hours(number) * 3600));
                document.add_bool(open, number % 3 == 0);
                document.add_text(body, format!("word{} common phrase", number % 7));
                writer.add_document(document).unwrap();
                number += 1;
            }
            writer.commit().unwrap();
        }
        for gone in (0..number).filter(|number| number % 13 == 5) {
            writer.delete_term(Term::from_field_u64(serial, gone));
        }
        writer.commit().unwrap();
        place
    }

    pub fn source(&self) -> PathBuf {
        self.dir.path().join("source")
    }

    pub fn out(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn job(&self, out: &Path, placement: &Placement) -> Job {
        // Without locks: another test that starts a process keeps them open for a moment.
        Job { threads: 2, lock: LockMode::None, ..Job::placed(self.source(), out, placement.clone()).unwrap() }
    }

    /// Splits in every way and compares: `child` says where a document belongs.
    pub fn split_every_way(&self, placement: &Placement, missing: Policy, child: impl Fn(u64) -> usize) -> SplitReport {
        let source = content(&self.source());
        let mut last = None;
        for (method, segments) in WAYS {
            let out = self.out(&format!("{method:?}-{segments:?}"));
            let policies = KeyPolicies { missing, ..KeyPolicies::default() };
            let job = Job { method, segments, policies, ..self.job(&out, placement) };
            let report = job.run(&Silent, &Cancel::new()).unwrap_or_else(|error| panic!("{placement}: {error}"));
            assert!(report.verify.as_ref().is_some_and(|verify| verify.is_clean()));
            assert_children(&source, &out, report.children.len(), &child);
            assert_eq!(report.children.iter().map(|child| child.docs).sum::<u64>(), source.docs.len() as u64);

            let manifest = read_set(&out).unwrap();
            assert_eq!(manifest.routing.placement, *placement);
            assert_eq!((manifest.routing.key.as_str(), manifest.routing.number_of_routing_shards), ("", None));
            let routing: serde_json::Value =
                serde_json::from_slice(&std::fs::read(out.join("routing.json")).unwrap()).unwrap();
            assert_eq!(routing["routing"], "none");
            std::fs::remove_dir_all(&out).unwrap();
            last = Some(report);
        }
        last.unwrap()
    }
}

/// What an index holds, with the numbers of its documents.
pub fn content(dir: &Path) -> Content {
    Content::read(dir, &["serial"])
}

pub fn number(doc: &Doc) -> u64 {
    doc.keys["serial"][0].parse().unwrap()
}

/// Every document is in the child that `child` says, in source order, and as it was.
pub fn assert_children(source: &Content, out: &Path, children: usize, child: &impl Fn(u64) -> usize) {
    for index in 0..children {
        let found = content(&out.join(index.to_string()));
        let expected: Vec<&Doc> = source.docs.iter().filter(|doc| child(number(doc)) == index).collect();
        let numbers = |docs: &[&Doc]| docs.iter().map(|doc| number(doc)).collect::<Vec<_>>();
        assert_eq!(numbers(&found.docs.iter().collect::<Vec<_>>()), numbers(&expected), "child {index}");
        for (found, expected) in found.docs.iter().zip(expected) {
            assert_eq!(found.lines, expected.lines, "child {index}");
        }
    }
    assert!(!out.join(children.to_string()).exists());
}

pub fn by_value(field: &str, values: &[&str]) -> Placement {
    Placement::Value { field: field.to_owned(), values: values.iter().map(|&value| value.to_owned()).collect() }
}

pub fn by_range(field: &str, cuts: &[&str]) -> Placement {
    Placement::Range { field: field.to_owned(), cuts: cuts.iter().map(|&cut| cut.to_owned()).collect() }
}

pub fn by_query(queries: &[&str]) -> Placement {
    Placement::Query { queries: queries.iter().map(|&query| query.to_owned()).collect() }
}
