//! Scores over all children are those of one index, once every child is given the statistics of all of them.
//!
//! BM25 needs three numbers: how many documents there are, how many tokens a field has, in how many documents a term is.
//! What a split promises is that they add up: the sums over the children, given to each of them through tantivy's
//! [`Bm25StatisticsProvider`], score every document as the source does.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::files::tempdir;
use crate::common::fixture::{Batch, Fixture};
use crate::common::schema::Kind;
use shardsplit::job::Job;
use shardsplit::partition::{KeySpec, SegmentMode};
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::verify::{FieldStatistics, VerifyReport};
use tantivy::query::{
    Bm25StatisticsProvider, BooleanQuery, BoostQuery, EnableScoring, Occur, PhraseQuery, Query, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption, Schema};
use tantivy::{Index, Searcher, Term};

const WORDS: [&str; 8] = ["stone", "river", "lamp", "the", "über", "naïve", "42", "supercalifragilisticexpialidocious"];

/// Statistics of several indexes as if they were one.
struct Summed<'a>(&'a [Searcher]);

impl Summed<'_> {
    fn sum(&self, of: impl Fn(&Searcher) -> tantivy::Result<u64>) -> tantivy::Result<u64> {
        self.0.iter().map(of).sum()
    }
}

impl Bm25StatisticsProvider for Summed<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        self.sum(|searcher| searcher.total_num_tokens(field))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        self.sum(Bm25StatisticsProvider::total_num_docs)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        self.sum(|searcher| Bm25StatisticsProvider::doc_freq(searcher, term))
    }
}

/// The same from what verification reported; only terms are looked up when they are asked for.
struct Reported<'a> {
    report: &'a VerifyReport,
    schema: Schema,
    children: &'a [Searcher],
}

impl Bm25StatisticsProvider for Reported<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        let name = self.schema.get_field_name(field);
        let children = self.report.children.iter().flat_map(|child| &child.fields);
        Ok(children.filter(|statistics| statistics.field == name).map(|statistics| statistics.total_num_tokens).sum())
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.report.children.iter().map(|child| child.docs.unwrap() + child.deleted.unwrap()).sum())
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        Summed(self.children).doc_freq(term)
    }
}

/// Texts of every kind of index: with and without frequencies, positions, norms.
fn fixture(docs: u32) -> Fixture {
    let mut fixture = Fixture::everything(3, docs);
    fixture.fields.retain(|field| matches!(field.kind, Kind::Text { index: Some(_), .. }));
    fixture
}

fn split(source: &Path, out: &Path, into: u32, method: Method, segments: SegmentMode) -> VerifyReport {
    let keys = KeySpec { key: "id".to_owned(), routing_field: Some("routing".to_owned()) };
    let job = Job { keys, method, segments, ..Job::new(source, out, into, "id") };
    job.run(&Silent, &Cancel::new()).unwrap().verify.unwrap()
}

fn searcher(dir: &Path) -> Searcher {
    Index::open_in_dir(dir).unwrap().reader().unwrap().searcher()
}

fn searchers(report: &VerifyReport, out: &Path) -> Vec<Searcher> {
    report.children.iter().map(|child| searcher(&out.join(child.shard.to_string()))).collect()
}

/// Fields that can be searched, and whether they have positions.
fn fields(schema: &Schema) -> Vec<(Field, bool)> {
    let indexed = schema.fields().filter(|(_, entry)| entry.name().starts_with("text_") && entry.is_indexed());
    let record = |option: Option<IndexRecordOption>| option.is_some_and(IndexRecordOption::has_positions);
    indexed.map(|(field, entry)| (field, record(entry.field_type().get_index_record_option()))).collect()
}

fn term(field: Field, word: &str) -> Term {
    Term::from_field_text(field, word)
}

fn term_query(field: Field, word: &str) -> Box<dyn Query> {
    Box::new(TermQuery::new(term(field, word), IndexRecordOption::WithFreqs))
}

