//! Saved plans.
#![no_main]

libfuzzer_sys::fuzz_target!(init: shardsplit_fuzz::start(), |bytes: &[u8]| {
    shardsplit_fuzz::bounded(shardsplit_fuzz::TABLES, bytes.len(), || shardsplit::fuzz::plan(bytes));
});
