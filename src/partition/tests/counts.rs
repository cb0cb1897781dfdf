//! Custom routing, partitions, duplicates, threads, progress.

use std::sync::atomic::{AtomicU64, Ordering};

use tantivy::schema::{STORED, STRING, TextOptions};

use super::*;
use crate::partition::duplicates::dictionaries::{Dictionary, Plane, distinct};
use crate::partition::keys::{Compared, KeyFields, Seen, read_keys};
use crate::progress::{Progress, Stage, Work};

fn planes() -> [TextOptions; 3] {
    [TextOptions::default().set_fast("raw"), STRING, TextOptions::default() | STORED]
}

type Routed = (Option<&'static str>, Option<&'static str>);

fn routed(id_options: TextOptions, routing_options: TextOptions, batches: &[Vec<Routed>]) -> Fixture {
    let mut schema = Schema::builder();
    let id = schema.add_text_field("id", id_options);
    let routing = schema.add_text_field("routing", routing_options);
    Fixture::new(schema, batches, &[], |document, (id_value, routing_value)| {
        id_value.iter().for_each(|value| document.add_text(id, value));
        routing_value.iter().for_each(|value| document.add_text(routing, value));
    })
}

#[test]
fn the_routing_value_decides_where_there_is_one_and_the_id_elsewhere() {
    let batches = [
        vec![(Some("1"), Some("tenant")), (Some("2"), None), (Some("3"), Some("😀"))],
        vec![(Some("4"), None), (None, Some("tenant"))],
    ];
    let expected = ["tenant", "2", "😀", "4", "tenant"];
    for id_options in planes() {
        for routing_options in planes() {
            let fixture = routed(id_options.clone(), routing_options, &batches);
            let source = fixture.open();
            let assigned = run(&source, &spec("id", Some("routing")), &into(16)).unwrap();
            let placed = fixture.children(&source, &assigned);
            for (number, key) in (0..).zip(expected) {
                assert_eq!(placed[&number], Some(formula(key, 16)), "{key}");
            }
            assert_eq!(assigned.readings[0].field, "id");
            assert!(assigned.readings.iter().any(|reading| reading.field == "routing"));
        }
    }
}

