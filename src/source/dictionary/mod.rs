//! Reading term dictionaries: every term once, ascending, with its term info.
//!
//! A dictionary (tantivy 0.27 `src/termdict/fst_termdict`) is an FST from term to ordinal, a table from ordinal to term
//! info ([`infos`]), the length of the table as u64 LE, u32 LE 1 (version), u32 LE 1 (kind of dictionary: FST).
//!
//! # FST (tantivy-fst 0.5, version 2 of its format)
//!
//! Nodes are written children first, their bytes in reverse: a node's address is that of its last byte, its state byte,
//! and readers go backwards from there. Address 0 stands for the final node without transitions, which is not written.
//! Integers are little endian in the fewest bytes that hold all of a node's; transitions are stored as distance from
//! the start of the node, 0 for the unwritten node. State bytes:
//!
//! - `11cccccc`: one transition, to the node written just before, without output
//! - `10cccccc`: one transition; before it a byte of sizes, the distance, the output if it is not 0
//! - `0fnnnnnn`: n transitions, f: final; before it n as a byte if it is not 1..=63, a byte of sizes, for more than 32
//!   transitions an index of 256 bytes, then inputs, distances and outputs, each last transition first
//!
//! `cccccc` names one of 63 frequent input bytes, or is 0 and a byte with the input stands before it. The byte of sizes
//! has the bytes per distance in its upper half, per output in its lower half.

mod infos;
mod node;
mod reader;

pub(crate) use infos::INFOS_BLOCK;
pub(crate) use reader::{Damaged, TermReader};

/// Address of the final node without transitions.
pub(crate) const EMPTY_FINAL: u64 = 0;

/// The input bytes that fit into a state byte, most frequent first; part of the format.
pub(crate) const FREQUENT: &[u8; 63] = b"te/oasripcnw.hlm-du012g=:bf3y5&_4v9678k%?xCDASFIBEjPTzRNM+LOqHG";

/// More transitions than this get an index by input byte.
pub(crate) const INDEX_THRESHOLD: usize = 32;
