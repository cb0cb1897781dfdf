//! In which part of their content paired documents differ.

use std::collections::BTreeSet;

use tantivy::schema::Field;

use super::matching::Entry;
use super::{Case, Pair, by_child, detail};
use crate::error::{Error, Result};
use crate::source::{Component, guard};
use crate::verify::content::lanes::SegmentLanes;
use crate::verify::content::unit::{Detail, Part, describe};
use crate::verify::report::{Finding, FindingKind};

/// Compares `pairs` part by part; one finding per child, part and kind.
pub(super) fn run(case: &Case<'_>, pairs: &[(Entry, Entry)], findings: &mut Vec<Finding>) -> Result<()> {
    if pairs.is_empty() {
        return Ok(());
    }
    for part in all_parts(case) {
        let differing = differing(case, &part, Detail::Positions, pairs)?;
        if differing.is_empty() {
            continue;
        }
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

fn differing(case: &Case<'_>, part: &Part, detail: Detail, pairs: &[(Entry, Entry)]) -> Result<Vec<(Entry, Entry)>> {
    let part = match part {
        Part::Postings(field, _) => Part::Postings(*field, detail),
        other => other.clone(),
    };
    let source = case.source.read(Some(&part), detail, case.reading)?;
    let found = case.found.read(Some(&part), detail, case.reading)?;
    let lanes = |side: &[SegmentLanes], entry: Entry| side.get(entry.view as usize).map(|lanes| lanes.get(entry.doc));
    Ok(pairs.iter().filter(|(a, b)| lanes(&source, *a) != lanes(&found, *b)).copied().collect())
}

/// Tells lost terms, frequencies and positions apart, by comparing with less and less detail.
fn postings(case: &Case<'_>, field: Field, pairs: &[(Entry, Entry)], findings: &mut Vec<Finding>) -> Result<()> {
    let part = Part::Postings(field, Detail::Positions);
    let terms = differing(case, &part, Detail::Documents, pairs)?;
    let freqs = differing(case, &part, Detail::Frequencies, pairs)?;
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
