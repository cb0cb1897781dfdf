use std::collections::BTreeSet;

use super::*;

const FUNCTIONS: [RoutingFunction; 2] = [RoutingFunction::Elasticsearch, RoutingFunction::ElasticsearchModulo];

fn index(function: RoutingFunction, number_of_shards: u32, routing_shards: u32) -> IndexRouting {
    let number_of_routing_shards = (function == RoutingFunction::Elasticsearch).then_some(routing_shards);
    IndexRouting { function, number_of_shards, number_of_routing_shards, routing_partition_size: 1 }
}

fn numbers(resize: &Resize) -> Vec<(Vec<u32>, Vec<u32>)> {
    resize.parts().iter().map(|part| (part.sources().to_vec(), part.children().to_vec())).collect()
}

#[test]
fn shards_go_together_as_they_came_apart() {
    let [scaled, modulo] = FUNCTIONS.map(|function| numbers(&Resize::split(index(function, 2, 12), 3, None).unwrap()));
    assert_eq!(scaled, [(vec![0], vec![0, 1, 2]), (vec![1], vec![3, 4, 5])]);
    assert_eq!(modulo, [(vec![0], vec![0, 2, 4]), (vec![1], vec![1, 3, 5])]);
    for (function, split) in FUNCTIONS.into_iter().zip([scaled, modulo]) {
        let merged = numbers(&Resize::merge(index(function, 6, 12), 2).unwrap());
        let inverse: Vec<_> = split.into_iter().map(|(sources, children)| (children, sources)).collect();
        assert_eq!(merged, inverse, "{function:?}");
    }
}

#[test]
fn a_merge_sends_every_hash_where_the_smaller_index_looks_for_it() {
    for function in FUNCTIONS {
        for (shards, into) in [(6, 2), (6, 3), (6, 1), (4, 2), (12, 4)] {
            let resize = Resize::merge(index(function, shards, 24), into).unwrap();
            let mut seen = BTreeSet::new();
            for hash in (i32::MIN..=i32::MAX).step_by(7_919_003) {
                for part in resize.parts() {
                    let (old, new) = (part.before().shard(hash, 0), part.after().shard(hash, 0));
                    match part.child_of(hash, 0) {
                        Ok(0) => assert_eq!(part.children(), [new]),
                        Err(owner) => assert!(owner == old && !part.sources().contains(&old)),
                        other => panic!("{other:?}"),
                    }
                    let from: Vec<_> = (0..part.sources().len()).map(|at| part.child_from(at, hash, 0)).collect();
                    for (source, found) in part.sources().iter().zip(from) {
                        assert_eq!(found, if *source == old { Ok(0) } else { Err(old) });
                    }
                    seen.insert((old, new));
                }
            }
            assert_eq!(seen.len(), shards as usize, "each shard goes into exactly one: {seen:?}");
        }
    }
}

#[test]
fn numbers_that_do_not_fit_are_refused_with_those_that_do() {
    let twelve = index(RoutingFunction::Elasticsearch, 6, 12);
    let refused = |result: Result<Resize, RouteError>| result.unwrap_err().to_string();
    assert!(refused(Resize::merge(twelve, 4)).ends_with("possible: 1, 2, 3"));
    assert!(matches!(Resize::merge(twelve, 6), Err(RouteError::Merge { .. })), "that is a clone");
    assert!(matches!(Resize::merge(twelve, 0), Err(RouteError::Merge { .. })));
    assert!(refused(Resize::merge(index(RoutingFunction::Elasticsearch, 1, 12), 1)).contains("nothing to merge"));
    assert!(refused(Resize::split(twelve, 3, None)).ends_with("possible: 1, 2"));
    assert!(matches!(Resize::split(twelve, 2, Some(24)), Err(RouteError::FixedRoutingShards { .. })));
    assert!(Resize::split(twelve, 2, Some(12)).is_ok());
    let modulo = index(RoutingFunction::ElasticsearchModulo, 6, 0);
    assert!(matches!(Resize::split(modulo, 2, Some(12)), Err(RouteError::FixedRoutingShards { .. })));
    assert!(matches!(Resize::split(modulo, 65_534, None), Err(RouteError::WholeIndex { .. })));
    let wrong = SplitSpec { from: 2, source_shards: 6, source_shard: 3, ..SplitSpec::new(1) };
    assert!(matches!(SplitRouting::new(wrong), Err(RouteError::FirstSource { first: 2, .. })));
    assert!(matches!(SplitRouting::new(SplitSpec { into: 2, ..wrong }), Err(RouteError::Sources { .. })));
}

#[test]
fn an_index_of_one_shard_chooses_its_routing_shards_anew_and_others_keep_theirs() {
    let one = index(RoutingFunction::Elasticsearch, 1, 1024);
    let after = |resize: Result<Resize, RouteError>| resize.unwrap().after().number_of_routing_shards;
    assert_eq!(after(Resize::split(one, 3, None)), Some(768));
    assert_eq!(after(Resize::split(one, 3, Some(30))), Some(30));
    assert_eq!(after(Resize::cloned(one)), Some(1024));
    let six = index(RoutingFunction::Elasticsearch, 6, 12);
    assert_eq!(after(Resize::split(six, 2, None)), Some(12));
    assert_eq!(after(Resize::merge(six, 1)), Some(12));
}

#[test]
fn what_leads_from_one_index_to_another_is_found_or_refused() {
    for function in FUNCTIONS {
        let of = |shards| index(function, shards, 24);
        for (before, after, operation) in
            [(2, 6, Operation::Split), (6, 2, Operation::Merge), (6, 6, Operation::Clone), (1, 6, Operation::Split)]
        {
            let resize = Resize::between(of(before), of(after)).unwrap();
            assert_eq!((resize.operation(), resize.after()), (operation, &of(after)));
        }
        assert!(Resize::between(of(4), of(6)).is_err());
        let partitioned = IndexRouting { routing_partition_size: 2, ..of(4) };
        assert!(Resize::between(of(2), partitioned).is_err());
    }
    let [scaled, modulo] = FUNCTIONS.map(|function| index(function, 2, 24));
    assert!(Resize::between(scaled, modulo).is_err());
    let other = index(RoutingFunction::Elasticsearch, 4, 48);
    assert!(Resize::between(scaled, other).is_err());
}
