//! Sizes that compressed blocks claim, held against what their bytes can give.
//!
//! tantivy believes such claims: it makes room for what four or eight bytes say before it decompresses, and reads as many
//! values as a block says it has. Where they are wrong, the allocator gives up and ends the process, which no guard
//! catches ([`super::guard`]). So each claim is looked at before tantivy acts on it. What is let through asks for no more
//! memory than its bytes could truly fill; whether they do is for the decompressor to find out.
//!
//! | file | claims | looked at |
//! |---|---|---|
//! | `frame` | the content size of a zstd frame | wherever there is one |
//! | `block` | the size of a block of a doc store | when the block is read |
//! | `table` | blocks and index of a sorted string table, in which columns keep strings | when its terms are streamed |
//! | `names` | the sorted string table that finds the columns of a file | at pre-flight |
//!
//! Cost: some bytes of each block, at the moment when all of it is about to be read; of a frame also three bytes for
//! every 128 KiB in it. The table of column names is small and decompressed once more.

mod block;
mod frame;
mod names;
mod table;
mod terms;

pub(super) use block::{Lie, most_in_block};
pub(crate) use block::{block_size, cannot_read};
pub(super) use names::check_names;
pub(super) use table::check_dictionary;
pub(crate) use table::check_terms;
pub(crate) use terms::{ColumnTerms, terms};
