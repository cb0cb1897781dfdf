//! Doc stores: skip index, blocks, documents.
#![no_main]

libfuzzer_sys::fuzz_target!(init: shardsplit_fuzz::start(), |bytes: &[u8]| {
    shardsplit_fuzz::bounded(shardsplit_fuzz::COMPRESSED, bytes.len(), || shardsplit::fuzz::store(bytes));
});
