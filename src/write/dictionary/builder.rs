//! Building a dictionary from ascending terms.

use std::io::{self, Write};

use tantivy::postings::TermInfo;

use super::infos::InfosWriter;
use super::node::{self, Transition};
use super::registry::{Hash, Kept, Registry};
use crate::source::dictionary::EMPTY_FINAL;

/// Version of the FST format; the two words before the first node are version and type.
const FST_VERSION: u64 = 2;
const FST_TYPE: u64 = 0;
/// Version and kind behind the term infos.
const DICTIONARY_VERSION: u32 = 1;
const KIND_FST: u32 = 1;

const BUFFER: usize = 64 * 1024;

/// Nodes that are kept for sharing beyond the first one that was not found. Endings that terms share longer than this
/// are still found, a further stretch with every term that has them.
const KEPT_BEYOND: u32 = 3;

/// Ids share short endings by chance and longer ones never: what is kept beyond would only take the place of what is
/// found. So it is looked at after so many nodes …
const TRIED: u64 = 1 << 12;
/// … whether one in so many was found. If not, none are kept …
const WORTH: u64 = 64;
/// … for so many terms.
const PAUSE: u64 = 1 << 16;

/// The registry is fetched whole for a batch of at least so many terms: one for so many of its buckets. Fetched together,
/// buckets cost a fraction of what each costs when it is waited for.
const WORTH_A_FETCH: usize = 8;

/// Builds one dictionary into a sink.
pub(in crate::write) struct DictionaryBuilder<W> {
    sink: W,
    buffer: Vec<u8>,
    flushed: u64,
    /// Nodes on the path of the newest term, by depth. Deeper ones are spare.
    path: Vec<OpenNode>,
    /// The newest term.
    term: Vec<u8>,
    registry: Registry,
    beyond: Beyond,
    /// Address of the node written last. 1 is never an address.
    previous: u64,
    num_terms: u64,
    infos: InfosWriter,
}

/// Whether keeping nodes beyond the first new one is worth it.
#[derive(Default)]
struct Beyond {
    /// Nodes kept since it was looked at, and how many had been found by then.
    kept: u64,
    found: u64,
    /// Number of terms from which on nodes are kept again.
    from: u64,
}

impl Beyond {
    /// How many nodes of the newest term to keep. `found`: of all kept so far.
    #[inline]
    fn next(&mut self, num_terms: u64, found: u64) -> u32 {
        if self.kept >= TRIED {
            if (found - self.found) * WORTH < self.kept {
                self.from = num_terms + PAUSE;
            }
            (self.kept, self.found) = (0, found);
        }
        if num_terms < self.from { 0 } else { KEPT_BEYOND }
    }
}

/// A node to which transitions may still be added.
#[derive(Default)]
struct OpenNode {
    is_final: bool,
    /// Transitions to finished nodes, and, while it is being finished, the newest.
    transitions: Vec<Transition>,
    /// Output of the newest transition, which the newest term takes.
    newest_output: u64,
}

impl OpenNode {
    /// Nothing but the newest transition, without output.
    #[inline]
    fn is_bare(&self) -> bool {
        !self.is_final && self.newest_output == 0 && self.transitions.is_empty()
    }
}

impl<W: Write> DictionaryBuilder<W> {
    pub(in crate::write) fn new(sink: W) -> DictionaryBuilder<W> {
        let mut buffer = Vec::with_capacity(2 * BUFFER);
        buffer.extend_from_slice(&FST_VERSION.to_le_bytes());
        buffer.extend_from_slice(&FST_TYPE.to_le_bytes());
        DictionaryBuilder {
            sink,
            buffer,
            flushed: 0,
            path: vec![OpenNode::default()],
            term: Vec::new(),
            registry: Registry::new(),
            beyond: Beyond::default(),
            previous: 1,
            num_terms: 0,
            infos: InfosWriter::default(),
        }
    }

    /// Says that so many terms will be added one after the other, after other builders had their turn.
    pub(in crate::write) fn announce(&self, terms: usize) {
        if terms >= self.registry.num_buckets() / WORTH_A_FETCH {
            self.registry.prefetch();
        }
    }

