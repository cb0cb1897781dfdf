//! Nodes join, leave and are reweighed: only documents that change their node are written, all others are the very files
//! that they were.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;

use shardsplit::Error;
use shardsplit::job::IndexVerifyJob;
use shardsplit::partition::{KeyPolicies, Policy};
use shardsplit::plan::PlannedMove;
use shardsplit::route::movement::Movement;
use shardsplit::source::LockMode;
use shardsplit::verify::{FindingKind, VerifyLevel, VerifyReport};
use tantivy::schema::{FAST, STORED, STRING, Schema, TEXT};
use tantivy::{Index, IndexWriter, doc};

use super::*;
use crate::common::fixture::sort_kinds;

/// Segments of a shard by id, each with the inodes of its six files.
fn inodes(dir: &Path) -> BTreeMap<String, BTreeMap<String, u64>> {
    let mut segments: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if let Some((id, extension)) = name.split_once('.')
            && ["term", "idx", "pos", "store", "fast", "fieldnorm"].contains(&extension)
        {
            segments.entry(id.to_owned()).or_default().insert(name.clone(), entry.metadata().unwrap().ino());
        }
    }
    segments
}

fn verify(cluster: &Cluster, from: &str, to: &str) -> VerifyReport {
    let job = IndexVerifyJob {
        source: cluster.path(from),
        children: cluster.path(to),
        policies: KeyPolicies::default(),
        level: VerifyLevel::Full,
        threads: 2,
        lock: LockMode::None,
    };
    job.run(&Silent, &Cancel::new()).unwrap()
}

/// Documents by shard before and shard after, counted by the oracles.
fn expected_moves(before: &BTreeMap<u32, Content>, after: &RingTable) -> Vec<PlannedMove> {
    let oracle = Oracle::new(after);
    let mut moves: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for (&from, content) in before {
        for doc in &content.docs {
            let to = oracle.shard(&doc.keys["id"][0]);
            if from != to {
                *moves.entry((from, to)).or_default() += 1;
            }
        }
    }
    moves.into_iter().map(|((from, to), docs)| PlannedMove { from, to, docs }).collect()
}

/// Takes `from` to `ring` by either method, and judges both without our verifier.
#[track_caller]
fn step(cluster: &Cluster, from: &str, to: &str, ring: &RingTable, expected: &[Vec<String>]) {
    let before = cluster.read(from);
    let report = cluster.moved(from, to, ring, Method::Link);
    let after = cluster.read(to);
    assert_owned(&after, ring, expected);
    assert_eq!(report.plan.parts.len(), 1);
    assert_eq!(report.plan.parts[0].moves, expected_moves(&before, ring));
    assert_eq!(report.plan.keys_hashed, 0, "sidecars of the generation before are read");
    for child in &report.children {
        let (old, new) = (cluster.path(from), cluster.path(to));
        let (old, new) = (old.join(child.shard.to_string()), new.join(child.shard.to_string()));
        let arrives = report.plan.parts[0].moves.iter().any(|flow| flow.to == child.shard);
        let own = if old.exists() { inodes(&old) } else { BTreeMap::new() };
        let now = inodes(&new);
        let written: Vec<&String> = now.keys().filter(|id| !own.contains_key(*id)).collect();
        assert_eq!(written.len(), usize::from(arrives), "shard {}: all that arrives is one segment", child.shard);
        for (id, files) in now.iter().filter(|(id, _)| own.contains_key(*id)) {
            assert_eq!(own[id], *files, "shard {}: what stays is the very file", child.shard);
        }
        // A segment of which nothing leaves has no bitset, unless documents of it were deleted before.
        for segment in &after[&child.shard].segments {
            let reader = &segment.reader;
            let id = reader.segment_id().uuid_string();
            if written.contains(&&id) {
                assert_eq!(reader.num_deleted_docs(), 0);
            }
        }
    }
    let again = verify(cluster, from, to);
    assert!(again.is_clean(), "{}", again.summary());

    let rewritten = format!("{to}-rewritten");
    let report = cluster.moved(from, &rewritten, ring, Method::Rewrite);
    let after = cluster.read(&rewritten);
    assert_owned(&after, ring, expected);
    assert!(after.values().all(|shard| !shard.has_deletes() && shard.segments.len() <= 1));
    assert!(report.children.iter().all(|child| child.new_bytes == child.bytes));
    let again = verify(cluster, from, &rewritten);
    assert!(again.is_clean(), "{}", again.summary());
}

