//! Two tables laid over each other: which hashes have one shard before and one after.
//!
//! Output: an [`Overlay`], cells of the hash space in each of which both tables give one shard. Cells are slots, or
//! stretches of neighbouring hashes. Cost: linear in slots or stretches; 12 bytes per cell.

use super::RoutingTable;
use crate::route::{RoutingHash, ShardNumber};

/// Cells of the hash space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::route) enum Overlay {
    /// By slot: shard before and after.
    Slots(Vec<(ShardNumber, ShardNumber)>),
    /// By stretch, ascending: last hash, shard before and after.
    Stretches(Vec<(RoutingHash, ShardNumber, ShardNumber)>),
}

/// Lays `after` over `before`; `None` if they are of different kinds or numbers of slots.
pub(in crate::route) fn overlay(before: &RoutingTable, after: &RoutingTable) -> Option<Overlay> {
    if before.function() != after.function() {
        return None;
    }
    if let (RoutingTable::Slots(before), RoutingTable::Slots(after)) = (before, after) {
        let cells = before.owners().iter().copied().zip(after.owners().iter().copied()).collect();
        return (before.slots() == after.slots()).then_some(Overlay::Slots(cells));
    }
    let (before, after) = (before.stretches()?, after.stretches()?);
    let (mut left, mut right) = (before.iter().peekable(), after.iter().peekable());
    let mut cells: Vec<(RoutingHash, ShardNumber, ShardNumber)> = Vec::with_capacity(before.len() + after.len());
    // Both end with the largest hash, so they end together.
    while let (Some(&&(left_end, from)), Some(&&(right_end, to))) = (left.peek(), right.peek()) {
        let end = left_end.min(right_end);
        match cells.last_mut() {
            Some((last, before, after)) if (*before, *after) == (from, to) => *last = end,
            _ => cells.push((end, from, to)),
        }
        if left_end == end {
            left.next();
        }
        if right_end == end {
            right.next();
        }
    }
    Some(Overlay::Stretches(cells))
}

impl Overlay {
    /// Shards before and after of every cell.
    pub(in crate::route) fn pairs(&self) -> Vec<(ShardNumber, ShardNumber)> {
        let mut pairs: Vec<(ShardNumber, ShardNumber)> = match self {
            Overlay::Slots(cells) => cells.clone(),
            Overlay::Stretches(cells) => cells.iter().map(|&(_, before, after)| (before, after)).collect(),
        };
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }
}