    /// Adds a term. Terms ascend strictly.
    pub(in crate::write) fn insert(&mut self, term: &[u8], info: &TermInfo) -> io::Result<()> {
        let shared = shared_prefix(&self.term, term);
        if self.num_terms > 0 && term.get(shared) <= self.term.get(shared) {
            let problem = format!("term \"{}\" does not follow \"{}\"", term.escape_ascii(), self.term.escape_ascii());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        // The path's outputs add up to the least ordinal below it, so what is left goes onto the first new transition.
        let taken: u64 = self.path.iter().take(shared).map(|node| node.newest_output).sum();
        let ordinal = self.num_terms;
        self.finish_below(shared);
        self.term.truncate(shared);
        self.term.extend_from_slice(term.get(shared..).unwrap_or(&[]));
        if self.path.len() <= term.len() {
            self.path.resize_with(term.len() + 1, OpenNode::default);
        }
        if let Some(node) = self.path.get_mut(shared) {
            node.newest_output = ordinal.saturating_sub(taken);
        }
        if let Some(node) = self.path.get_mut(term.len()) {
            node.is_final = true;
        }
        self.infos.push(info);
        self.num_terms += 1;
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// Finishes all nodes of the path deeper than `depth`, and the transition of the node at `depth`.
    fn finish_below(&mut self, depth: usize) {
        let mut child = None;
        // Whether everything below is shared with older terms; if not, no equal node can exist.
        let mut shared = true;
        let mut kept = self.beyond.next(self.num_terms, self.registry.found_beyond());
        for level in (depth + 1..=self.term.len()).rev() {
            let input = self.term.get(level).copied();
            let start = self.flushed + self.buffer.len() as u64;
            let Some(node) = self.path.get_mut(level) else { continue };
            if let (Some(target), Some(input)) = (child, input) {
                if !shared && kept == 0 && target == self.previous && node.is_bare() {
                    // Most nodes of long terms: one transition to the node written just before.
                    node::encode_next(input, &mut self.buffer);
                    self.previous = self.flushed + self.buffer.len() as u64 - 1;
                    child = Some(self.previous);
                    continue;
                }
                node.transitions.push(Transition { input, output: node.newest_output, target });
            }
            node.newest_output = 0;
            child = Some('address: {
                if node.is_final && node.transitions.is_empty() {
                    node.is_final = false;
                    break 'address EMPTY_FINAL;
                }
                let mut keep = None;
                if shared {
                    match self.registry.find(node.is_final, &node.transitions) {
                        Ok(address) => {
                            node.is_final = false;
                            node.transitions.clear();
                            break 'address address;
                        }
                        Err(hash) => keep = Some((hash, Kept::Missed)),
                    }
                    shared = false;
                } else if kept > 0 {
                    kept -= 1;
                    self.beyond.kept += 1;
                    keep = Some((Hash::of(node.is_final, &node.transitions), Kept::Beyond));
                }
                node::encode(node.is_final, &node.transitions, start, self.previous, &mut self.buffer);
                self.previous = self.flushed + self.buffer.len() as u64 - 1;
                if let Some((hash, kept)) = keep {
                    self.registry.insert(hash, kept, node.is_final, &node.transitions, self.previous);
                }
                node.is_final = false;
                node.transitions.clear();
                self.previous
            });
        }
        if let (Some(target), Some(&input), Some(node)) = (child, self.term.get(depth), self.path.get_mut(depth)) {
            node.transitions.push(Transition { input, output: node.newest_output, target });
            node.newest_output = 0;
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.write_all(&self.buffer)?;
        self.flushed += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Writes what is left, the term infos and the trailer, and gives the sink back.
    pub(in crate::write) fn finish(mut self) -> io::Result<W> {
        self.finish_below(0);
        let start = self.flushed + self.buffer.len() as u64;
        let root = match self.path.first() {
            Some(root) if root.is_final && root.transitions.is_empty() => EMPTY_FINAL,
            Some(root) => {
                node::encode(root.is_final, &root.transitions, start, self.previous, &mut self.buffer);
                self.flushed + self.buffer.len() as u64 - 1
            }
            None => EMPTY_FINAL,
        };
        self.buffer.extend_from_slice(&self.num_terms.to_le_bytes());
        self.buffer.extend_from_slice(&root.to_le_bytes());
        self.flush()?;
        let infos_len = self.infos.finish(&mut self.sink)?;
        self.buffer.extend_from_slice(&infos_len.to_le_bytes());
        self.buffer.extend_from_slice(&DICTIONARY_VERSION.to_le_bytes());
        self.buffer.extend_from_slice(&KIND_FST.to_le_bytes());
        self.flush()?;
        Ok(self.sink)
    }
}

/// Bytes that both begin with.
#[inline]
fn shared_prefix(left: &[u8], right: &[u8]) -> usize {
    let (words, _) = left.as_chunks::<8>();
    let (other_words, _) = right.as_chunks::<8>();
    let mut shared = 0;
    for (word, other) in words.iter().zip(other_words) {
        let difference = u64::from_le_bytes(*word) ^ u64::from_le_bytes(*other);
        if difference != 0 {
            return shared + difference.trailing_zeros() as usize / 8;
        }
        shared += 8;
    }
    let rest = |bytes| <[u8]>::get(bytes, shared..).unwrap_or(&[]);
    shared + rest(left).iter().zip(rest(right)).take_while(|(left, right)| left == right).count()
}
