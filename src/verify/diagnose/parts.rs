//! In which part of their content paired documents differ.

use std::collections::{BTreeMap, BTreeSet};

use tantivy::schema::Field;

use super::matching::Entry;
use super::pairs::Pairs;
use super::{Case, Pair, by_child, detail};
use crate::error::{Error, Result};
use crate::source::{Component, guard};
use crate::verify::content::digest::Sum;
use crate::verify::content::sums::SegmentSums;
use crate::verify::content::unit::{Detail, Part, describe};
use crate::verify::finding::{Finding, FindingKind};

/// Compares `pairs` part by part; one finding per child, part and kind. Guessed pairs that differ in most of what they
/// consist of are two documents, not one that was altered: they go back to those that are lost or foreign.
pub(super) fn run(case: &Case<'_>, pairs: &mut Pairs, findings: &mut Vec<Finding>) -> Result<()> {
    let guessed = std::mem::take(&mut pairs.guessed);
    if pairs.altered.is_empty() && guessed.is_empty() {
        return Ok(());
    }
    let all: Vec<(Entry, Entry)> = pairs.altered.iter().chain(&guessed).copied().collect();
    let mut parts = Vec::new();
    let mut likeness: BTreeMap<(Entry, Entry), Likeness> =
        guessed.iter().map(|pair| (*pair, Likeness::default())).collect();
    for part in all_parts(case) {
        let mut differing = Vec::new();
        compare(case, &part, Detail::Positions, &all, |pair, before, after| {
            if let Some(likeness) = likeness.get_mut(&pair) {
                likeness.parts += usize::from(before != Sum::default() || after != Sum::default());
                likeness.differing += usize::from(before != after);
            }
            if before != after {
                differing.push(pair);
            }
        })?;
        if !differing.is_empty() {
            parts.push((part, differing));
        }
    }
    likeness.retain(|_, likeness| 2 * likeness.differing > likeness.parts);
    for &(source, child) in likeness.keys() {
        pairs.lost.push(source);
        pairs.foreign.push(child);
    }
    for (part, mut differing) in parts {
        differing.retain(|pair| !likeness.contains_key(pair));
        match part {
            Part::Postings(field, _) => postings(case, field, &differing, findings)?,
            Part::Store => report(case, &part, FindingKind::StoredBytes, Component::Store, &differing, findings),
            Part::Norms(_) => report(case, &part, FindingKind::FieldNorm, Component::FieldNorms, &differing, findings),
            Part::Column(_) => {
                report(case, &part, FindingKind::ColumnValue, Component::FastFields, &differing, findings);
            }
        }
    }
    Ok(())
}

/// Of how many parts a pair consists, and in how many it differs.
#[derive(Default)]
struct Likeness {
    parts: usize,
    differing: usize,
}

/// Every part that any segment has, store first.
fn all_parts(case: &Case<'_>) -> Vec<Part> {
    let schema = case.job.source.schema();
    let mut parts = vec![Part::Store];
    for (field, entry) in schema.fields() {
        if entry.is_indexed() && entry.has_fieldnorms() {
            parts.push(Part::Norms(field));
        }
        if entry.field_type().get_index_record_option().is_some() {
            parts.push(Part::Postings(field, Detail::Positions));
        }
    }
    let mut names = BTreeSet::new();
    for view in case.source.views.iter().chain(&case.found.views) {
        let path = view.segment.file(Component::FastFields);
        let listed = guard(&path, "the list of columns", || {
            let columns = view.segment.columns().iter_columns().map_err(Error::io("read", &path))?;
            Ok(columns.map(|(name, _)| name).collect::<Vec<_>>())
        });
        names.extend(listed.into_iter().flatten());
    }
    parts.extend(names.into_iter().map(Part::Column));
    parts
}

