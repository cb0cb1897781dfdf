//! Term dictionaries: an FST from term to ordinal, and a table from ordinal to term info.
//!
//! The bytes are in tantivy's format (see `source/dictionary`) and read by tantivy; the builder is ours, because most of the time of a general
//! FST builder goes into looking for nodes to share where there can be none. Two facts make it fast:
//!
//! - ordinals ascend by one, so outputs never have to be pushed back towards the end of a term and nodes have no final
//!   output;
//! - a node whose newest child was written just now cannot have an equal: whatever is looked up refers to older nodes.
//!   Look-ups for one term therefore end at the first node that is not found.

mod builder;
mod infos;
mod node;
mod registry;
#[cfg(test)]
mod tests;

pub(super) use builder::DictionaryBuilder;
