//! Nodes of an FST.
//!
//! Every read is checked against the end of the bytes, every address against its beginning.

use prefetch_index::prefetch_index;

use super::reader::{Damaged, Result};
use super::{EMPTY_FINAL, FREQUENT, INDEX_THRESHOLD};

/// The automaton of a dictionary.
#[derive(Clone, Copy)]
pub(super) struct Fst<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) version: u64,
}

/// A decoded node: where its parts are. Whole words, which are copied as they were written.
#[derive(Clone, Copy)]
pub(super) struct Node {
    /// Start of the node: what distances count from.
    pub(super) start: u64,
    /// Input of transition i stands at `place - 1 - i`, its distance ends at `place - transitions - i * size`. Of a node
    /// that is nothing but one transition: its target.
    place: u64,
    /// From the lowest bit on: 16 of the number of transitions, 8 each of the sizes of distances and outputs, and of the
    /// only input; [`IS_FINAL`], [`IS_ONE`].
    shape: u64,
}

const DISTANCE_SIZE: u32 = 16;
const OUTPUT_SIZE: u32 = 24;
const INPUT: u32 = 32;
const IS_FINAL: u64 = 1 << 40;
/// Nothing but one transition.
const IS_ONE: u64 = 1 << 41;

impl Node {
    /// A node that is nothing but a transition, without the size of its output.
    #[inline]
    fn one(input: u8, target: u64, start: u64) -> Node {
        Node { start, place: target, shape: 1 | u64::from(input) << INPUT | IS_ONE }
    }

    #[inline]
    pub(super) fn is_final(&self) -> bool {
        self.shape & IS_FINAL != 0
    }

    #[inline]
    pub(super) fn transitions(&self) -> u64 {
        self.shape & 0xffff
    }

    #[inline]
    fn distance_size(&self) -> u64 {
        self.shape >> DISTANCE_SIZE & 0xff
    }

    #[inline]
    pub(super) fn output_size(&self) -> u64 {
        self.shape >> OUTPUT_SIZE & 0xff
    }

    /// The input of a node that is nothing but one transition.
    #[inline]
    fn only_input(&self) -> Option<u8> {
        (self.shape & IS_ONE != 0).then(|| (self.shape >> INPUT).to_le_bytes()[0])
    }
}

/// Eight times the bits that tell a node with one transition to the node before …
const TOPS: u64 = 0xc0c0_c0c0_c0c0_c0c0;
/// … and those of the code of its input …
const CODES: u64 = 0x3f3f_3f3f_3f3f_3f3f;
/// … and the bit above.
const CARRIES: u64 = 0x4040_4040_4040_4040;

/// Bytes ahead that are fetched: some ten terms.
const AHEAD: usize = 512;

/// The input by code; 0 is none.
#[expect(clippy::indexing_slicing, reason = "evaluated when compiled: an index out of bounds would not compile")]
const INPUTS: [u8; 64] = {
    let mut inputs = [0; 64];
    let mut code = 1;
    while code < inputs.len() {
        inputs[code] = FREQUENT[code - 1];
        code += 1;
    }
    inputs
};