/// Joins, leaves and reweighs one after the other, each on what the one before left: bitsets over bitsets.
fn there_and_back(fixture: &Fixture, first: &RingTable) {
    let cluster = Cluster::new(fixture, first);
    let expected = documents(&cluster.read("first"));
    assert_owned(&cluster.read("first"), first, &expected);
    let joined = first.add(Node::new("d", 3, 3)).unwrap();
    let heavier = joined.reweigh("a", 9).unwrap();
    let left = heavier.remove("b").unwrap();
    let back = left.remove("d").unwrap().reweigh("a", 3).unwrap().add(Node::new("b", 3, 1)).unwrap();
    let mut from = "first";
    for (to, ring) in [("joined", &joined), ("heavier", &heavier), ("left", &left), ("back", &back)] {
        step(&cluster, from, to, ring, &expected);
        from = to;
    }
    // A linked clone of the last generation, and a compacted one, are index directories as any other.
    for (out, method) in [("linked", Method::Link), ("compact", Method::Rewrite)] {
        let job = IndexJob {
            method,
            ..IndexJob::new(cluster.path("back"), cluster.path(out), shardsplit::job::Change::Clone)
        };
        job.run(&Silent, &Cancel::new()).unwrap();
        assert_owned(&cluster.read(out), &back, &expected);
    }
}

#[test]
fn nodes_of_a_planned_ring_join_leave_and_are_reweighed() {
    let mut fixture = Fixture::everything(3, 90).delete_every(7);
    fixture.routing = crate::common::documents::RoutingValues::Never;
    there_and_back(&fixture, &planned(&[("a", 3), ("b", 3), ("c", 3)]));
}

#[test]
fn nodes_of_a_classic_ring_join_leave_and_are_reweighed() {
    let mut fixture = Fixture::everything(2, 90).delete_every(11);
    fixture.routing = crate::common::documents::RoutingValues::Never;
    fixture.fields.truncate(5);
    there_and_back(&fixture, &classic(&[("a", 3), ("b", 3), ("c", 3)]));
}

#[test]
fn shards_of_a_sorted_index_stay_sorted_segment_by_segment() {
    for kind in sort_kinds().into_iter().take(2) {
        let mut fixture =
            Fixture { sort: Some((kind, tantivy::Order::Desc)), ..Fixture::everything(2, 80).delete_every(8) };
        fixture.routing = crate::common::documents::RoutingValues::Never;
        fixture.fields.truncate(3);
        there_and_back(&fixture, &planned(&[("a", 3), ("b", 3), ("c", 3)]));
    }
}

#[test]
fn shards_that_were_linked_to_one_parent_share_ids_and_move_all_the_same() {
    let mut fixture = Fixture::everything(2, 90).delete_every(7);
    fixture.routing = crate::common::documents::RoutingValues::Never;
    fixture.fields.truncate(4);
    let first = planned(&[("a", 1), ("b", 1)]);
    let cluster = Cluster { dir: tempdir() };
    fixture.build(&cluster.path("one"));
    cluster.split(&first, Method::Link);
    let expected = documents(&cluster.read("first"));
    step(&cluster, "first", "second", &first.add(Node::new("c", 1, 2)).unwrap(), &expected);
}

#[test]
fn one_node_becomes_two_and_two_become_one() {
    let mut fixture = Fixture::everything(2, 60).delete_every(9);
    fixture.routing = crate::common::documents::RoutingValues::Never;
    fixture.fields.truncate(4);
    let one = planned(&[("a", 1)]);
    let cluster = Cluster::new(&fixture, &one);
    let expected = documents(&cluster.read("first"));
    let two = one.add(Node::new("b", 1, 7)).unwrap();
    step(&cluster, "first", "two", &two, &expected);
    step(&cluster, "two", "other", &two.remove("a").unwrap(), &expected);
}

#[test]
fn a_document_that_lives_again_in_the_shard_it_left_is_found() {
    let mut fixture = Fixture::everything(1, 80);
    fixture.routing = crate::common::documents::RoutingValues::Never;
    fixture.fields.truncate(3);
    let first = planned(&[("a", 1), ("b", 1)]);
    let cluster = Cluster::new(&fixture, &first);
    cluster.moved("first", "second", &first.add(Node::new("c", 1, 2)).unwrap(), Method::Link);
    // Shard 0 forgets that documents have left it.
    let dir = cluster.path("second/0");
    let text = std::fs::read_to_string(dir.join("meta.json")).unwrap();
    let mut meta: Value = serde_json::from_str(&text).unwrap();
    assert!(meta["segments"][0]["deletes"].is_object());
    meta["segments"][0]["deletes"] = Value::Null;
    std::fs::remove_file(dir.join("meta.json")).unwrap();
    std::fs::write(dir.join("meta.json"), meta.to_string()).unwrap();
    let report = verify(&cluster, "first", "second");
    let kinds: BTreeSet<FindingKind> = report.findings.iter().map(|finding| finding.kind).collect();
    for kind in [FindingKind::Census, FindingKind::Stray] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    assert_ne!(report.source_digest, report.children_digest);
}

