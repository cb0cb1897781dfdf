//! Verification of children of which one was tampered with: it ends, and finds every file whose checksum does not fit.
#![no_main]

use std::sync::LazyLock;

use shardsplit::partition::{KeyPolicies, KeySpec, Placement};
use shardsplit::progress::{Cancel, Silent};
use shardsplit::publish::is_manifest;
use shardsplit::route::{SplitRouting, SplitSpec};
use shardsplit::source::{LockMode, Source};
use shardsplit::verify::{Ownership, VerifyJob, verify};
use shardsplit_fuzz::index::Bench;

static BENCH: LazyLock<Bench> = LazyLock::new(|| Bench::new(true));

libfuzzer_sys::fuzz_target!(init: shardsplit_fuzz::start(), |edits: &[u8]| {
    let bench = &*BENCH;
    let tampered = bench.tamper(edits);
    let source = Source::open(bench.path("source"), LockMode::None).unwrap();
    let keys = KeySpec { key: "id".to_owned(), routing_field: None };
    let routing = SplitRouting::new(SplitSpec::new(2)).unwrap();
    let mut job = VerifyJob::new(&source, (0..2).map(|n| (n, bench.path("children").join(n.to_string()))).collect());
    job.ownership = Some(Ownership {
        keys: &keys,
        routing: &routing,
        placement: &Placement::Hash,
        policies: KeyPolicies::default(),
    });
    job.known_file = is_manifest;
    job.threads = 1;
    job.source_checked = true;
    let result =
        shardsplit_fuzz::bounded(shardsplit_fuzz::COMPRESSED, tampered.bytes, || verify(&job, &Silent, &Cancel::new()));
    match result {
        Ok(report) => assert!(!(tampered.stale && report.is_clean()), "bytes that their checksum does not fit are clean"),
        Err(error) => panic!("verification reports, it does not fail: {error:?}"),
    }
    bench.mend(tampered);
});
