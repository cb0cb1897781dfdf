//! Who gives how much when one node of a planned ring gains or loses, and which arcs that takes.
//!
//! One node changes by an exact number of hashes; the others make up for it. Those furthest above (or below) their
//! wanted share come first, and are levelled: afterwards they stand at one ratio to it. Where all of them take part that
//! ratio is 1, and the plan is exact. At most as many take part as a node has tokens, unless one change would then leave
//! a node more than 1 / tokens of its share from it.
//!
//! Nothing moves between the others, so the movement is the least that gives the node its share.

use std::cmp::Reverse;

use super::arcs::{Circle, Owner};

/// Which way hashes go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// From the others to the node.
    In,
    /// From the node to the others.
    Out,
}

/// What an owner still has to give or get.
type Open = Vec<u64>;

/// `node` gets `hashes` more. `wanted`: hashes that each owner should have in the end.
pub(super) fn gather(circle: &mut Circle, node: Owner, hashes: u64, wanted: &[u64], tokens_per_node: u32) {
    let mut open = level(circle, node, hashes, wanted, tokens_per_node, Way::In);
    // Arcs beside the node's own cost no token.
    for token in circle.tokens_of(node) {
        if let Some((before, owner)) = circle.before(token) {
            let part = claim(&mut open, owner, circle.length(before));
            if part > 0 {
                circle.give_back(before, part, node);
            }
        }
        // The arc may have been joined, but it ends where it ended, and the token behind it is the same.
        if let Some((behind, owner)) = circle.behind(token) {
            let part = claim(&mut open, owner, circle.length(behind));
            if part > 0 {
                circle.give_front(behind, part, node);
            }
        }
    }
    // Even pieces, as many as tokens are left: many neighbours, so that many take over if the node is lost.
    let all: u64 = open.iter().sum();
    let tokens = (tokens_per_node as usize).saturating_sub(circle.tokens_of(node).len()) as u128;
    for (owner, mut rest) in open.into_iter().enumerate() {
        let pieces = u64::try_from(u128::from(rest) * tokens / u128::from(all.max(1))).unwrap_or(1).max(1);
        for pieces in (1..=pieces).rev() {
            let piece = rest.div_ceil(pieces);
            rest -= take(circle, owner, piece, node);
        }
    }
}

/// `node` gives `hashes` away. `wanted`: hashes that each owner should have in the end.
pub(super) fn scatter(circle: &mut Circle, node: Owner, hashes: u64, wanted: &[u64], tokens_per_node: u32) {
    let mut open = level(circle, node, hashes, wanted, tokens_per_node, Way::Out);
    // Neighbours take their part without a token.
    for token in circle.tokens_of(node) {
        let length = circle.length(token);
        let mut front = 0;
        if let Some((_, owner)) = circle.before(token) {
            front = claim(&mut open, owner, length);
            if front > 0 {
                circle.give_front(token, front, owner);
            }
        }
        if front < length
            && let Some((_, owner)) = circle.behind(token)
        {
            let back = claim(&mut open, owner, length - front);
            if back > 0 {
                circle.give_back(token, back, owner);
            }
        }
    }
    for (owner, rest) in open.into_iter().enumerate() {
        take(circle, node, rest, owner);
    }
}

/// Moves `hashes` from the longest arcs of one owner to another; returns how many it moved.
fn take(circle: &mut Circle, from: Owner, hashes: u64, to: Owner) -> u64 {
    let mut rest = hashes;
    while rest > 0
        && let Some((length, token)) = circle.longest(from)
    {
        let part = rest.min(length);
        circle.give_front(token, part, to);
        rest -= part;
    }
    hashes - rest
}

/// Takes up to `limit` from what an owner has open.
fn claim(open: &mut Open, owner: Owner, limit: u64) -> u64 {
    let Some(open) = open.get_mut(owner) else { return 0 };
    let part = limit.min(*open);
    *open -= part;
    part
}

/// An owner before levelling.
#[derive(Clone, Copy)]
struct Level {
    owner: Owner,
    has: u64,
    wanted: u64,
}

/// Shares `hashes` out among the others. The parts add up to `hashes` exactly.
fn level(circle: &Circle, node: Owner, hashes: u64, wanted: &[u64], tokens_per_node: u32, way: Way) -> Open {
    let mut others: Vec<Level> = wanted
        .iter()
        .enumerate()
        .filter(|&(owner, &wanted)| owner != node && wanted > 0)
        .map(|(owner, &wanted)| Level { owner, has: circle.hashes(owner), wanted })
        .collect();
    // Ratio of what an owner has to what it should have; fixed point, so that equal ratios keep the order of nodes.
    let ratio = |level: &Level| (u128::from(level.has) << 64) / u128::from(level.wanted);
    match way {
        Way::In => others.sort_by_key(|level| Reverse(ratio(level))),
        Way::Out => others.sort_by_key(ratio),
    }
    let left = |has: u128| match way {
        Way::In => has.checked_sub(u128::from(hashes)),
        Way::Out => Some(has + u128::from(hashes)),
    };
    let bound = u128::from(tokens_per_node.max(2));
    // Who is left out keeps what it has; that must not be further off than what a change may move.
    let may_be_left_out = |level: &Level| {
        let (has, wanted) = (u128::from(level.has), u128::from(level.wanted));
        match way {
            Way::In => has * bound <= wanted * (bound + 1),
            Way::Out => has * bound >= wanted * (bound - 1),
        }
    };
    let (mut has, mut want, mut taking) = (0u128, 0u128, 0);
    for (place, level) in others.iter().enumerate() {
        has += u128::from(level.has);
        want += u128::from(level.wanted);
        taking = place + 1;
        if taking >= tokens_per_node as usize
            && left(has).is_some_and(|left| left.abs_diff(want) * bound <= want)
            && others.get(taking).is_none_or(may_be_left_out)
        {
            break;
        }
    }
    others.truncate(taking);
    // Who stands on the other side of the level has no part in it.
    while let (Some(last), Some(left)) = (others.last(), left(has)) {
        let (own, at_level) = (u128::from(last.has) * want, u128::from(last.wanted) * left);
        let takes_part = if way == Way::In { own > at_level } else { own < at_level };
        if takes_part || others.len() == 1 {
            break;
        }
        has -= u128::from(last.has);
        want -= u128::from(last.wanted);
        others.pop();
    }
    let mut open = vec![0; wanted.len()];
    let Some(left) = left(has) else { return open };
    let goals: Vec<u128> = others.iter().map(|level| u128::from(level.wanted) * left / want.max(1)).collect();
    let mut rounding = left - goals.iter().sum::<u128>();
    for (level, goal) in others.iter().zip(goals) {
        let extra = rounding.min(1);
        rounding -= extra;
        if let Some(open) = open.get_mut(level.owner) {
            *open = u64::try_from(u128::from(level.has).abs_diff(goal + extra)).unwrap_or(0);
        }
    }
    open
}
