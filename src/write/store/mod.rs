//! The doc stores of all outputs of a group, in one pass over the blocks of the source's stores.
//!
//! Every block is decompressed once ([`blocks`]); its documents are dealt to the outputs as the bytes they are, with
//! dates of version 1 stores converted ([`dates`]); each output cuts them into blocks, compresses and indexes them
//! ([`writer`]). The bytes are those that tantivy's own store writer makes of the same documents.
//!
//! Format (tantivy 0.27, `src/store`): compressed blocks, skip index, 28-byte footer. A block is documents, then the
//! start of each as u32 LE, then their number as u32 LE. The footer is u32 LE version (1: dates in microseconds, 2: in
//! nanoseconds), u64 LE offset of the skip index, u8 codec (0 none, 1 lz4, 4 zstd), 15 zero bytes.

mod blocks;
mod codec;
mod dates;
#[cfg(test)]
mod tests;
mod track;
mod writer;

pub(super) use track::StoreTrack;