#[test]
fn shards_that_a_writer_has_changed_since_move_with_what_it_wrote() {
    let first = planned(&[("a", 1), ("b", 1)]);
    let cluster = Cluster::built(|dir| generated(dir, 400), &first);
    let oracle = Oracle::new(&first);
    for shard in 0..2 {
        let index = Index::open_in_dir(cluster.path("first").join(shard.to_string())).unwrap();
        let [id, body, number] = ["id", "body", "number"].map(|name| index.schema().get_field(name).unwrap());
        let mut writer: IndexWriter = index.writer_with_num_threads(1, 15_000_000).unwrap();
        writer.set_merge_policy(Box::new(tantivy::merge_policy::NoMergePolicy));
        let own = |n: &u32| oracle.shard(&format!("doc-{n}")) == shard;
        for n in (400..460).filter(own) {
            writer.add_document(doc!(id => format!("doc-{n}"), body => "added later", number => u64::from(n))).unwrap();
        }
        for n in (0..400).filter(own).step_by(5) {
            writer.delete_term(tantivy::Term::from_field_text(id, &format!("doc-{n}")));
        }
        writer.commit().unwrap();
        writer.wait_merging_threads().unwrap();
    }
    let before = cluster.read("first");
    assert!(before.values().all(|shard| shard.segments.len() == 2 && shard.has_deletes()));
    let expected = documents(&before);
    let second = first.add(Node::new("c", 1, 2)).unwrap();
    let report = cluster.moved("first", "second", &second, Method::Link);
    assert_owned(&cluster.read("second"), &second, &expected);
    assert!((1..=460).contains(&report.plan.keys_hashed), "what the writer wrote has no sidecar");
    assert!(verify(&cluster, "first", "second").is_clean());
    // All have sidecars now.
    let third = second.remove("a").unwrap();
    let report = cluster.moved("second", "third", &third, Method::Link);
    assert_eq!(report.plan.keys_hashed, 0);
    assert_owned(&cluster.read("third"), &third, &expected);
}

#[test]
fn a_shard_that_most_documents_leave_is_warned_about() {
    let one = planned(&[("a", 1)]);
    let cluster = Cluster::built(|dir| generated(dir, 400), &one);
    let mut eight = one.clone();
    for shard in 1..8 {
        eight = eight.add(Node::new(format!("n{shard}"), 1, shard)).unwrap();
    }
    let prepared = |ring: &RingTable, method| {
        let job = IndexJob { method, ..cluster.job("first", "no", ring) };
        job.prepare(&Silent, &Cancel::new()).unwrap().plan().warnings.clone()
    };
    let hidden =
        |warnings: &[String]| warnings.iter().any(|warning| warning.contains("--method rewrite leaves them behind"));
    assert!(hidden(&prepared(&eight, Method::Link)));
    assert!(!hidden(&prepared(&eight, Method::Rewrite)));
    assert!(!hidden(&prepared(&one.add(Node::new("b", 1, 1)).unwrap(), Method::Link)));
}

