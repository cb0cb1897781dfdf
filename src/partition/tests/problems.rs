//! Documents that routing cannot place.

use tantivy::schema::{STORED, STRING, TextOptions};

use super::*;
use crate::route::RoutingFunction;

/// The options under which the three planes serve.
fn planes() -> [TextOptions; 3] {
    [TextOptions::default().set_fast("raw"), STRING, TextOptions::default() | STORED]
}

/// Documents with the ids given, by plane.
fn fixture(options: TextOptions, batches: &[Vec<Vec<&str>>], deleted: &[u64]) -> Fixture {
    let mut schema = Schema::builder();
    let id = schema.add_text_field("id", options);
    Fixture::new(schema, batches, deleted, |document, ids: &Vec<&str>| {
        ids.iter().for_each(|value| document.add_text(id, value));
    })
}

#[test]
fn documents_without_a_key_and_with_several_stop_the_run_with_their_addresses() {
    for options in planes() {
        let batches = [vec![vec!["a"], vec![], vec!["b", "c"], vec!["d", "d"]], vec![vec![], vec!["e"]]];
        let fixture = fixture(options, &batches, &[]);
        let source = fixture.open();
        let problems = problems(run(&source, &spec("id", None), &into(2)));
        assert_eq!((problems.missing, problems.several, problems.stray), (2, 1, 0));
        let mut missing: Vec<u64> =
            problems.missing_sample.iter().map(|address| fixture.at(&source, address)).collect();
        let in_source_order = problems.missing_sample.clone();
        missing.sort_unstable();
        assert_eq!(missing, [1, 4]);
        let order: Vec<&str> = source.segments().iter().map(Segment::id).collect();
        assert_eq!(in_source_order.iter().map(|address| address.segment.as_str()).collect::<Vec<_>>(), order);
        assert_eq!(fixture.at(&source, &problems.several_sample[0]), 2);
    }
}

#[test]
fn a_segment_without_any_key_is_all_missing() {
    for options in planes() {
        let fixture = fixture(options, &[vec![vec![], vec![]], vec![vec!["a"]]], &[]);
        let problems = problems(run(&fixture.open(), &spec("id", None), &into(2)));
        assert_eq!((problems.missing, problems.several), (2, 0));
    }
}

#[test]
fn deleted_documents_need_no_key_and_get_no_child() {
    for options in planes() {
        let batches = [vec![vec!["a"], vec![], vec!["b", "c"], vec!["a"]], vec![vec![], vec!["z"]]];
        let fixture = fixture(options, &batches, &[1, 2, 3, 4]);
        let source = fixture.open();
        let assigned = run(&source, &spec("id", None), &into(4)).unwrap();
        let placed = fixture.children(&source, &assigned);
        let expected = [Some(formula("a", 4)), None, None, None, None, Some(formula("z", 4))];
        assert_eq!(placed.into_values().collect::<Vec<_>>(), expected);
        assert_eq!((assigned.census.live, assigned.census.deleted), (2, 4));
        assert_eq!(assigned.census.children.iter().sum::<u64>(), 2);
        // The deleted "a" is no duplicate.
        assert_eq!((assigned.census.distinct_keys, assigned.census.duplicate_keys), (Some(2), Some(0)));
    }
}

#[test]
fn a_policy_places_documents_without_a_key() {
    let fixture = fixture(STRING, &[vec![vec!["a"], vec![], vec!["b"]]], &[]);
    let source = fixture.open();
    let policies = KeyPolicies { missing: Policy::Child(3), ..KeyPolicies::default() };
    let assigned = run_with(&source, &spec("id", None), &into(5), policies).unwrap();
    assert_eq!(fixture.children(&source, &assigned)[&1], Some(3));
    assert_eq!((assigned.census.missing_placed, assigned.census.stray_placed), (1, 0));
    assert_eq!(assigned.census.duplicate_keys, Some(0));
}

#[test]
fn no_policy_places_documents_with_several_keys() {
    let fixture = fixture(STRING, &[vec![vec!["a", "b"]]], &[]);
    let policies = KeyPolicies { missing: Policy::Child(0), stray: Policy::Child(0) };
    assert_eq!(problems(run_with(&fixture.open(), &spec("id", None), &into(2), policies)).several, 1);
}

#[test]
fn documents_of_another_shard_stop_the_run_and_name_it() {
    for function in [RoutingFunction::Elasticsearch, RoutingFunction::ElasticsearchModulo] {
        let routing = |source_shard| {
            SplitRouting::new(SplitSpec { function, source_shards: 4, source_shard, ..SplitSpec::new(2) }).unwrap()
        };
        let owner = |id: &str| routing(0).before().shard(routing_hash(id), 0);
        let ids: Vec<String> = (0..400).map(|n| format!("id {n}")).filter(|id| owner(id) == 2).collect();
        let stranger = (0..).map(|n| format!("stranger {n}")).find(|id| owner(id) == 1).unwrap();
        assert!(ids.len() > 50);
        let batch: Vec<Vec<&str>> = ids.iter().chain([&stranger]).map(|id| vec![id.as_str()]).collect();
        let fixture = fixture(STRING, &[batch], &[]);
        let source = fixture.open();

        let found = problems(run(&source, &spec("id", None), &routing(2)));
        assert_eq!((found.missing, found.several, found.stray), (0, 0, 1));
        assert_eq!(fixture.at(&source, &found.stray_sample[0].0), ids.len() as u64);
        assert_eq!(found.stray_sample[0].1, 1);
        // As another shard, everything else is stray, and the sample is bounded.
        let found = problems(run(&source, &spec("id", None), &routing(1)));
        assert_eq!((found.stray, found.stray_sample.len()), (ids.len() as u64, 10));

        let last = routing(2).children()[1];
        let policies = KeyPolicies { stray: Policy::Child(last), ..KeyPolicies::default() };
        let assigned = run_with(&source, &spec("id", None), &routing(2), policies).unwrap();
        let placed = fixture.children(&source, &assigned);
        assert_eq!(placed[&(ids.len() as u64)], Some(1));
        assert_eq!((assigned.census.missing_placed, assigned.census.stray_placed), (0, 1));
        for (number, id) in (0..).zip(&ids) {
            let shard = routing(2).children()[placed[&number].unwrap()];
            assert_eq!(shard, routing(2).after().shard(routing_hash(id), 0));
        }
    }
}

#[test]
fn a_policy_must_name_a_child() {
    let fixture = fixture(STRING, &[vec![vec!["a"]]], &[]);
    let source = fixture.open();
    for policies in [
        KeyPolicies { missing: Policy::Child(2), ..KeyPolicies::default() },
        KeyPolicies { stray: Policy::Child(9), ..KeyPolicies::default() },
    ] {
        match run_with(&source, &spec("id", None), &into(2), policies) {
            Err(Error::Usage(message)) => assert!(message.contains("no child has that number"), "{message}"),
            other => panic!("{other:?}"),
        }
    }
}
