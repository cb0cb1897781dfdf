//! Nodes of an FST.
//!
//! Every read is checked against the end of the bytes, every address against its beginning.

use super::reader::{Damaged, Result};
use super::{EMPTY_FINAL, FREQUENT, INDEX_THRESHOLD};

/// The automaton of a dictionary.
#[derive(Clone, Copy)]
pub(super) struct Fst<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) version: u64,
}

/// A decoded node: where its parts are.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub(super) is_final: bool,
    pub(super) transitions: usize,
    /// Input of transition i stands at `inputs - 1 - i`, its distance ends at `inputs - transitions - i * size`.
    inputs: u64,
    distance_size: u64,
    pub(super) output_size: u64,
    /// Start of the node: what distances count from.
    pub(super) start: u64,
    /// The only transition, if it is one.
    only: Option<(u8, u64)>,
}

impl Fst<'_> {
    /// Follows nodes with one transition to the node written just before: what a term has for itself is a chain of them,
    /// nearly all nodes of a dictionary of ids. Their inputs go to `key`. Stops before what is damaged.
    #[inline]
    pub(super) fn follow(&self, address: u64, key: &mut Vec<u8>) -> u64 {
        let end = usize::try_from(address).ok().and_then(|address| address.checked_add(1));
        let Some(mut rest) = end.and_then(|end| self.bytes.get(..end)) else { return address };
        while let [before @ .., state] = rest {
            if state & 0xc0 != 0xc0 {
                break;
            }
            let (input, below) = match FREQUENT.get(usize::from(state & 0x3f).wrapping_sub(1)) {
                Some(input) => (input, before),
                None => match before {
                    [below @ .., input] => (input, below),
                    [] => break,
                },
            };
            // Address 0 is no byte but the final node; what leads there is looked at by itself.
            if below.len() < 2 {
                break;
            }
            key.push(*input);
            rest = below;
        }
        (rest.len() as u64).saturating_sub(1)
    }

    /// Whether look-ups find the transitions of `node` by a table.
    pub(super) fn has_table(&self, node: &Node) -> bool {
        node.transitions > INDEX_THRESHOLD && self.version >= 2
    }

    /// Whether the table of `node` leads somewhere from a byte that none of its transitions has: look-ups do not compare
    /// the byte again, so that they would find terms that are not there.
    pub(super) fn finds_absent(&self, node: &Node) -> Result<bool> {
        let mut present = [false; 256];
        for at in 0..node.transitions {
            let (input, _) = self.transition(node, at)?;
            if let Some(present) = present.get_mut(usize::from(input)) {
                *present = true;
            }
        }
        let start = usize::try_from(node.inputs).ok();
        let table = start.and_then(|start| self.bytes.get(start..)?.get(..present.len()));
        let table = table.ok_or(Damaged(node.inputs))?;
        Ok(table.iter().zip(present).any(|(&entry, present)| !present && usize::from(entry) < node.transitions))
    }

    #[inline]
    pub(super) fn node(&self, address: u64) -> Result<Node> {
        let only = |input, target, start| Node {
            is_final: false,
            transitions: 1,
            inputs: 0,
            distance_size: 0,
            output_size: 0,
            start,
            only: Some((input, target)),
        };
        if address == EMPTY_FINAL {
            let start = EMPTY_FINAL;
            return Ok(Node { is_final: true, transitions: 0, only: None, ..only(0, 0, start) });
        }
        let state = self.byte(address)?;
        if state & 0x80 != 0 {
            let (input, at) = match FREQUENT.get(usize::from(state & 0x3f).wrapping_sub(1)) {
                Some(&input) => (input, address),
                None => (self.byte(below(address, 1)?)?, below(address, 1)?),
            };
            if state & 0x40 != 0 {
                return Ok(only(input, below(at, 1)?, at));
            }
            let at = below(at, 1)?;
            let sizes = self.byte(at)?;
            let (distance_size, output_size) = (u64::from(sizes >> 4), u64::from(sizes & 0xf));
            let at = below(at, distance_size)?;
            let distance = self.uint(at, distance_size)?;
            let start = below(at, output_size)?;
            let node = only(input, target(start, distance)?, start);
            return Ok(Node { output_size, ..node });
        }
        let (mut at, mut transitions) = (address, usize::from(state & 0x3f));
        if transitions == 0 {
            at = below(at, 1)?;
            transitions = match self.byte(at)? {
                1 => 256,
                other => usize::from(other),
            };
        }
        at = below(at, 1)?;
        let sizes = self.byte(at)?;
        let (distance_size, output_size) = (u64::from(sizes >> 4), u64::from(sizes & 0xf));
        if transitions > INDEX_THRESHOLD && self.version >= 2 {
            at = below(at, 256)?;
        }
        let is_final = state & 0x40 != 0;
        let len = transitions as u64 * (1 + distance_size + output_size) + if is_final { output_size } else { 0 };
        let start = below(at, len)?;
        Ok(Node { is_final, transitions, inputs: at, distance_size, output_size, start, only: None })
    }

    /// Input and target of transition `at`.
    #[inline]
    pub(super) fn transition(&self, node: &Node, at: usize) -> Result<(u8, u64)> {
        if let Some(only) = node.only {
            return Ok(only);
        }
        let at = at as u64;
        let input = self.byte(below(node.inputs, 1 + at)?)?;
        let place = below(node.inputs, node.transitions as u64 + (at + 1) * node.distance_size)?;
        Ok((input, target(node.start, self.uint(place, node.distance_size)?)?))
    }

    /// Output of transition `at`.
    pub(super) fn output(&self, node: &Node, at: usize) -> Result<u64> {
        if node.output_size == 0 {
            return Ok(0);
        }
        if node.only.is_some() {
            return self.uint(node.start, node.output_size);
        }
        let before = node.transitions as u64 * (1 + node.distance_size);
        self.uint(below(node.inputs, before + (at as u64 + 1) * node.output_size)?, node.output_size)
    }

    /// Output of a final node itself: 0 unless someone else's builder left it one.
    pub(super) fn final_output(&self, node: &Node) -> Result<u64> {
        if node.output_size == 0 { Ok(0) } else { self.uint(node.start, node.output_size) }
    }

    #[inline]
    pub(super) fn byte(&self, at: u64) -> Result<u8> {
        usize::try_from(at).ok().and_then(|at| self.bytes.get(at)).copied().ok_or(Damaged(at))
    }

    #[inline]
    fn uint(&self, at: u64, size: u64) -> Result<u64> {
        let bytes = usize::try_from(at).ok().and_then(|at| self.bytes.get(at..)).ok_or(Damaged(at))?;
        let size = usize::try_from(size).map_err(|_| Damaged(at))?;
        if let Some(chunk) = bytes.first_chunk::<8>() {
            let shift = 64u32.saturating_sub(u32::try_from(size).unwrap_or(8) * 8);
            let all = u64::from_le_bytes(*chunk);
            return Ok(if size == 0 { 0 } else { all << shift >> shift });
        }
        let bytes = bytes.get(..size).ok_or(Damaged(at))?;
        Ok(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }
}

#[inline]
fn below(at: u64, len: u64) -> Result<u64> {
    at.checked_sub(len).ok_or(Damaged(at))
}

#[inline]
fn target(start: u64, distance: u64) -> Result<u64> {
    if distance == 0 { Ok(EMPTY_FINAL) } else { below(start, distance) }
}