/// Queries of one term, of phrases, and of several of them; no phrases with slop, since how often tantivy finds one in a
/// document depends on which of its words is rarer in the segment. The second number is by how much the scores of equal
/// documents may differ, relative to them: the order in which a segment adds up parts of a score is its own.
fn queries(schema: &Schema) -> Vec<(Box<dyn Query>, f32)> {
    let fields = fields(schema);
    let mut queries: Vec<(Box<dyn Query>, f32)> = Vec::new();
    for &(field, positions) in &fields {
        for (word, next) in WORDS.into_iter().zip(WORDS.into_iter().cycle().skip(1)) {
            queries.push((term_query(field, word), 0.0));
            if positions {
                queries.push((Box::new(PhraseQuery::new(vec![term(field, word), term(field, next)])), 0.0));
            }
            let other = fields[(field.field_id() as usize + 1) % fields.len()].0;
            let both = BooleanQuery::intersection(vec![term_query(field, word), term_query(field, next)]);
            let boosted = BoostQuery::new(term_query(other, next), 2.5);
            let clauses = vec![
                (Occur::Should, term_query(field, word)),
                (Occur::Should, Box::new(boosted) as Box<dyn Query>),
                (Occur::Should, Box::new(both)),
                (Occur::MustNot, term_query(other, "true")),
            ];
            queries.push((Box::new(BooleanQuery::new(clauses)), 1e-6));
            let clauses = vec![(Occur::Must, term_query(field, word)), (Occur::Should, term_query(other, next))];
            queries.push((Box::new(BooleanQuery::new(clauses)), 1e-6));
        }
    }
    queries
}

/// Scores of live documents by their serial number.
fn scores(searcher: &Searcher, statistics: &dyn Bm25StatisticsProvider, query: &dyn Query) -> BTreeMap<u64, f32> {
    let scoring = EnableScoring::enabled_from_statistics_provider(statistics, searcher);
    let weight = query.weight(scoring).unwrap();
    let mut scores = BTreeMap::new();
    for segment in searcher.segment_readers() {
        let serials = segment.fast_fields().u64("serial").unwrap();
        weight
            .for_each(segment, &mut |doc, score| {
                if !segment.is_deleted(doc) {
                    let before = scores.insert(serials.first(doc).unwrap(), score);
                    assert!(before.is_none(), "document {doc} comes twice");
                }
            })
            .unwrap();
    }
    scores
}

/// Compares scores over `children`, each with `statistics`, with those of `whole`. Returns how many there were.
fn compare(whole: &Searcher, children: &[Searcher], statistics: &dyn Bm25StatisticsProvider) -> usize {
    let mut compared = 0;
    for (query, tolerance) in queries(whole.schema()) {
        let expected = scores(whole, whole, query.as_ref());
        let mut found = BTreeMap::new();
        for child in children {
            found.extend(scores(child, statistics, query.as_ref()));
        }
        assert!(expected.keys().eq(found.keys()), "{query:?} finds other documents");
        for (serial, score) in &expected {
            let difference = (score - found[serial]).abs();
            assert!(
                difference <= tolerance * score.abs(),
                "{query:?}: document {serial} scores {score} in one index, {} over the children",
                found[serial]
            );
        }
        compared += expected.len();
    }
    compared
}

#[test]
fn documents_score_over_the_children_as_in_the_source() {
    let dir = tempdir();
    let source_dir = dir.path().join("source");
    fixture(300).build(&source_dir);
    let source = searcher(&source_dir);
    for (into, segments) in [(1, SegmentMode::One), (3, SegmentMode::Keep), (8, SegmentMode::One)] {
        let out = dir.path().join(format!("out-{into}"));
        let report = split(&source_dir, &out, into, Method::Rewrite, segments);
        let children = searchers(&report, &out);
        assert!(compare(&source, &children, &Summed(&children)) > 20_000);
        let reported = Reported { report: &report, schema: source.schema().clone(), children: &children };
        compare(&source, &children, &reported);
    }
}

#[test]
fn documents_that_survive_score_over_the_children_as_in_an_index_of_them_alone() {
    // tantivy estimates the tokens that are left where it merges deletes; children of such an index are exact again.
    for merge in [0, 3] {
        let dir = tempdir();
        let source_dir = dir.path().join("source");
        let mut fixture = Fixture { merge, ..fixture(250).delete_every(3) };
        // Without frequencies nothing tells exactly how many tokens of a long text are left.
        fixture.fields.retain(|field| !field.name.contains("Basic"));
        fixture.build(&source_dir);
        let anew = Batch { add: fixture.live(), delete: Vec::new() };
        Fixture { batches: vec![anew], ..fixture }.build(&dir.path().join("anew"));

        let out = dir.path().join("out");
        let report = split(&source_dir, &out, 5, Method::Rewrite, SegmentMode::One);
        let children = searchers(&report, &out);
        let anew = searcher(&dir.path().join("anew"));
        assert!(compare(&anew, &children, &Summed(&children)) > 10_000);
    }
}

