//! Shared by all integration tests: indexes to split, and a judge of the result.
//!
//! | module | room for |
//! |---|---|
//! | [`schema`] | schemas with every field type and option |
//! | [`documents`] | documents made from a number |
//! | [`draw`] | strategies for any index |
//! | [`seeds`] | properties, tried on cases drawn from numbers |
//! | [`surgery`] | what indexes hold that tantivy's writer does not write |
//! | [`fixture`] | building an index of them: commits, deletes, merges, settings |
//! | [`golden`] | indexes that old releases wrote, and what they read in them |
//! | [`shared`] | indexes that other programs wrote |
//! | [`corpora`] | real documents, indexed with every field type |
//! | [`routing`] | where a document has to go, by the `murmur3` crate |
//! | [`content`] | an index as readable lines, one set per document |
//! | [`columns`] | the columns of a segment as such lines |
//! | [`values`] | stored values and terms as text |
//! | [`check`] | children against their source |
//! | [`search`] | searches over the children add up to those over the source |
//! | [`oracle`] | children as `merge_filtered_segments` makes them |
//! | [`anew`] | children indexed anew from their documents |
//! | [`files`] | directories as bytes |
//!
//! Nothing here uses `shardsplit`'s own reading, routing or verifying code: a judge who borrows the author's code
//! inherits the author's mistakes.

pub mod anew;
pub mod check;
pub mod columns;
pub mod content;
pub mod corpora;
pub mod documents;
pub mod draw;
pub mod files;
pub mod fixture;
pub mod golden;
pub mod oracle;
pub mod routing;
pub mod schema;
pub mod search;
pub mod seeds;
pub mod shared;
pub mod surgery;
pub mod values;
