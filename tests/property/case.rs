//! An index and a way to split it.

use proptest::prelude::*;
use shardsplit::job::Job;
use shardsplit::partition::{KeyPolicies, KeySpec, Policy, SegmentMode};
use shardsplit::plan::Method;
use shardsplit::route::{RoutingFunction, SplitSpec};
use std::path::Path;

use crate::common::documents::{self, RoutingValues};
use crate::common::draw::fixtures;
use crate::common::fixture::Fixture;
use crate::common::routing::{Routing, default_routing_shards};

/// How to split.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub split: SplitSpec,
    pub missing: Policy,
    pub stray: Policy,
    pub method: Method,
    pub segments: SegmentMode,
    pub max_docs_per_segment: u32,
    pub threads: usize,
}

/// An index, and how to split it.
#[derive(Clone, Debug)]
pub struct Case {
    pub fixture: Fixture,
    pub way: Way,
}

impl Case {
    pub fn routing(&self) -> Routing {
        let child = |policy| match policy {
            Policy::Refuse => None,
            Policy::Child(shard) => Some(shard),
        };
        let Way { split, missing, stray, .. } = self.way;
        Routing { split, missing: child(missing), stray: child(stray), ..self.fixture.routing(split.into) }
    }

    pub fn job(&self, source: &Path, out: &Path) -> Job {
        let Way { split, missing, stray, method, segments, max_docs_per_segment, threads } = self.way;
        let keys = KeySpec { key: "id".to_owned(), routing_field: self.routing().routing_field };
        let policies = KeyPolicies { missing, stray };
        let new = Job::new(source, out, split.into, "id");
        Job { split, keys, policies, method, segments, max_docs_per_segment, threads, ..new }
    }

    /// Makes the two fit: without a policy for documents that cannot be placed, there must be none.
    fn fit(mut fixture: Fixture, mut way: Way) -> Case {
        // Elasticsearch demands a routing value of every document where it spreads them.
        if fixture.routing == RoutingValues::Never {
            way.split.routing_partition_size = 1;
        }
        let case = Case { fixture: fixture.clone(), way };
        let routing = case.routing();
        let placed = |number: &u32| {
            let id = fixture.odd.id(*number, fixture.key);
            let value = documents::routing(*number, fixture.routing);
            routing.child(id.as_deref(), value.as_deref()).is_some()
        };
        let batches = fixture.batches.iter().cloned().map(|mut batch| {
            batch.add.retain(placed);
            batch
        });
        fixture.batches = batches.collect();
        Case { fixture, way }
    }
}

pub fn cases() -> impl Strategy<Value = Case> {
    (fixtures(), ways()).prop_map(|(fixture, way)| Case::fit(fixture, way))
}

fn ways() -> impl Strategy<Value = Way> {
    let method = prop_oneof![3 => Just(Method::Rewrite), 1 => Just(Method::Link)];
    let segments = prop_oneof![2 => Just(SegmentMode::One), 1 => Just(SegmentMode::Keep)];
    let most = prop_oneof![3 => Just(u32::MAX), 1 => 1u32..60];
    let policies = (policies(), policies());
    (splits(), policies, method, segments, most, 1usize..=4).prop_map(
        |(split, (missing, stray), method, segments, max_docs_per_segment, threads)| {
            let children = Routing { split, ..Routing::by_key("id", split.into) }.children();
            let policy = |place: Option<prop::sample::Index>| {
                place.map_or(Policy::Refuse, |place| Policy::Child(*place.get(&children)))
            };
            let (missing, stray) = (policy(missing), policy(stray));
            Way { split, missing, stray, method, segments, max_docs_per_segment, threads }
        },
    )
}

fn policies() -> impl Strategy<Value = Option<prop::sample::Index>> {
    prop::option::of(any::<prop::sample::Index>())
}

/// Numbers of shards that Elasticsearch takes.
fn splits() -> impl Strategy<Value = SplitSpec> {
    let into = prop_oneof![3 => 1u32..=4, 2 => 1u32..=16];
    let function = prop_oneof![Just(RoutingFunction::Elasticsearch), Just(RoutingFunction::ElasticsearchModulo)];
    let source_shards = prop_oneof![3 => Just(1u32), 1 => 2u32..=3];
    let partition = prop_oneof![2 => Just(1u32), 1 => 2u32..8];
    // Of the target; 0: Elasticsearch's default.
    let routing_shards = prop::sample::select(vec![0u32, 1, 2, 3, 8]);
    (into, function, source_shards, any::<prop::sample::Index>(), partition, routing_shards).prop_map(
        |(into, function, source_shards, place, partition, factor)| {
            let target = into * source_shards;
            let default = default_routing_shards(if source_shards == 1 { target } else { source_shards });
            let factor = if factor == 0 && !default.is_multiple_of(target) { 1 } else { factor };
            let number_of_routing_shards = (factor > 0).then_some(target * factor);
            // A partition has to be smaller than the number of routing shards.
            let limit = number_of_routing_shards.unwrap_or(default).saturating_sub(1).max(1);
            SplitSpec {
                function,
                from: 1,
                into,
                source_shards,
                source_shard: u32::try_from(place.index(source_shards as usize)).unwrap(),
                number_of_routing_shards,
                routing_partition_size: partition.min(limit),
            }
        },
    )
}