#[test]
fn linked_children_score_like_the_source_by_themselves() {
    // They share its segments, and what is deleted counts until it is merged away.
    let dir = tempdir();
    let (source_dir, out) = (dir.path().join("source"), dir.path().join("out"));
    fixture(250).delete_every(7).build(&source_dir);
    let report = split(&source_dir, &out, 4, Method::Link, SegmentMode::One);
    let (source, children) = (searcher(&source_dir), searchers(&report, &out));
    assert!(children.iter().all(|child| child.segment_readers().len() == 3), "a child without a segment");
    for child in &children {
        compare(&source, &children, child);
    }
}

#[test]
fn without_the_statistics_of_all_children_scores_differ() {
    let dir = tempdir();
    let (source_dir, out) = (dir.path().join("source"), dir.path().join("out"));
    fixture(250).build(&source_dir);
    let report = split(&source_dir, &out, 8, Method::Rewrite, SegmentMode::One);
    let (source, children) = (searcher(&source_dir), searchers(&report, &out));
    let differs = |(query, _): (Box<dyn Query>, f32)| {
        let expected = scores(&source, &source, query.as_ref());
        children.iter().any(|child| {
            scores(child, child, query.as_ref()).iter().any(|(serial, score)| {
                let expected = expected[serial];
                (expected - score).abs() > 0.01 * expected
            })
        })
    };
    assert!(queries(source.schema()).into_iter().any(differs));
}

/// Statistics as tantivy's own readers give them, counted over every posting and norm.
fn counted(searcher: &Searcher) -> Vec<FieldStatistics> {
    let schema = searcher.schema();
    let mut statistics = Vec::new();
    for (field, entry) in schema.fields().filter(|(_, entry)| entry.is_indexed()) {
        let mut sums = FieldStatistics {
            field: entry.name().to_owned(),
            total_num_tokens: 0,
            docs_with_field: entry.has_fieldnorms().then_some(0),
            terms: 0,
            sum_doc_freq: 0,
        };
        for segment in searcher.segment_readers() {
            let inverted = segment.inverted_index(field).unwrap();
            sums.total_num_tokens += inverted.total_num_tokens();
            let mut terms = inverted.terms().stream().unwrap();
            while terms.advance() {
                sums.terms += 1;
                sums.sum_doc_freq += u64::from(terms.value().doc_freq);
            }
            if let Some(docs) = &mut sums.docs_with_field {
                let norms = segment.get_fieldnorms_reader(field).unwrap();
                *docs += (0..segment.max_doc()).filter(|&doc| norms.fieldnorm_id(doc) > 0).count() as u64;
            }
        }
        statistics.push(sums);
    }
    statistics
}

#[test]
fn verification_reports_the_statistics_of_every_child() {
    let dir = tempdir();
    let source_dir = dir.path().join("source");
    Fixture::everything(3, 120).build(&source_dir);
    let source = searcher(&source_dir);
    let of_source = counted(&source);
    for (method, segments) in
        [(Method::Rewrite, SegmentMode::One), (Method::Rewrite, SegmentMode::Keep), (Method::Link, SegmentMode::One)]
    {
        let out = dir.path().join(format!("{method:?}-{segments:?}"));
        let report = split(&source_dir, &out, 4, method, segments);
        let children = searchers(&report, &out);
        for (child, searcher) in report.children.iter().zip(&children) {
            assert_eq!(child.fields, counted(searcher), "{method:?} child {}", child.shard);
            let docs = child.docs.unwrap() + child.deleted.unwrap();
            assert_eq!(docs, searcher.total_num_docs().unwrap(), "{method:?} child {}", child.shard);
        }
        if method == Method::Link {
            continue;
        }
        for (at, of_source) in of_source.iter().enumerate() {
            let sum = |of: fn(&FieldStatistics) -> u64| -> u64 {
                report.children.iter().map(|child| of(&child.fields[at])).sum()
            };
            let name = &of_source.field;
            assert_eq!(sum(|field| field.sum_doc_freq), of_source.sum_doc_freq, "{name}");
            assert_eq!(
                sum(|field| field.docs_with_field.unwrap_or(0)),
                of_source.docs_with_field.unwrap_or(0),
                "{name}"
            );
            // A number that a document of a JSON field repeats is one posting; nothing tells how often it was there.
            if !name.starts_with("json") {
                assert_eq!(sum(|field| field.total_num_tokens), of_source.total_num_tokens, "{name}");
            }
        }
    }
}
