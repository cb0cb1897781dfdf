//! Streaming the terms of a dictionary in order, with their term infos.
//!
//! What a walk over all terms needs is less than an FST offers: every term once, ascending. So nodes are walked depth
//! first and term infos are decoded block after block. Ordinals ascend by one; a term whose outputs add up to another
//! one is refused, for look-ups would find another term's info. Distances always point backwards, so a walk ends whatever
//! the bytes are; a dictionary that would give more terms than it has infos is refused.

use tantivy::postings::TermInfo;

use super::infos::InfosReader;
use super::{EMPTY_FINAL, FREQUENT, INDEX_THRESHOLD};

/// A dictionary that contradicts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its term dictionary is damaged at byte {0}")]
pub(crate) struct Damaged(u64);

type Result<T> = std::result::Result<T, Damaged>;

/// Terms of one dictionary, from a lower bound on.
pub(crate) struct TermReader<'a> {
    fst: &'a [u8],
    infos: InfosReader<'a>,
    /// Nodes with transitions left to take.
    open: Vec<OpenNode>,
    /// Node to enter next, and the outputs on the way to it.
    next: Option<(u64, u64)>,
    key: Vec<u8>,
    /// Ordinal of the next term.
    ordinal: u64,
    info: TermInfo,
    version: u64,
}

#[derive(Clone, Copy)]
struct OpenNode {
    node: Node,
    /// Next transition.
    at: usize,
    /// Length of the key at this node.
    depth: usize,
    /// Sum of the outputs on the way to this node.
    sum: u64,
}

/// A decoded node: where its parts are.
#[derive(Clone, Copy)]
struct Node {
    is_final: bool,
    transitions: usize,
    /// Input of transition i stands at `inputs - 1 - i`, its distance ends at `inputs - transitions - i * size`.
    inputs: u64,
    distance_size: u64,
    output_size: u64,
    /// Start of the node: what distances count from.
    start: u64,
    /// The only transition, if it is one.
    only: Option<(u8, u64)>,
}

impl<'a> TermReader<'a> {
    /// `bytes`: the whole dictionary as it stands in `.term`; `from`: a lower bound for terms.
    pub(crate) fn open(bytes: &'a [u8], from: Option<&[u8]>) -> Result<TermReader<'a>> {
        let end = bytes.len().checked_sub(16).ok_or(Damaged(0))?;
        let infos_len = usize::try_from(word(bytes, end)?).map_err(|_| Damaged(end as u64))?;
        let fst_len = end.checked_sub(infos_len).ok_or(Damaged(end as u64))?;
        let (fst, rest) = bytes.split_at_checked(fst_len).ok_or(Damaged(end as u64))?;
        let infos = InfosReader::open(rest.get(..infos_len).unwrap_or(&[])).ok_or(Damaged(fst_len as u64))?;
        let root = word(fst, fst_len.checked_sub(8).ok_or(Damaged(0))?)?;
        let mut reader = TermReader {
            fst,
            infos,
            open: Vec::new(),
            next: None,
            key: Vec::new(),
            ordinal: 0,
            info: TermInfo::default(),
            version: word(fst, 0)?,
        };
        if reader.infos.num_terms() > 0 {
            reader.seek(root, from.unwrap_or(&[]))?;
        }
        Ok(reader)
    }

    /// Goes to where the first term not below `from` will be found, and finds its ordinal.
    fn seek(&mut self, root: u64, from: &[u8]) -> Result<()> {
        let (mut address, mut sum) = (root, 0);
        for (depth, &byte) in from.iter().enumerate() {
            let node = self.node(address)?;
            let mut at = 0;
            while at < node.transitions && self.transition(&node, at)?.0 < byte {
                at += 1;
            }
            let exact = at < node.transitions && self.transition(&node, at)?.0 == byte;
            let later = at + usize::from(exact);
            if later < node.transitions {
                self.open.push(OpenNode { node, at: later, depth, sum });
            }
            if !exact {
                // The next term is the first one below an open node.
                self.ordinal = match self.open.last() {
                    Some(open) => self.output(&open.node, open.at)?.saturating_add(open.sum),
                    None => self.infos.num_terms(),
                };
                return Ok(());
            }
            sum = self.output(&node, at)?.saturating_add(sum);
            self.key.push(byte);
            address = self.transition(&node, at)?.1;
        }
        self.next = Some((address, sum));
        self.ordinal = sum;
        Ok(())
    }

    /// Moves to the next term; false at the end.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool> {
        let (mut address, mut sum) = match self.next.take() {
            Some(next) => next,
            None => {
                let Some(open) = self.open.last_mut() else { return Ok(false) };
                let OpenNode { node, at, depth, sum } = *open;
                open.at += 1;
                if open.at >= node.transitions {
                    self.open.pop();
                }
                let (input, target) = self.transition(&node, at)?;
                // What the transition before led to; terms below this one come after it.
                if self.key.get(depth).is_some_and(|before| *before >= input) {
                    return Err(Damaged(node.start));
                }
                self.key.truncate(depth);
                self.key.push(input);
                (target, self.output(&node, at)?.saturating_add(sum))
            }
        };
        loop {
            address = self.chain(address);
            let node = self.node(address)?;
            if node.is_final {
                if node.transitions > 0 {
                    self.open.push(OpenNode { node, at: 0, depth: self.key.len(), sum });
                    sum = sum.saturating_add(self.final_output(&node)?);
                }
                return self.enter_term(address, sum).map(|()| true);
            }
            if node.transitions == 0 {
                return Err(Damaged(address));
            }
            if node.transitions > 1 {
                self.open.push(OpenNode { node, at: 1, depth: self.key.len(), sum });
            }
            let (input, target) = self.transition(&node, 0)?;
            self.key.push(input);
            if node.output_size > 0 {
                sum = sum.saturating_add(self.output(&node, 0)?);
            }
            address = target;
        }
    }