impl Fst<'_> {
    /// Follows nodes with one transition to the node written just before: what a term has for itself is a chain of them,
    /// nearly all nodes of a dictionary of ids. Their inputs go to `key`. Stops before what is damaged.
    #[inline]
    pub(super) fn follow(&self, address: u64, key: &mut Vec<u8>) -> u64 {
        let end = usize::try_from(address).ok().and_then(|address| address.checked_add(1));
        let Some(mut rest) = end.and_then(|end| self.bytes.get(..end)) else { return address };
        // Terms that follow have their nodes further on, but each is read from its end.
        prefetch_index(self.bytes, rest.len() + AHEAD);
        while let Some((below, states)) = rest.split_last_chunk::<8>().filter(|(below, _)| below.len() >= 2) {
            let word = u64::from_le_bytes(*states);
            // All of them such nodes, and no code is 0: then a 1 is carried out of its six bits.
            if word & TOPS != TOPS || ((word & CODES) + CODES) & CARRIES != CARRIES {
                break;
            }
            let mut inputs = states.map(|state| INPUTS.get(usize::from(state & 0x3f)).copied().unwrap_or(0));
            inputs.reverse();
            key.extend_from_slice(&inputs);
            rest = below;
        }
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
        node.transitions() > INDEX_THRESHOLD as u64 && self.version >= 2
    }

    /// Whether the table of `node` leads somewhere from a byte that none of its transitions has: look-ups do not compare
    /// the byte again, so that they would find terms that are not there.
    pub(super) fn finds_absent(&self, node: &Node) -> Result<bool> {
        let mut present = [false; 256];
        for at in 0..node.transitions() {
            let (input, _) = self.transition(node, at)?;
            if let Some(present) = present.get_mut(usize::from(input)) {
                *present = true;
            }
        }
        let start = usize::try_from(node.place).ok();
        let table = start.and_then(|start| self.bytes.get(start..)?.get(..present.len()));
        let table = table.ok_or(Damaged(node.place))?;
        Ok(table.iter().zip(present).any(|(&entry, present)| !present && u64::from(entry) < node.transitions()))
    }

    /// The node at `address`. Called in two places, which the compiler takes for too many.
    #[inline(always)]
    pub(super) fn node(&self, address: u64) -> Result<Node> {
        if address == EMPTY_FINAL {
            return Ok(Node { start: EMPTY_FINAL, place: 0, shape: IS_FINAL });
        }
        let state = self.byte(address)?;
        if state & 0x80 != 0 {
            let (input, at) = match FREQUENT.get(usize::from(state & 0x3f).wrapping_sub(1)) {
                Some(&input) => (input, address),
                None => (self.byte(below(address, 1)?)?, below(address, 1)?),
            };
            if state & 0x40 != 0 {
                return Ok(Node::one(input, below(at, 1)?, at));
            }
            let at = below(at, 1)?;
            let (distance_size, output_size) = self.sizes(at)?;
            let at = below(at, distance_size)?;
            let distance = self.uint(at, distance_size)?;
            let start = below(at, output_size)?;
            let node = Node::one(input, target(start, distance)?, start);
            return Ok(Node { shape: node.shape | output_size << OUTPUT_SIZE, ..node });
        }
        let (mut at, mut transitions) = (address, u64::from(state & 0x3f));
        if transitions == 0 {
            at = below(at, 1)?;
            transitions = match self.byte(at)? {
                1 => 256,
                other => u64::from(other),
            };
        }
        at = below(at, 1)?;
        let (distance_size, output_size) = self.sizes(at)?;
        if transitions > INDEX_THRESHOLD as u64 && self.version >= 2 {
            at = below(at, 256)?;
        }
        let is_final = state & 0x40 != 0;
        let len = transitions * (1 + distance_size + output_size) + if is_final { output_size } else { 0 };
        let shape = transitions | distance_size << DISTANCE_SIZE | output_size << OUTPUT_SIZE;
        Ok(Node { start: below(at, len)?, place: at, shape: if is_final { shape | IS_FINAL } else { shape } })
    }

    /// Sizes of distances and of outputs.
    #[inline]
    fn sizes(&self, at: u64) -> Result<(u64, u64)> {
        let sizes = self.byte(at)?;
        Ok((u64::from(sizes >> 4), u64::from(sizes & 0xf)))
    }

    /// Input and target of transition `at`.
    #[inline]
    pub(super) fn transition(&self, node: &Node, at: u64) -> Result<(u8, u64)> {
        if let Some(input) = node.only_input() {
            return Ok((input, node.place));
        }
        let input = self.byte(below(node.place, 1 + at)?)?;
        let place = below(node.place, node.transitions() + (at + 1) * node.distance_size())?;
        Ok((input, target(node.start, self.uint(place, node.distance_size())?)?))
    }

    /// Output of transition `at`.
    #[inline]
    pub(super) fn output(&self, node: &Node, at: u64) -> Result<u64> {
        if node.output_size() == 0 {
            return Ok(0);
        }
        if node.only_input().is_some() {
            return self.uint(node.start, node.output_size());
        }
        let before = node.transitions() * (1 + node.distance_size());
        self.uint(below(node.place, before + (at + 1) * node.output_size())?, node.output_size())
    }

    /// Output of a final node itself: 0 unless someone else's builder left it one.
    pub(super) fn final_output(&self, node: &Node) -> Result<u64> {
        if node.output_size() == 0 { Ok(0) } else { self.uint(node.start, node.output_size()) }
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
