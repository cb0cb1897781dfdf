//! What a routed part will come to: sizes of children, how even they are, hashes to count.

use super::part::{Options, Part};
use super::rehearse::{REHEARSED, rehearse};
use crate::error::Result;
use crate::partition::{Assignment, DocMap, Group, MAX_DOCS_PER_SEGMENT, SegmentHashes};
use crate::plan::{Method, PlannedChild, predict_by_census, predict_linked, predict_rewritten};
use crate::route::RoutingHash;
use crate::source::{HashState, sidecar_bytes};

impl Part {
    /// Calls `see` with segment, number and hash of every live document that has a hash.
    pub(super) fn for_each_hash(&self, see: &mut dyn FnMut(usize, u32, RoutingHash)) {
        let mut one = |index: usize, hashes: &SegmentHashes| {
            let Some(segment) = self.source.segments().get(index).filter(|segment| segment.num_docs() > 0) else {
                return;
            };
            hashes.for_each(segment.max_doc(), |doc, hash, state| {
                if state == HashState::Hashed && segment.is_alive(doc) {
                    see(index, doc, hash);
                }
            });
        };
        match &self.map {
            Some(map) if self.links.is_none() => {
                for group in &map.groups {
                    group.with_hashes(|hashes| {
                        group.segments.iter().zip(&hashes.segments).for_each(|(&index, hashes)| one(index, hashes));
                    });
                }
            }
            _ => {
                let hashes = self.assigned.hashes.iter().flat_map(|hashes| &hashes.segments);
                hashes.enumerate().for_each(|(index, hashes)| one(index, hashes));
            }
        }
    }

    /// Small sources are written to nowhere; of damaged ones the real writing says more, checksums first.
    fn predict_rewritten(&self, map: &DocMap) -> Result<Vec<u64>> {
        if self.source.num_bytes() <= REHEARSED
            && let Ok(exact) = rehearse(&self.source, map, self.routing.children())
        {
            return Ok(exact);
        }
        predict_rewritten(&self.source, map)
    }

    fn predict_linked(&self) -> Vec<u64> {
        predict_linked(&self.source, &self.assigned.census, self.assigned.hashes.as_ref())
    }

    /// Of documents that stay in their shards: bitsets and sidecars.
    fn predict_stays(&self, links: &Assignment) -> Vec<u64> {
        let mut stays = self.assigned.census.clone();
        for (index, segment) in stays.segments.iter_mut().enumerate() {
            let owner = links.children_of(index);
            for (child, docs) in segment.children.iter_mut().enumerate() {
                *docs = if owner.contains(&child) { *docs } else { 0 };
            }
        }
        predict_linked(&self.source, &stays, self.assigned.hashes.as_ref())
    }

    /// Predicted bytes of all children, by either method.
    pub(super) fn predict_method(&self, method: Method) -> Result<u64> {
        let children = match (method, &self.map) {
            (Method::Rewrite, Some(map)) => self.predict_rewritten(map)?,
            (Method::Rewrite, None) => predict_by_census(&self.source, &self.assigned)?,
            (Method::Link, _) => self.predict_linked(),
        };
        // Of a rewrite the hashes are with the doc map; linked segments would get them as sidecars.
        let hashed = method == Method::Link && self.map.iter().flat_map(|map| &map.groups).any(Group::has_hashes);
        let sidecars = self.source.segments().iter().filter(|segment| hashed && segment.num_docs() > 0);
        Ok(children.iter().sum::<u64>() + sidecars.map(|segment| sidecar_bytes(segment.max_doc())).sum::<u64>())
    }

    /// The children with their predicted sizes.
    pub(super) fn predict(&self) -> Result<Vec<PlannedChild>> {
        let census = &self.assigned.census;
        let (mut predicted, mut segments) = (vec![0; census.children.len()], vec![0; census.children.len()]);
        if let Some(links) = &self.links {
            for child in (0..self.source.segments().len()).flat_map(|segment| links.children_of(segment)) {
                segments.get_mut(child).into_iter().for_each(|count| *count += 1);
            }
            let bytes = if self.routing.moves() { self.predict_stays(links) } else { self.predict_linked() };
            predicted.iter_mut().zip(bytes).for_each(|(sum, bytes)| *sum += bytes);
        }
        if let Some(map) = &self.map {
            // Where links come first, the map has no hashes yet.
            let sidecars = self.links.is_some() && self.assigned.hashes.is_some();
            for output in map.groups.iter().flat_map(|group| &group.outputs) {
                segments.get_mut(output.child).into_iter().for_each(|count| *count += 1);
                let bytes = if sidecars { sidecar_bytes(output.num_docs) } else { 0 };
                predicted.get_mut(output.child).into_iter().for_each(|sum| *sum += bytes);
            }
            let bytes = self.predict_rewritten(map)?;
            predicted.iter_mut().zip(bytes).for_each(|(sum, bytes)| *sum += bytes);
        }
        let children = self.routing.children().iter().zip(&census.children).zip(segments.into_iter().zip(predicted));
        let child =
            |((&shard, &docs), (segments, predicted_bytes))| PlannedChild { shard, docs, segments, predicted_bytes };
        Ok(children.map(child).collect())
    }
}

/// What an operator should know of `children`, whatever the source.
pub(super) fn warnings(children: &[PlannedChild], options: &Options, moves: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    let empty = children.iter().filter(|child| child.docs == 0).count();
    if empty > 0 {
        warnings.push(format!("{empty} of {} children get no document", children.len()));
    }
    warnings.extend(uneven(children));
    if options.method == Method::Link && !moves && options.max_docs_per_segment < MAX_DOCS_PER_SEGMENT {
        warnings.push("linked children keep the source's segments: --max-docs-per-segment has no effect".to_owned());
    }
    warnings
}

/// That a child gets more than twice the mean. Small numbers vary by chance.
fn uneven(children: &[PlannedChild]) -> Option<String> {
    let largest = children.iter().max_by_key(|child| child.docs)?;
    let (docs, mean) =
        (largest.docs, children.iter().map(|child| child.docs).sum::<u64>() / children.len().max(1) as u64);
    (mean >= SMALL && docs > 2 * mean).then(|| {
        format!("child {} gets {docs} documents, more than twice the mean of {mean}; plan --explain names the heaviest keys", largest.shard)
    })
}

/// Documents of a mean child below which nothing is said of how even children are.
const SMALL: u64 = 100;
