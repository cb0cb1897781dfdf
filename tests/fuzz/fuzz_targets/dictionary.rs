//! Term dictionaries: nodes, term infos, the walk over all terms, and tantivy's own over the same bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(init: shardsplit_fuzz::start(), |bytes: &[u8]| {
    shardsplit_fuzz::bounded(shardsplit_fuzz::SMALL, bytes.len(), || shardsplit::fuzz::dictionary(bytes));
});
