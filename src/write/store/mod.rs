//! The doc stores of all outputs of a group, in one pass over the blocks of the source's stores.
//!
//! Every block is decompressed once; its documents are dealt to the outputs as the bytes they are, with
//! dates of version 1 stores converted ([`dates`]); each output cuts them into blocks, any thread compresses those, and the
//! output indexes and writes them ([`writer`]). The bytes are those that tantivy's own store writer makes of the same documents.
//!
//! Format (tantivy 0.27, `src/store`): compressed blocks (drawn in `source/store.rs`), skip index, 28-byte footer. The
//! footer is u32 LE version (1: dates in microseconds, 2: in nanoseconds), u64 LE offset of the skip index, u8 codec (0
//! none, 1 lz4, 4 zstd), 15 zero bytes.

mod codec;
mod dates;
#[cfg(test)]
mod tests;
mod track;
mod writer;

pub(super) use track::StoreTrack;
