//! Predicting the size of children, for sources that are too large to be rehearsed.
//!
//! Stored documents, positions, postings, norms and columns shrink with the share of documents a child gets. Term
//! dictionaries do not: a frequent term stands in every child. How many terms a child keeps follows from document
//! frequencies: a term of d documents is in a child that gets the share f of them with probability 1 − (1 − f)^d. A
//! sample of terms is looked up, each in every dictionary, so that terms which segments share are counted once.

use std::path::Path;

use tantivy::schema::Field;
use tantivy::termdict::TermDictionary;

use crate::error::{Error, Result};
use crate::partition::{Assigned, Census, DocMap, RoutingHashes, SegmentHashes};
use crate::source::{Component, Segment, Source, guard, sidecar_bytes};

/// Look-ups per field and group.
const LOOK_UPS: usize = 4_000;
/// A `.del` file beside its bitset: document count and footer.
const ALIVE_OVERHEAD: u64 = 98;

/// Predicted bytes per child of a rewrite.
pub(crate) fn predict_rewritten(source: &Source, map: &DocMap) -> Result<Vec<u64>> {
    let mut children = vec![0.0f64; map.num_children];
    for group in &map.groups {
        let segments: Vec<&Segment> = group.segments.iter().filter_map(|&index| source.segments().get(index)).collect();
        let outputs: Vec<(usize, u32)> = group.outputs.iter().map(|output| (output.child, output.num_docs)).collect();
        add_group(source, &segments, &outputs, group.has_hashes(), &mut children)?;
    }
    Ok(children.into_iter().map(whole).collect())
}

/// The same where there is no doc map: as if all segments were written as one per child.
pub(crate) fn predict_by_census(source: &Source, assigned: &Assigned) -> Result<Vec<u64>> {
    let census = &assigned.census;
    let mut children = vec![0.0f64; census.children.len()];
    let segments: Vec<&Segment> = source.segments().iter().collect();
    let docs = |&docs: &u64| u32::try_from(docs).unwrap_or(u32::MAX);
    let outputs: Vec<(usize, u32)> =
        census.children.iter().map(docs).enumerate().filter(|(_, docs)| *docs > 0).collect();
    add_group(source, &segments, &outputs, assigned.hashes.is_some(), &mut children)?;
    Ok(children.into_iter().map(whole).collect())
}

#[expect(clippy::cast_possible_truncation, reason = "bytes on a disk fit 64 bits, and a float saturates")]
fn whole(bytes: f64) -> u64 {
    bytes.max(0.0).round() as u64
}

/// Adds what `outputs` (child and documents) of one group of segments will take.
fn add_group(
    source: &Source,
    segments: &[&Segment],
    outputs: &[(usize, u32)],
    sidecars: bool,
    children: &mut [f64],
) -> Result<()> {
    let docs: u64 = segments.iter().map(|segment| u64::from(segment.max_doc())).sum();
    let proportional: u64 = segments
        .iter()
        .flat_map(|segment| {
            Component::ALL.iter().filter(|&&part| part != Component::Terms).map(|&part| segment.body(part).len() as u64)
        })
        .sum();
    // A footer per file, and a sidecar, whatever is in them.
    let footers = segments.first().map_or(0, |segment| {
        let footer = |part: &Component| segment.component_bytes(*part).saturating_sub(segment.body(*part).len() as u64);
        Component::ALL.iter().map(footer).sum()
    });
    let shares: Vec<f64> = outputs.iter().map(|(_, own)| f64::from(*own) / docs.max(1) as f64).collect();
    let mut predicted: Vec<f64> = shares.iter().map(|share| share * proportional as f64).collect();
    for (field, entry) in source.schema().fields() {
        if entry.is_indexed() {
            let dictionaries = dictionary_bytes(segments, field, &shares)?;
            predicted.iter_mut().zip(dictionaries).for_each(|(sum, bytes)| *sum += bytes);
        }
    }
    for (&(child, docs), bytes) in outputs.iter().zip(predicted) {
        if let Some(child) = children.get_mut(child) {
            let sidecar = if sidecars { sidecar_bytes(docs) } else { 0 };
            *child += bytes + (footers + sidecar) as f64;
        }
    }
    Ok(())
}

/// Predicted bytes per child of a link: alive bitsets and hash sidecars.
pub(crate) fn predict_linked(source: &Source, census: &Census, hashes: Option<&RoutingHashes>) -> Vec<u64> {
    let mut children = vec![0u64; census.children.len()];
    for (index, (segment, counts)) in source.segments().iter().zip(&census.segments).enumerate() {
        let hashes = hashes.and_then(|hashes| hashes.segments.get(index));
        // One sidecar, whose first name is in the first child; none where the source has it already.
        let first = children.iter_mut().zip(&counts.children).find(|(_, docs)| **docs > 0);
        if let (Some((child, _)), Some(None)) = (first, hashes.map(SegmentHashes::sidecar)) {
            *child += sidecar_bytes(segment.max_doc());
        }
        let bitset = u64::from(segment.max_doc()).div_ceil(64) * 8 + ALIVE_OVERHEAD;
        for (child, &docs) in children.iter_mut().zip(&counts.children) {
            *child += if docs > 0 && docs < u64::from(segment.max_doc()) { bitset } else { 0 };
        }
    }
    children
}

/// Predicted bytes of the dictionaries of one field, by output.
fn dictionary_bytes(segments: &[&Segment], field: Field, shares: &[f64]) -> Result<Vec<f64>> {
    let mut dictionaries: Vec<(u64, TermDictionary)> = Vec::new();
    for segment in segments {
        if let Some(dictionary) = segment.terms(field)? {
            dictionaries.push((segment.field_bytes(Component::Terms, field), dictionary));
        }
    }
    guard(segments.first().map_or(Path::new(""), |segment| segment.path()), "a term dictionary", || {
        sample(&dictionaries, shares)
    })
}

fn sample(dictionaries: &[(u64, TermDictionary)], shares: &[f64]) -> Result<Vec<f64>> {
    let terms: usize = dictionaries.iter().map(|(_, dictionary)| dictionary.num_terms()).sum();
    let bytes: u64 = dictionaries.iter().map(|(bytes, _)| bytes).sum();
    if terms == 0 {
        return Ok(vec![0.0; shares.len()]);
    }
    let samples = (LOOK_UPS / dictionaries.len()).clamp(1, terms);
    let step = terms.div_ceil(samples);
    // Terms kept per output, and how many were looked at, both in units of one dictionary entry.
    let mut kept = vec![0.0f64; shares.len()];
    let mut looked_at = 0.0f64;
    let mut key = Vec::new();
    let read = |error| Error::io("read", "a term dictionary")(error);
    for (_, dictionary) in dictionaries {
        for ord in (0..dictionary.num_terms()).step_by(step) {
            if !dictionary.ord_to_term(ord as u64, &mut key).map_err(read)? {
                break;
            }
            let (mut doc_freq, mut holders) = (0u64, 0.0f64);
            for (_, other) in dictionaries {
                if let Some(info) = other.get(&key).map_err(read)? {
                    doc_freq += u64::from(info.doc_freq);
                    holders += 1.0;
                }
            }
            looked_at += 1.0;
            for (kept, share) in kept.iter_mut().zip(shares) {
                let absent = (1.0 - share).max(0.0).powf(doc_freq as f64);
                *kept += (1.0 - absent) / holders.max(1.0);
            }
        }
    }
    Ok(kept.into_iter().map(|kept| bytes as f64 * kept / looked_at.max(1.0)).collect())
}
