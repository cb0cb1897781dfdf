//! `check-routing`: documents of a shard that do not belong to it.

use super::*;

/// Puts documents with these ids into a shard by hand; one of them has no id if `unnamed`.
fn add(dir: &Path, ids: &[String], unnamed: bool) {
    let index = Index::open_in_dir(dir).unwrap();
    let (id, body) = (index.schema().get_field("id").unwrap(), index.schema().get_field("body").unwrap());
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 20_000_000).unwrap();
    writer.set_merge_policy(Box::new(tantivy::merge_policy::NoMergePolicy));
    for text in ids {
        writer.add_document(doc!(id => text.as_str(), body => "new")).unwrap();
    }
    if unnamed {
        writer.add_document(doc!(body => "unnamed")).unwrap();
    }
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
}

#[test]
fn misplaced_documents_are_counted_by_the_shard_they_belong_to() {
    let place = place(&numbered(90));
    place.run("split -i source --into 3 --key id --number-of-routing-shards 6 --out index").expect(0);
    let clean = place.run("check-routing -i index").expect(0);
    assert!(clean.stdout.contains("every document belongs where it is"), "{clean:?}");
    let shard = |id: &String| slot(id, 6) / 2;
    let new: Vec<String> = (0..40).map(|number| format!("new-{number}")).collect();
    add(&place.path("index/1"), &new, true);
    let strangers = |wanted: usize| new.iter().filter(|id| shard(id) == wanted).count();
    assert!(strangers(0) > 0 && strangers(1) > 0 && strangers(2) > 0);

    for source in ["index", "index/1"] {
        let ran = place.run(&format!("check-routing -i {source} --json")).expect(3);
        let lines = ran.lines();
        let (last, shards) = lines.split_last().unwrap();
        let found = shards.iter().find(|line| line["shard"] == 1).unwrap();
        assert_eq!(shards.len(), if source == "index" { 3 } else { 1 });
        assert_eq!(last["not_own"], strangers(0) + strangers(2) + 1);
        assert_eq!((&found["missing"], &found["several"]), (&1.into(), &0.into()));
        let misplaced = found["misplaced"].as_array().unwrap();
        assert_eq!(misplaced.len(), 2);
        for (entry, belongs_to) in misplaced.iter().zip([0, 2]) {
            assert_eq!((&entry["belongs_to"], &entry["docs"]), (&belongs_to.into(), &strangers(belongs_to).into()));
            // The first document that is named is the first of them in the new segment.
            let first = new.iter().position(|id| shard(id) == belongs_to).unwrap();
            assert_eq!(entry["sample"][0]["doc"], first);
        }
        assert!(shards.iter().filter(|line| line["shard"] != 1).all(|line| line["docs"] == line["own"]));
    }
    let text = place.run("check-routing -i index").expect(3).stdout;
    assert!(text.contains(&format!("shard 1: {} documents of shard 0: segment ", strangers(0))), "{text}");
    assert!(text.contains("1 document without a key"), "{text}");
}

#[test]
fn sidecars_are_believed_only_on_request() {
    let place = place(&numbered(90));
    place.run("split -i source --into 2 --key id --number-of-routing-shards 8 --out index").expect(0);
    let checked = |flags: &str| {
        let ran = place.run(&format!("check-routing -i index/0 --json {flags}")).expect(0);
        ran.lines().last().unwrap()["keys_hashed"].as_u64().unwrap()
    };
    assert!(checked("") > 0);
    assert_eq!(checked("--trust-sidecars"), 0);
}

#[test]
fn one_shard_outside_of_an_index_is_checked_by_flags() {
    let all = numbered(90);
    let place = place(&all);
    let lone = place.run("check-routing -i source --key id").expect(2);
    assert!(lone.stderr.contains("--source-shards is missing"), "{lone:?}");
    let elsewhere = |ran: crate::cli::place::Ran| ran.lines().last().unwrap()["not_own"].as_u64().unwrap();
    let count = |other: &dyn Fn(&String) -> bool| all.iter().filter(|id| other(id)).count() as u64;
    for (flags, expected) in [
        ("--source-shards 2 --number-of-routing-shards 8", count(&|id| slot(id, 8) > 3)),
        ("--source-shards 3 --source-shard 2 --routing elasticsearch-modulo", count(&|id| slot(id, 3) != 2)),
        ("--routing slots --source-shards 2 --number-of-routing-shards 8", count(&|id| slot(id, 8) > 3)),
        ("--routing solr --range 80000000-ffffffff", count(&|id| composite_hash(id) >= 0)),
        ("--routing solr-plain --source-shards 2 --source-shard 1", count(&|id| plain_hash(id).cast_signed() < 0)),
    ] {
        assert!(expected > 0);
        let ran = place.run(&format!("check-routing -i source --key id --json {flags}")).expect(3);
        assert_eq!(elsewhere(ran), expected, "{flags}");
    }
    place.run("check-routing -i source --key nonsense --source-shards 2").expect(2);
    place.run("check-routing -i source --key id --source-shards 2 --source-shard 2").expect(2);
    place.run("check-routing -i nowhere --key id --source-shards 2").expect(4);
}
