//! Searches over the children must find together what they find in the source.
//!
//! Reading every posting says nothing about the skip lists: conjunctions and phrases go through them.

use std::path::Path;

use tantivy::collector::{Count, TopDocs};
use tantivy::query::{BooleanQuery, EnableScoring, Occur, PhraseQuery, Query, TermQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{Index, Term};

use super::content::{Content, SampleTerm};
use super::values::render;

/// Runs term, conjunction and phrase queries on `source` and `children` and reports sums that differ.
pub fn compare(source: &Content, children: &[(u32, Content)], found: &mut Vec<String>) {
    let schema = source.schema();
    let name = |term: &SampleTerm| format!("{}:{}", schema.get_field_name(term.field), render(&term.bytes));
    let terms: Vec<&SampleTerm> = source.sample_terms.iter().collect();
    let exact_doc_freqs = !source.has_deletes() && !children.iter().any(|(_, child)| child.has_deletes());
    let mut queries: Vec<(String, Box<dyn Query>)> = Vec::new();

    for (index, term) in terms.iter().enumerate() {
        queries.push((name(term), term_query(term)));
        // With a neighbour of the same field, and with one far away.
        for other in [index + 1, (index * 7 + 3) % terms.len()] {
            if let Some(other) = terms.get(other).filter(|other| *other != term) {
                let both = BooleanQuery::intersection(vec![term_query(term), term_query(other)]);
                queries.push((format!("{} AND {}", name(term), name(other)), Box::new(both)));
            }
        }
        if exact_doc_freqs {
            let expected = doc_freq(source, term);
            let actual: u64 = children.iter().map(|(_, child)| doc_freq(child, term)).sum();
            if expected != actual {
                found.push(format!("doc_freq of {}: {expected} in the source, {actual} over the children", name(term)));
            }
        }
    }
    for (left, right) in &source.sample_phrases {
        let phrase = PhraseQuery::new(vec![query_term(left), query_term(right)]);
        queries.push((format!("\"{} {}\"", name(left), name(right)), Box::new(phrase)));
    }
    for (label, query) in queries {
        let expected = count(source, query.as_ref());
        let actual: u64 = children.iter().map(|(_, child)| count(child, query.as_ref())).sum();
        if expected != actual {
            found.push(format!("{label}: {expected} hits in the source, {actual} over the children"));
        }
    }
}

fn query_term(term: &SampleTerm) -> Term {
    // The dictionary is asked for the bytes alone; the type within a `Term` plays no part in it.
    Term::from_field_bytes(term.field, &term.bytes)
}

fn term_query(term: &SampleTerm) -> Box<dyn Query> {
    Box::new(TermQuery::new(query_term(term), IndexRecordOption::WithFreqsAndPositions))
}

fn doc_freq(content: &Content, term: &SampleTerm) -> u64 {
    let freqs = content.segments.iter().map(|segment| {
        let inverted = segment.reader.inverted_index(term.field).unwrap();
        u64::from(inverted.doc_freq(&query_term(term)).unwrap())
    });
    freqs.sum()
}

/// Live documents that match, counted through every segment's scorer.
fn count(content: &Content, query: &dyn Query) -> u64 {
    let schema = content.schema();
    let weight = query.weight(EnableScoring::disabled_from_schema(&schema)).unwrap();
    content.segments.iter().map(|segment| u64::from(weight.count(&segment.reader).unwrap())).sum()
}

/// Searches for the ten best documents by each word and each pair of neighbouring words, once so that blocks which
/// cannot score are skipped, and once so that nothing can be; reports where the scores differ.
pub fn missed_by_skipping(dir: &Path, field: &str, words: &[&str]) -> Vec<String> {
    let index = Index::open_in_dir(dir).unwrap();
    let field = index.schema().get_field(field).unwrap();
    let searcher = index.reader().unwrap().searcher();
    let term = |word: &str| -> Box<dyn Query> {
        Box::new(TermQuery::new(Term::from_field_text(field, word), IndexRecordOption::WithFreqs))
    };
    let mut missed = Vec::new();
    for (left, right) in words.iter().zip(words.iter().cycle().skip(1)) {
        let either = BooleanQuery::new(vec![(Occur::Should, term(left)), (Occur::Should, term(right))]);
        for query in [term(left), Box::new(either)] {
            assert!(searcher.search(&query, &Count).unwrap() > 300, "{left} is not frequent enough");
            let best = |limit: usize| -> Vec<f32> {
                let hits = searcher.search(&query, &TopDocs::with_limit(limit).order_by_score()).unwrap();
                hits.into_iter().take(10).map(|(score, _)| score).collect()
            };
            let (skipping, all) = (best(10), best(100_000));
            if skipping != all {
                missed.push(format!("{left}, {right}: found {skipping:?}, best are {all:?}"));
            }
        }
    }
    missed
}