    /// Follows nodes whose only transition leads to the node written just before, as long as they are such: what a term has
    /// for itself is a chain of them, nearly all nodes of a dictionary of ids. Stops before what is damaged.
    #[inline]
    fn chain(&mut self, address: u64) -> u64 {
        let end = usize::try_from(address).ok().and_then(|address| address.checked_add(1));
        let Some(mut rest) = end.and_then(|end| self.fst.get(..end)) else { return address };
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
            self.key.push(*input);
            rest = below;
        }
        (rest.len() as u64).saturating_sub(1)
    }

    fn enter_term(&mut self, address: u64, sum: u64) -> Result<()> {
        self.info = self.infos.get(sum).filter(|_| sum == self.ordinal).ok_or(Damaged(address))?;
        self.ordinal += 1;
        Ok(())
    }

    /// The current term.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Its ordinal.
    pub(crate) fn ordinal(&self) -> u64 {
        self.ordinal.saturating_sub(1)
    }

    /// Its term info.
    pub(crate) fn info(&self) -> &TermInfo {
        &self.info
    }

    #[inline]
    fn node(&self, address: u64) -> Result<Node> {
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
    fn transition(&self, node: &Node, at: usize) -> Result<(u8, u64)> {
        if let Some(only) = node.only {
            return Ok(only);
        }
        let at = at as u64;
        let input = self.byte(below(node.inputs, 1 + at)?)?;
        let place = below(node.inputs, node.transitions as u64 + (at + 1) * node.distance_size)?;
        Ok((input, target(node.start, self.uint(place, node.distance_size)?)?))
    }

    /// Output of transition `at`.
    fn output(&self, node: &Node, at: usize) -> Result<u64> {
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
    fn final_output(&self, node: &Node) -> Result<u64> {
        if node.output_size == 0 { Ok(0) } else { self.uint(node.start, node.output_size) }
    }

    #[inline]
    fn byte(&self, at: u64) -> Result<u8> {
        usize::try_from(at).ok().and_then(|at| self.fst.get(at)).copied().ok_or(Damaged(at))
    }

    #[inline]
    fn uint(&self, at: u64, size: u64) -> Result<u64> {
        let bytes = usize::try_from(at).ok().and_then(|at| self.fst.get(at..)).ok_or(Damaged(at))?;
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

fn word(bytes: &[u8], at: usize) -> Result<u64> {
    let word = bytes.get(at..).and_then(|bytes| bytes.first_chunk::<8>());
    word.map(|word| u64::from_le_bytes(*word)).ok_or(Damaged(at as u64))
}
