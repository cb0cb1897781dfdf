//! Posting lists and positions, by the decoder of the writers and by that of the judge.
#![no_main]

libfuzzer_sys::fuzz_target!(init: shardsplit_fuzz::start(), |bytes: &[u8]| {
    shardsplit_fuzz::bounded(shardsplit_fuzz::PACKED, bytes.len(), || shardsplit::fuzz::lists(bytes));
});