/// Calls `visit` with every pair and what it has of `part`, before and after.
fn compare(
    case: &Case<'_>,
    part: &Part,
    detail: Detail,
    pairs: &[(Entry, Entry)],
    mut visit: impl FnMut((Entry, Entry), Sum, Sum),
) -> Result<()> {
    let source = case.source.read(Some(part), detail, case.reading)?;
    let found = case.found.read(Some(part), detail, case.reading)?;
    let sums = |side: &[SegmentSums], entry: Entry| {
        side.get(entry.view as usize).map_or_else(Sum::default, |sums| sums.get(entry.doc))
    };
    for &(before, after) in pairs {
        visit((before, after), sums(&source, before), sums(&found, after));
    }
    Ok(())
}

/// Tells lost terms, frequencies and positions apart, by comparing with less and less detail.
fn postings(case: &Case<'_>, field: Field, pairs: &[(Entry, Entry)], findings: &mut Vec<Finding>) -> Result<()> {
    if pairs.is_empty() {
        return Ok(());
    }
    let differing = |detail: Detail| -> Result<Vec<(Entry, Entry)>> {
        let mut differing = Vec::new();
        compare(case, &Part::Postings(field, detail), detail, pairs, |pair, before, after| {
            if before != after {
                differing.push(pair);
            }
        })?;
        Ok(differing)
    };
    let (terms, freqs) = (differing(Detail::Documents)?, differing(Detail::Frequencies)?);
    let part = Part::Postings(field, Detail::Positions);
    let only = |pairs: &[(Entry, Entry)], not: &[(Entry, Entry)]| -> Vec<(Entry, Entry)> {
        let not: BTreeSet<&(Entry, Entry)> = not.iter().collect();
        pairs.iter().filter(|pair| !not.contains(pair)).copied().collect()
    };
    let positions = only(pairs, &freqs);
    let freqs = only(&freqs, &terms);
    report(case, &part, FindingKind::TermFrequency, Component::Postings, &freqs, findings);
    report(case, &part, FindingKind::Positions, Component::Positions, &positions, findings);

    for (at, group) in by_child(case, optional(&terms)) {
        let examined: Vec<(FindingKind, Pair)> = group
            .iter()
            .take(case.job.sample.max(1))
            .map(|pair| (detail::kind_of_term(case, field, *pair), *pair))
            .collect();
        let kinds: BTreeSet<FindingKind> = examined.iter().map(|(kind, _)| *kind).collect();
        for kind in &kinds {
            // Several kinds: only those examined are known to be of this one.
            let of_kind: Vec<Pair> = if kinds.len() == 1 {
                group.clone()
            } else {
                examined.iter().filter(|(known, _)| known == kind).map(|(_, pair)| *pair).collect()
            };
            one(case, &part, *kind, Component::Postings, (at, &of_kind), findings);
        }
    }
    Ok(())
}

fn optional(pairs: &[(Entry, Entry)]) -> impl Iterator<Item = Pair> + '_ {
    pairs.iter().map(|(source, child)| (Some(*source), Some(*child)))
}

fn report(
    case: &Case<'_>,
    part: &Part,
    kind: FindingKind,
    component: Component,
    pairs: &[(Entry, Entry)],
    findings: &mut Vec<Finding>,
) {
    for (at, group) in by_child(case, optional(pairs)) {
        one(case, part, kind, component, (at, &group), findings);
    }
}

fn one(
    case: &Case<'_>,
    part: &Part,
    kind: FindingKind,
    component: Component,
    (at, group): (usize, &[Pair]),
    findings: &mut Vec<Finding>,
) {
    let what = describe(part, &case.job.source.schema());
    let mut message = format!("{what} differ in {} documents", group.len());
    if let Some(first) = group.first().and_then(|pair| detail::describe(case, part, *pair)) {
        message = format!("{message}; in the first {first}");
    }
    let file = group
        .first()
        .and_then(|(_, child)| case.found.views.get(child.as_ref()?.view as usize))
        .map(|view| view.segment.file(component));
    let mut finding = case.finding(kind, at, message, group);
    finding.file = file;
    findings.push(finding);
}
