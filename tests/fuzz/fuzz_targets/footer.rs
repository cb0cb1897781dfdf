//! The end of a segment file.
#![no_main]

libfuzzer_sys::fuzz_target!(init: shardsplit_fuzz::start(), |bytes: &[u8]| {
    shardsplit_fuzz::bounded(shardsplit_fuzz::SMALL, bytes.len(), || shardsplit::fuzz::footer(bytes));
});
