//! Token totals: what BM25 divides by.
//!
//! A field's total is stored, not derived, so it can be wrong while every posting is right. Text fields with
//! frequencies have an exact total, the sum of their frequencies. Other totals may be larger than their postings say
//! (a term that a document repeats counts each time, its posting counts once); there children can only be held to
//! what the source has.

use std::collections::{BTreeMap, BTreeSet};

use tantivy::schema::{FieldType, Schema};

use super::read::Content;
use super::unit::Tokens;
use crate::source::{Component, Segment, Source};
use crate::verify::files::Child;
use crate::verify::finding::{Finding, FindingKind, Grade};
use crate::verify::report::FieldStatistics;

/// Totals over the source, and over the children so far.
pub(super) struct Totals {
    source: BTreeMap<u32, Tokens>,
    children: BTreeMap<u32, u64>,
    /// Fields whose total in some segment of the source is below what its postings give: tantivy estimates where it
    /// merges segments with deleted documents.
    estimated: BTreeSet<u32>,
    /// Some child shares segments, and their totals, with the source.
    shared: bool,
}

/// Totals of one child.
#[derive(Default)]
pub(super) struct ChildTotals {
    tokens: BTreeMap<u32, Tokens>,
    docs: BTreeMap<u32, u64>,
}

impl ChildTotals {
    /// By field name.
    pub(super) fn fields(&self, schema: &Schema) -> Vec<FieldStatistics> {
        schema
            .fields()
            .filter_map(|(field, entry)| {
                let tokens = self.tokens.get(&field.field_id())?;
                Some(FieldStatistics {
                    field: entry.name().to_owned(),
                    total_num_tokens: tokens.stored,
                    docs_with_field: self.docs.get(&field.field_id()).copied(),
                    terms: tokens.terms,
                    sum_doc_freq: tokens.postings,
                })
            })
            .collect()
    }
}

impl Totals {
    /// What the source's segments say.
    pub(super) fn of_source(source: &Source, contents: &[Content]) -> Totals {
        let mut totals: BTreeMap<u32, Tokens> = BTreeMap::new();
        let mut estimated = BTreeSet::new();
        for (_, content) in source.segments().iter().zip(contents) {
            for (field, tokens) in &content.tokens {
                let sum = totals.entry(*field).or_default();
                sum.stored = sum.stored.saturating_add(tokens.stored);
                sum.all += tokens.all;
                sum.live += tokens.live;
                if tokens.stored < tokens.all {
                    estimated.insert(*field);
                }
            }
        }
        Totals { source: totals, children: BTreeMap::new(), estimated, shared: false }
    }

    /// Adds a segment of a child, and checks its totals against its own postings. `linked`: its files are the source's.
    pub(super) fn add(
        &mut self,
        source: &Source,
        child: &Child,
        segment: &Segment,
        (content, linked): (&Content, bool),
        statistics: &mut ChildTotals,
        findings: &mut Vec<Finding>,
    ) {
        if segment.num_docs() < segment.max_doc() && !self.shared {
            self.shared = true;
            let message = "children have segments with deleted documents: these count in token totals until merged";
            findings.push(Finding::new(Grade::Note, FindingKind::Shared, message));
        }
        let schema = source.schema();
        // A linked segment has the source's totals, which are estimates where tantivy merged.
        let linked = linked || source.segments().iter().any(|of_source| of_source.id() == segment.id());
        for (field, entry) in schema.fields() {
            let id = field.field_id();
            if let Some(docs) = content.docs_with_field.get(&id) {
                *statistics.docs.entry(id).or_default() += docs;
            }
            let Some(tokens) = content.tokens.get(&id) else { continue };
            let of_child = statistics.tokens.entry(id).or_default();
            of_child.stored = of_child.stored.saturating_add(tokens.stored);
            of_child.terms += tokens.terms;
            of_child.postings += tokens.postings;
            let sum = self.children.entry(id).or_default();
            *sum = sum.saturating_add(tokens.stored);
            let exact = is_exact(entry.field_type());
            let wrong = if exact { tokens.stored != tokens.all } else { tokens.stored < tokens.all };
            if wrong && !linked && segment.num_docs() == segment.max_doc() {
                let least = if exact { "" } else { "at least " };
                findings.push(
                    Finding::error(
                        FindingKind::TokenTotal,
                        format!(
                            "field {:?} has a token total of {}, its postings give {least}{}",
                            entry.name(),
                            tokens.stored,
                            tokens.all
                        ),
                    )
                    .in_child(child.shard)
                    .in_file(segment.file(Component::Postings))
                    .count(tokens.stored.abs_diff(tokens.all)),
                );
            }
        }
    }

    /// Compares sums over children with the source, once all children were added. Exact totals were compared already;
    /// estimated ones are no measure.
    pub(super) fn compare(&self, source: &Source, findings: &mut Vec<Finding>) {
        if self.shared {
            return;
        }
        let deleted = source.num_deleted() > 0;
        for (field, entry) in source.schema().fields() {
            let id = field.field_id();
            let Some(tokens) = self.source.get(&id).filter(|_| !is_exact(entry.field_type())) else { continue };
            if self.estimated.contains(&id) {
                continue;
            }
            let found = self.children.get(&id).copied().unwrap_or(0);
            if if deleted { found > tokens.stored } else { found != tokens.stored } {
                // Where postings leave room, only text is held to the total: nothing else is scored by length.
                let text = matches!(entry.field_type(), FieldType::Str(_));
                let grade = if text || tokens.stored == tokens.all { Grade::Error } else { Grade::Warning };
                let message = format!(
                    "the children's token totals of field {:?} sum to {found}, the source has {}",
                    entry.name(),
                    tokens.stored
                );
                let count = found.abs_diff(tokens.stored);
                findings.push(Finding::new(grade, FindingKind::TokenTotal, message).count(count));
            }
        }
    }
}

/// Whether the total of a field is exactly the sum of its frequencies.
fn is_exact(kind: &FieldType) -> bool {
    matches!(kind, FieldType::Str(_)) && kind.get_index_record_option().is_some_and(|option| option.has_freq())
}
