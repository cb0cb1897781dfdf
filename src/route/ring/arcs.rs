//! The circle while tokens are planned: arcs that can be cut, given away and joined.
//!
//! A token is the last hash of its arc; the arc starts behind the token before it. To cut an arc costs one token; to
//! give a part to the owner of a neighbouring arc costs none, and joins the parts. Invariants: lengths and sums are
//! those of the tokens at all times; the arcs cover the circle. Cost: each step takes time in the logarithm of the
//! number of tokens.

use std::collections::{BTreeMap, BTreeSet};

use crate::route::hash_table::HASHES;

/// Place of an owner.
pub(super) type Owner = usize;

/// Arcs of the circle with their owners.
#[derive(Debug, Default)]
pub(super) struct Circle {
    tokens: BTreeMap<u32, Owner>,
    owners: BTreeMap<Owner, Owned>,
}

#[derive(Debug, Default)]
struct Owned {
    hashes: u64,
    /// Length and token of each arc.
    by_length: BTreeSet<(u64, u32)>,
}

impl Circle {
    /// The circle of these tokens; they differ.
    pub(super) fn new(tokens: impl Iterator<Item = (u32, Owner)>) -> Circle {
        let mut circle = Circle { tokens: tokens.collect(), owners: BTreeMap::new() };
        let all: Vec<_> = circle.tokens.iter().map(|(&token, &owner)| (token, owner)).collect();
        for (token, owner) in all {
            circle.enter(token, owner);
        }
        circle
    }

    /// Tokens, ascending, with their owners.
    pub(super) fn tokens(&self) -> impl Iterator<Item = (u32, Owner)> + '_ {
        self.tokens.iter().map(|(&token, &owner)| (token, owner))
    }

    /// Tokens of an owner, ascending.
    pub(super) fn tokens_of(&self, owner: Owner) -> Vec<u32> {
        let mut tokens: Vec<u32> =
            self.owners.get(&owner).into_iter().flat_map(|of| &of.by_length).map(|arc| arc.1).collect();
        tokens.sort_unstable();
        tokens
    }

    /// Hashes of an owner.
    pub(super) fn hashes(&self, owner: Owner) -> u64 {
        self.owners.get(&owner).map_or(0, |of| of.hashes)
    }

    /// Length and token of an owner's longest arc.
    pub(super) fn longest(&self, owner: Owner) -> Option<(u64, u32)> {
        self.owners.get(&owner)?.by_length.last().copied()
    }

    /// The token before, which is the same where there is but one.
    pub(super) fn before(&self, token: u32) -> Option<(u32, Owner)> {
        let last = || self.tokens.last_key_value();
        self.tokens.range(..token).next_back().or_else(last).map(|(&token, &owner)| (token, owner))
    }

    /// The token behind, which is the same where there is but one.
    pub(super) fn behind(&self, token: u32) -> Option<(u32, Owner)> {
        let first = || self.tokens.first_key_value();
        let mut later = self.tokens.range((std::ops::Bound::Excluded(token), std::ops::Bound::Unbounded));
        later.next().or_else(first).map(|(&token, &owner)| (token, owner))
    }

    /// Length of a token's arc.
    pub(super) fn length(&self, token: u32) -> u64 {
        match self.before(token) {
            Some((before, _)) if before != token => u64::from(token.wrapping_sub(before)),
            _ => HASHES,
        }
    }

    /// Gives the first `hashes` of an arc, or all of it where it is no longer.
    pub(super) fn give_front(&mut self, token: u32, hashes: u64, to: Owner) {
        let Some((before, owner_before)) = self.before(token) else { return };
        match u32::try_from(hashes) {
            Ok(step) if hashes < self.length(token) => {
                self.attach(before.wrapping_add(step), to);
                if owner_before == to {
                    self.detach(before);
                }
            }
            _ => self.give(token, to),
        }
    }

    /// Gives the last `hashes` of an arc, or all of it where it is no longer.
    pub(super) fn give_back(&mut self, token: u32, hashes: u64, to: Owner) {
        if let Ok(step) = u32::try_from(hashes)
            && hashes < self.length(token)
            && let Some(&owner) = self.tokens.get(&token)
        {
            self.attach(token.wrapping_sub(step), owner);
        }
        self.give(token, to);
    }

    /// Gives a whole arc, and joins it with neighbours of the same owner.
    pub(super) fn give(&mut self, token: u32, to: Owner) {
        self.leave(token);
        self.tokens.insert(token, to);
        self.enter(token, to);
        if let Some((before, owner)) = self.before(token)
            && owner == to
            && before != token
        {
            self.detach(before);
        }
        if let Some((behind, owner)) = self.behind(token)
            && owner == to
            && behind != token
        {
            self.detach(token);
        }
    }

    /// Cuts an arc: what is before the new token is `owner`'s.
    fn attach(&mut self, token: u32, owner: Owner) {
        let behind = self.behind(token).map(|(behind, _)| behind);
        if let Some(behind) = behind {
            self.leave(behind);
        }
        self.tokens.insert(token, owner);
        self.enter(token, owner);
        if let Some(behind) = behind
            && let Some(&owner) = self.tokens.get(&behind)
        {
            self.enter(behind, owner);
        }
    }

    /// Joins an arc with the one behind it.
    fn detach(&mut self, token: u32) {
        let Some((behind, owner)) = self.behind(token) else { return };
        self.leave(token);
        self.leave(behind);
        self.tokens.remove(&token);
        self.enter(behind, owner);
    }

    /// Books an arc.
    fn enter(&mut self, token: u32, owner: Owner) {
        let length = self.length(token);
        let of = self.owners.entry(owner).or_default();
        of.hashes += length;
        of.by_length.insert((length, token));
    }

    /// Takes an arc off the books; its token stays.
    fn leave(&mut self, token: u32) {
        let length = self.length(token);
        if let Some(of) = self.tokens.get(&token).and_then(|owner| self.owners.get_mut(owner)) {
            of.hashes -= length;
            of.by_length.remove(&(length, token));
        }
    }
}
