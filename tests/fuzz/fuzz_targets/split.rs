//! A split of an index that was tampered with: it is refused, fails with a typed error, or gives children that tantivy
//! opens and that have the source's documents.
#![no_main]

use std::sync::LazyLock;

use shardsplit::job::Job;
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit_fuzz::index::{Bench, live, live_by_meta};

static BENCH: LazyLock<Bench> = LazyLock::new(|| Bench::new(false));

libfuzzer_sys::fuzz_target!(init: shardsplit_fuzz::start(), |bytes: &[u8]| {
    let Some((&flags, edits)) = bytes.split_first() else { return };
    let bench = &*BENCH;
    let tampered = bench.tamper(edits);
    let out = bench.path("out");
    let method = if flags & 1 == 0 { Method::Rewrite } else { Method::Link };
    let job = Job { threads: 1, method, ..Job::new(bench.path("source"), &out, 2, "id") };
    let result =
        shardsplit_fuzz::bounded(shardsplit_fuzz::COMPRESSED, tampered.bytes, || job.run(&Silent, &Cancel::new()));
    match result {
        Ok(_) => {
            // Only what its checksums vouch for; linked files are compared by verification.
            assert!(!tampered.stale, "bytes that their checksum does not fit were split");
            let children: u64 = (0..2).map(|shard| live(&out.join(shard.to_string()))).sum();
            assert_eq!(children, live_by_meta(&bench.path("source")), "documents of the children and of the source");
            std::fs::remove_dir_all(&out).unwrap();
        }
        Err(error) => {
            shardsplit_fuzz::typed(&error);
            assert!(!out.exists(), "a target after {error:?}");
            assert!(!bench.path(".out.shardsplit").exists(), "staging after {error:?}");
        }
    }
    bench.mend(tampered);
});
