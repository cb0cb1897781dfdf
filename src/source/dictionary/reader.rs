//! Streaming the terms of a dictionary in order, with their term infos.
//!
//! What a walk over all terms needs is less than an FST offers: every term once, ascending. So nodes are walked depth
//! first and term infos are decoded block after block. Ordinals ascend by one; a term whose outputs add up to another
//! one is refused, for look-ups would find another term's info. Distances always point backwards, so a walk ends whatever
//! the bytes are; a dictionary that would give more terms than it has infos is refused.

use tantivy::postings::TermInfo;

use super::infos::InfosReader;
use super::node::{Fst, Node};

/// A dictionary that contradicts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its term dictionary is damaged at byte {0}")]
pub(crate) struct Damaged(pub(super) u64);

pub(super) type Result<T> = std::result::Result<T, Damaged>;

/// Terms of one dictionary, from a lower bound on.
pub(crate) struct TermReader<'a> {
    fst: Fst<'a>,
    infos: InfosReader<'a>,
    /// Nodes with transitions left to take.
    open: Vec<OpenNode>,
    /// Node to enter next, and the outputs on the way to it.
    next: Option<(u64, u64)>,
    key: Vec<u8>,
    /// Ordinal of the next term.
    ordinal: u64,
    info: TermInfo,
    /// Whether a node on the way to the current term, from the one before, has a table.
    by_table: bool,
    /// Whether any node on the way so far has a table that finds terms that are not there.
    astray: bool,
}

#[derive(Clone, Copy)]
struct OpenNode {
    node: Node,
    /// Next transition.
    at: u64,
    /// Length of the key at this node.
    depth: usize,
    /// Sum of the outputs on the way to this node.
    sum: u64,
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
            fst: Fst { bytes: fst, version: word(fst, 0)? },
            infos,
            open: Vec::new(),
            next: None,
            key: Vec::new(),
            ordinal: 0,
            info: TermInfo::default(),
            by_table: false,
            astray: false,
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
            let node = self.fst.node(address)?;
            self.enter_table(&node)?;
            let mut at = 0;
            while at < node.transitions() && self.fst.transition(&node, at)?.0 < byte {
                at += 1;
            }
            let exact = at < node.transitions() && self.fst.transition(&node, at)?.0 == byte;
            let later = at + u64::from(exact);
            if later < node.transitions() {
                self.open.push(OpenNode { node, at: later, depth, sum });
            }
            if !exact {
                // The next term is the first one below an open node.
                self.ordinal = match self.open.last() {
                    Some(open) => self.fst.output(&open.node, open.at)?.saturating_add(open.sum),
                    None => self.infos.num_terms(),
                };
                return Ok(());
            }
            sum = self.fst.output(&node, at)?.saturating_add(sum);
            self.key.push(byte);
            address = self.fst.transition(&node, at)?.1;
        }
        self.next = Some((address, sum));
        self.ordinal = sum;
        Ok(())
    }

    /// Moves to the next term; false at the end.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool> {
        self.by_table = false;
        let (mut address, mut sum) = match self.next.take() {
            Some(next) => next,
            None => {
                let Some(open) = self.open.last_mut() else { return Ok(false) };
                let OpenNode { node, at, depth, sum } = *open;
                open.at += 1;
                if open.at >= node.transitions() {
                    self.open.pop();
                }
                self.by_table = self.fst.has_table(&node);
                let (input, target) = self.fst.transition(&node, at)?;
                // What the transition before led to; terms below this one come after it.
                if self.key.get(depth).is_some_and(|before| *before >= input) {
                    return Err(Damaged(node.start));
                }
                self.key.truncate(depth);
                self.key.push(input);
                (target, self.fst.output(&node, at)?.saturating_add(sum))
            }
        };
        loop {
            address = self.fst.follow(address, &mut self.key);
            let node = self.fst.node(address)?;
            self.by_table |= self.enter_table(&node)?;
            if node.is_final() {
                if node.transitions() > 0 {
                    self.open.push(OpenNode { node, at: 0, depth: self.key.len(), sum });
                    sum = sum.saturating_add(self.fst.final_output(&node)?);
                }
                return self.enter_term(address, sum).map(|()| true);
            }
            if node.transitions() == 0 {
                return Err(Damaged(address));
            }
            if node.transitions() > 1 {
                self.open.push(OpenNode { node, at: 1, depth: self.key.len(), sum });
            }
            let (input, target) = self.fst.transition(&node, 0)?;
            self.key.push(input);
            if node.output_size() > 0 {
                sum = sum.saturating_add(self.fst.output(&node, 0)?);
            }
            address = target;
        }
    }

    /// Looks at the table of a node, if it has one.
    #[inline]
    fn enter_table(&mut self, node: &Node) -> Result<bool> {
        let has_table = self.fst.has_table(node);
        if has_table && !self.astray {
            self.astray = self.fst.finds_absent(node)?;
        }
        Ok(has_table)
    }

    fn enter_term(&mut self, address: u64, sum: u64) -> Result<()> {
        self.info = self.infos.get(sum).filter(|_| sum == self.ordinal).ok_or(Damaged(address))?;
        self.ordinal += 1;
        Ok(())
    }

    /// Whether a node on the way to the current term, from the one before, has a table by byte. Only look-ups use those
    /// tables, so the term can be there and still not be found.
    pub(crate) fn is_by_table(&self) -> bool {
        self.by_table
    }

    /// Whether a table on the way to this or an earlier term finds terms that are not there.
    pub(crate) fn leads_astray(&self) -> bool {
        self.astray
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
}

fn word(bytes: &[u8], at: usize) -> Result<u64> {
    let word = bytes.get(at..).and_then(|bytes| bytes.first_chunk::<8>());
    word.map(|word| u64::from_le_bytes(*word)).ok_or(Damaged(at as u64))
}