#[test]
fn a_partitioned_index_adds_the_offset_of_the_id_and_needs_both() {
    let batches = [vec![(Some("a_0"), Some("a")), (Some("a_1"), Some("a")), (Some("b_1"), Some("b"))]];
    let split = SplitSpec { number_of_routing_shards: Some(6), routing_partition_size: 2, ..SplitSpec::new(6) };
    let routing = SplitRouting::new(split).unwrap();
    for options in planes() {
        let fixture = routed(options.clone(), options.clone(), &batches);
        let source = fixture.open();
        let assigned = run(&source, &spec("id", Some("routing")), &routing).unwrap();
        let placed = fixture.children(&source, &assigned);
        // testPartitionedIndexBWC of Elasticsearch: a_0 is in shard 3, a_1 in shard 2.
        assert_eq!((placed[&0], placed[&1]), (Some(3), Some(2)));

        let batches = [vec![(Some("a_0"), None), (None, Some("a")), (Some("a_1"), Some("a"))]];
        let fixture = routed(options.clone(), options, &batches);
        let source = fixture.open();
        assert_eq!(problems(run(&source, &spec("id", Some("routing")), &routing)).missing, 2);
        match run(&source, &spec("id", None), &routing) {
            Err(Error::Usage(message)) => assert!(message.contains("--routing-field"), "{message}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn several_routing_values_are_a_problem() {
    let mut schema = Schema::builder();
    let id = schema.add_text_field("id", STRING);
    let routing = schema.add_text_field("routing", STRING);
    let fixture = Fixture::new(schema, &[vec![()]], &[], |document, ()| {
        document.add_text(id, "1");
        document.add_text(routing, "a");
        document.add_text(routing, "b");
    });
    assert_eq!(problems(run(&fixture.open(), &spec("id", Some("routing")), &into(2))).several, 1);
}

/// Two ids that are not equal but whose hashes are.
fn colliding() -> (String, String) {
    let mut by_hash = std::collections::HashMap::new();
    for n in 0u32.. {
        let id = format!("{n:x}");
        if let Some(other) = by_hash.insert(routing_hash(&id), id.clone()) {
            return (other, id);
        }
    }
    unreachable!()
}

#[test]
fn duplicates_are_counted_across_segments_and_a_hash_collision_is_none() {
    let (left, right) = colliding();
    assert_eq!(routing_hash(&left), routing_hash(&right));
    let batches = vec![
        vec!["a".to_owned(), "b".to_owned(), "a".to_owned(), left.clone()],
        vec!["a".to_owned(), right, "c".to_owned()],
        vec!["c".to_owned(), "d".to_owned(), left],
    ];
    for options in planes() {
        let mut schema = Schema::builder();
        let id = schema.add_text_field("id", options);
        // The deleted one is the "b".
        let fixture = Fixture::new(schema, &batches, &[1], |document, value| document.add_text(id, value));
        let source = fixture.open();
        let assigned = run(&source, &spec("id", None), &into(8)).unwrap();
        // a, the two that collide, c, d.
        assert_eq!(assigned.census.distinct_keys, Some(5));
        assert_eq!(assigned.census.duplicate_keys, Some(4));
        let placed = fixture.children(&source, &assigned);
        assert_eq!(placed[&0], placed[&2]);
        assert_eq!(placed[&0], placed[&4]);
    }
}

#[test]
fn distinct_terms_are_as_many_by_hash_as_merged_whatever_room_there_is() {
    let (left, right) = colliding();
    let ids = |step: u32, first: u32| (0..600).map(move |n| format!("id {}", first + n * step));
    let batches = [
        ids(1, 0).chain([left.clone()]).collect::<Vec<_>>(),
        ids(2, 100).chain([right.clone()]).collect(),
        ids(3, 0).chain([left.clone(), right.clone()]).collect(),
    ];
    // Every tenth of the first segment is deleted.
    let deleted: Vec<u64> = (0..600).step_by(10).collect();
    let kept = |batch: usize, n: usize| batch > 0 || !deleted.contains(&(n as u64));
    let live = batches
        .iter()
        .enumerate()
        .flat_map(|(batch, ids)| ids.iter().enumerate().filter(move |(n, _)| kept(batch, *n)).map(|(_, id)| id));
    let expected = live.collect::<std::collections::HashSet<_>>().len() as u64;
    for (options, plane) in [(planes()[0].clone(), Plane::Column), (planes()[1].clone(), Plane::Terms)] {
        let mut schema = Schema::builder();
        let id = schema.add_text_field("id", options);
        let fixture = Fixture::new(schema, &batches, &deleted, |document, value| document.add_text(id, value));
        let source = fixture.open();
        let fields = KeyFields::resolve(&source, &spec("id", None), routing_hash).unwrap();
        let dictionaries: Vec<Dictionary<'_>> = (source.segments().iter())
            .map(|segment| {
                let keys = read_keys(segment, &fields, 1, Compared::Across, &Cancel::new(), &|_| {}).unwrap();
                let (Seen::ColumnTerms(terms) | Seen::Terms(terms)) = keys.seen else { panic!("of another plane") };
                Dictionary { segment, plane, terms }
            })
            .collect();
        // None, for a few terms, for all.
        for room in [0, 20_000, 30_000, usize::MAX] {
            for threads in [1, 3] {
                let found = distinct(&fields.id, &dictionaries, room, threads, &Cancel::new()).unwrap();
                assert_eq!(found, expected, "room for {room} bytes");
            }
        }
    }
}

#[test]
fn duplicate_numbers_are_counted_across_segments() {
    let mut schema = Schema::builder();
    let id = schema.add_i64_field("id", FAST);
    let fixture = Fixture::new(schema, &[vec![-1, 2, -1], vec![2, 3]], &[4], |document, &n| document.add_i64(id, n));
    let assigned = run(&fixture.open(), &spec("id", None), &into(2)).unwrap();
    assert_eq!((assigned.census.distinct_keys, assigned.census.duplicate_keys), (Some(2), Some(2)));
}

#[test]
fn the_census_adds_up_by_segment_and_by_child() {
    let mut schema = Schema::builder();
    let id = schema.add_text_field("id", STRING);
    let batches: Vec<Vec<String>> = (0..5).map(|s| (0..s * 37).map(|n| format!("{s} {n}")).collect()).collect();
    let deleted: Vec<u64> = (0..300).step_by(3).collect();
    let fixture = Fixture::new(schema, &batches, &deleted, |document, value| document.add_text(id, value));
    let source = fixture.open();
    let routing = into(6);
    let once = |threads| {
        assign(&source, &spec("id", None), &routing, &KeyPolicies::default(), threads, &Silent, &Cancel::new()).unwrap()
    };
    let one = once(1);
    for threads in [0, 2, 7] {
        let many = once(threads);
        assert_eq!(many.assignment, one.assignment);
        assert_eq!((&many.census, &many.readings), (&one.census, &one.readings));
    }
    let census = one.census;
    assert_eq!((census.live, census.deleted), (270, 100));
    assert_eq!(census.children.iter().sum::<u64>(), 270);
    assert_eq!(one.assignment.num_assigned(), 270);
    for (index, (segment, part)) in source.segments().iter().zip(&census.segments).enumerate() {
        assert_eq!(segment.id(), part.segment);
        assert_eq!(u64::from(segment.num_docs()), part.live);
        for (child, &docs) in (0u16..).zip(&part.children) {
            let counted = one.assignment.segment(index).iter().filter(|&&other| other == child).count();
            assert_eq!(counted as u64, docs);
        }
    }
}

#[test]
fn progress_reports_every_live_document_and_a_cancelled_run_stops() {
    #[derive(Default)]
    struct Count {
        total: AtomicU64,
        done: AtomicU64,
        ended: AtomicU64,
    }
    impl Progress for Count {
        fn begin(&self, stage: Stage, total: Work) {
            assert_eq!(stage, Stage::Route);
            self.total.fetch_add(total.docs, Ordering::Relaxed);
        }
        fn advance(&self, _stage: Stage, done: Work) {
            self.done.fetch_add(done.docs, Ordering::Relaxed);
        }
        fn end(&self, _stage: Stage) {
            self.ended.fetch_add(1, Ordering::Relaxed);
        }
    }
    let mut schema = Schema::builder();
    let id = schema.add_text_field("id", STRING);
    let batches = [(0..5000).collect::<Vec<u32>>(), (5000..5003).collect()];
    let fixture = Fixture::new(schema, &batches, &[7], |document, n| document.add_text(id, n.to_string()));
    let source = fixture.open();
    let (count, cancel) = (Count::default(), Cancel::new());
    let go = || assign(&source, &spec("id", None), &into(3), &KeyPolicies::default(), 2, &count, &cancel);
    go().unwrap();
    let loads = [&count.total, &count.done, &count.ended].map(|counter| counter.load(Ordering::Relaxed));
    assert_eq!(loads, [5002, 5002, 1]);
    cancel.cancel();
    assert!(matches!(go(), Err(Error::Interrupted)));
    assert_eq!(count.ended.load(Ordering::Relaxed), 2);
}

#[test]
fn an_index_without_segments_has_an_empty_census() {
    let mut schema = Schema::builder();
    schema.add_text_field("id", STRING);
    let fixture = Fixture::new(schema, &[] as &[Vec<()>], &[], |_, ()| {});
    let source = fixture.open();
    let assigned = run(&source, &spec("id", None), &into(3)).unwrap();
    assert_eq!((assigned.census.live, assigned.census.children.as_slice()), (0, [0, 0, 0].as_slice()));
    assert_eq!(assigned.census.distinct_keys, Some(0));
    assert_eq!(usable_key_fields(&source).unwrap()[0], ("id".to_owned(), KeyPlane::Terms));
}