#[test]
fn documents_without_a_key_stop_a_move_or_go_where_the_policy_says() {
    let mut fixture = Fixture::everything(2, 60);
    fixture.routing = crate::common::documents::RoutingValues::Never;
    fixture.odd.missing_ids = true;
    fixture.fields.truncate(3);
    let first = planned(&[("a", 1), ("b", 1)]);
    let cluster = Cluster { dir: tempdir() };
    fixture.build(&cluster.path("one"));
    let policies = KeyPolicies { missing: Policy::Child(0), ..KeyPolicies::default() };
    let job = split_job(&cluster.path("one"), &cluster.path("first"), &first);
    Job { policies, ..job }.run(&Silent, &Cancel::new()).unwrap();
    let expected = documents(&cluster.read("first"));
    let second = first.add(Node::new("c", 1, 2)).unwrap();
    let job = cluster.job("first", "second", &second);
    let refused = job.run(&Silent, &Cancel::new()).unwrap_err();
    let Error::Keys(problems) = &refused else { panic!("{refused}") };
    assert!(problems.missing > 0);
    for (child, stays) in [(0, true), (2, false)] {
        let out = cluster.path(&format!("to-{child}"));
        let policies = KeyPolicies { missing: Policy::Child(child), ..KeyPolicies::default() };
        let report = IndexJob { policies, out: out.clone(), ..job.clone() }.run(&Silent, &Cancel::new()).unwrap();
        assert!(report.verify.unwrap().is_clean());
        let after = read(&out);
        assert_eq!(documents(&after), expected);
        let keyless = |shard: u32| {
            after[&shard].docs.iter().filter(|doc| doc.keys.get("id").is_none_or(Vec::is_empty)).count() as u64
        };
        assert_eq!((keyless(child), keyless(1)), (problems.missing, 0));
        let moved = report.plan.parts[0]
            .moves
            .iter()
            .any(|flow| (flow.from, flow.to) == (0, 2) && flow.docs >= problems.missing);
        assert!(stays || moved);
    }
}

/// An index of five segments.
fn generated(dir: &Path, docs: u32) {
    std::fs::create_dir_all(dir).unwrap();
    let mut schema = Schema::builder();
    let id = schema.add_text_field("id", STRING | STORED | FAST);
    let body = schema.add_text_field("body", TEXT | STORED);
    let number = schema.add_u64_field("number", FAST | STORED);
    let index = Index::create_in_dir(dir, schema.build()).unwrap();
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 50_000_000).unwrap();
    writer.set_merge_policy(Box::new(tantivy::merge_policy::NoMergePolicy));
    for n in 0..docs {
        let text = format!("common word{} rare{} of document {n}", n % 97, n / 3);
        writer.add_document(doc!(id => format!("doc-{n}"), body => text, number => u64::from(n))).unwrap();
        if n % (docs / 4) == docs / 8 {
            writer.commit().unwrap();
        }
    }
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
}

/// Ids by shard, read by tantivy.
fn ids(index: &Path, shards: impl Iterator<Item = u32>) -> BTreeMap<u32, Vec<String>> {
    shards.map(|shard| (shard, crate::cli::place::ids(&index.join(shard.to_string())))).collect()
}

#[test]
fn twenty_thousand_documents_grow_from_four_nodes_to_five_and_back_and_a_fifth_is_written() {
    const DOCS: u32 = 20_000;
    let four = RingTable::Planned(PlannedRing::new(nodes(&[("a", 1), ("b", 1), ("c", 1), ("d", 1)]), 64).unwrap());
    let five = four.add(Node::new("e", 1, 4)).unwrap();
    let cluster = Cluster::built(|dir| generated(dir, DOCS), &four);
    let bytes: u64 = (0..4).map(|shard| bytes_of(&cluster.path("first").join(shard.to_string()))).sum();
    let grown = cluster.moved("first", "five", &five, Method::Link);
    let moved: u64 = grown.plan.parts[0].moves.iter().map(|flow| flow.docs).sum();
    let share = moved as f64 / f64::from(DOCS);
    assert!((0.19..0.21).contains(&share), "{moved} of {DOCS} moved");
    assert!(grown.plan.parts[0].moves.iter().all(|flow| flow.to == 4));
    let movement = Movement::between(&four, &five).unwrap();
    assert_eq!(movement.moved(), movement.optimum());
    let written: u64 = grown.children.iter().map(|child| child.new_bytes).sum();
    assert!(written * 100 < bytes * 25, "{written} of {bytes} bytes were written");
    println!("{moved} of {DOCS} documents moved, {written} of {bytes} bytes written");

    let shrunk = cluster.moved("five", "four", &four, Method::Link);
    let digest = |report: &IndexReport| report.verify.as_ref().unwrap().source_digest;
    assert_eq!(digest(&grown), digest(&shrunk));
    for (generation, ring, shards) in [("five", &five, 0..5), ("four", &four, 0..4)] {
        let oracle = Oracle::new(ring);
        let ids = ids(&cluster.path(generation), shards);
        let all: BTreeSet<&String> = ids.values().flatten().collect();
        assert_eq!(all.len(), DOCS as usize);
        assert_eq!(ids.values().map(Vec::len).sum::<usize>(), DOCS as usize, "every document is in one shard");
        for (shard, ids) in &ids {
            assert!(ids.iter().all(|id| oracle.shard(id) == *shard));
        }
    }
}

fn bytes_of(dir: &Path) -> u64 {
    std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}
