//! Any index, split any way: every document in exactly one child, unchanged; and the children are what indexing their
//! documents anew would give.
//!
//! `SHARDSPLIT_CASES` sets how many indexes are tried (default 100, about a minute). A failing case is shrunk and
//! printed; a file beside this one keeps its seed.

use crate::common::anew;
use crate::common::check::assert_split;
use crate::common::content::Content;
use crate::common::documents::{self, RoutingValues};
use crate::common::files::{assert_source_unchanged, snapshot};
use crate::common::fixture::fixtures;
use crate::common::routing::Routing;
use proptest::prelude::*;
use shardsplit::job::Job;
use shardsplit::partition::{KeySpec, SegmentMode};
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::route::{RoutingFunction, SplitSpec};

/// How to split.
#[derive(Clone, Debug)]
struct Way {
    split: SplitSpec,
    method: Method,
    segments: SegmentMode,
    max_docs_per_segment: u32,
    threads: usize,
}

fn ways() -> impl Strategy<Value = Way> {
    let method = prop_oneof![3 => Just(Method::Rewrite), 1 => Just(Method::Link)];
    let segments = prop_oneof![2 => Just(SegmentMode::One), 1 => Just(SegmentMode::Keep)];
    let function = prop_oneof![Just(RoutingFunction::Elasticsearch), Just(RoutingFunction::ElasticsearchModulo)];
    let most = prop_oneof![3 => Just(u32::MAX), 1 => 1u32..60];
    (1u32..=16, function, 1u32..4, method, segments, most, 1usize..4).prop_map(
        |(into, function, partition, method, segments, max_docs_per_segment, threads)| {
            // A partition has to be smaller than the number of shards.
            let routing_partition_size = partition.min(into.saturating_sub(1)).max(1);
            let split = SplitSpec { function, routing_partition_size, ..SplitSpec::new(into) };
            Way { split, method, segments, max_docs_per_segment, threads }
        },
    )
}

fn cases() -> u32 {
    std::env::var("SHARDSPLIT_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(100)
}

proptest! {
    #![proptest_config(documents::config(cases()))]

    #[test]
    fn any_index_split_any_way_keeps_every_document_in_one_child(fixture in fixtures(150), way in ways()) {
        let dir = tempfile::tempdir().unwrap();
        let (source_dir, out) = (dir.path().join("source"), dir.path().join("out"));
        fixture.build(&source_dir);
        // Elasticsearch demands a routing value of every document where it spreads them.
        let partition = if fixture.routing == RoutingValues::Always { way.split.routing_partition_size } else { 1 };
        let split = SplitSpec { routing_partition_size: partition, ..way.split };
        let routing = Routing { split, ..fixture.routing(split.into) };
        let source = Content::read(&source_dir, &routing.fields());
        let before = snapshot(&source_dir);

        let keys = KeySpec { key: "id".to_owned(), routing_field: routing.routing_field.clone() };
        let Way { method, segments, max_docs_per_segment, threads, .. } = way;
        let job = Job { split, keys, method, segments, max_docs_per_segment, threads, ..Job::new(&source_dir, &out, split.into, "id") };
        let report = job.run(&Silent, &Cancel::new()).unwrap_or_else(|error| panic!("{error}"));

        prop_assert!(report.verify.as_ref().is_some_and(shardsplit::verify::VerifyReport::is_clean));
        let children = assert_split(&source, &out, &routing);
        assert_source_unchanged(&before, &snapshot(&source_dir));
        if method == Method::Rewrite && children.iter().all(|(_, child)| child.segments.len() == 1) {
            let found = anew::differences(&fixture, &routing, &children, dir.path());
            prop_assert!(found.is_empty(), "{}", found.join("\n"));
        }
    }
}
