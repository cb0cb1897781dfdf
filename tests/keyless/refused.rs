//! What stops a split without a key, and what verification finds.

use shardsplit::Error;
use shardsplit::job::Job;
use shardsplit::partition::{KeyPolicies, KeySpec, Placement, Policy};
use shardsplit::progress::{Cancel, Silent};
use shardsplit::publish::is_manifest;
use shardsplit::route::{SplitRouting, SplitSpec};
use shardsplit::source::{LockMode, Source};
use shardsplit::verify::{FindingKind, Ownership, VerifyJob, verify};
use tantivy::schema::{Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::NgramTokenizer;
use tantivy::{Index, IndexWriter, doc};

use super::{Place, by_query, by_range, by_value, content, number, team};

fn refused(place: &Place, placement: &Placement) -> Error {
    let out = place.out("refused");
    let error = place.job(&out, placement).run(&Silent, &Cancel::new()).unwrap_err();
    assert!(!out.exists());
    error
}

#[test]
fn documents_without_a_value_stop_the_split_with_their_number_and_addresses() {
    let place = Place::new();
    let without = content(&place.source()).docs.iter().filter(|doc| team(number(doc)).is_none()).count() as u64;
    let Error::Keys(problems) = refused(&place, &by_value("team", &["red"])) else { panic!("expected problems") };
    assert_eq!((problems.missing, problems.several, problems.stray), (without, 0, 0));
    assert_eq!(problems.missing_sample.len(), 10);
    let text = problems.to_string();
    assert!(text.contains("no value in \"team\"") && text.contains("--missing-key child:N"), "{text}");
}

#[test]
fn documents_with_values_of_several_children_stop_the_split() {
    let place = Place::new();
    let Error::Keys(problems) = refused(&place, &by_value("tags", &["rare"])) else { panic!("expected problems") };
    let rare = content(&place.source()).docs.iter().filter(|doc| number(doc) % 6 == 1).count() as u64;
    assert_eq!((problems.missing, problems.several), (0, rare));
    // Where all values lead to one child there is nothing to refuse.
    place.split_every_way(&by_value("tags", &["other"]), Policy::Refuse, |_| 1);
}

#[test]
fn placements_that_the_index_has_no_place_for_are_refused_in_words() {
    let place = Place::new();
    for (placement, words) in [
        (by_value("nothing", &["a"]), "does not exist; usable: serial, team, tags, year, price, seen, open"),
        (by_value("body", &["a"]), "has no column"),
        (by_range("team", &["a"]), "has no ranges: numbers and dates have; usable: serial, year, price, seen"),
        (by_range("year", &["1", "1"]), "must ascend, and 1 follows 1"),
        (by_range("price", &["1", "nan"]), "\"nan\" cannot be a value"),
        (by_range("seen", &["2024"]), "cannot be a value of \"seen\", which is a date"),
        (by_value("open", &["yes"]), "true or false"),
        (by_value("team", &["a", "b", "a"]), "\"a\" of \"team\" is listed twice"),
        (by_value("year", &["7", "07"]), "is listed twice"),
        (by_query(&["word1"]), "query 1 (\"word1\") cannot be used"),
        (by_query(&["team:red", "nothing:a"]), "query 2 (\"nothing:a\") cannot be used"),
        (by_query(&["body:(a"]), "query 1"),
    ] {
        let error = refused(&place, &placement).to_string();
        assert!(error.contains(words), "{placement:?}: {error}");
    }
    for placement in [by_value("team", &[]), Placement::RoundRobin { children: 0 }, Placement::Hash] {
        assert!(matches!(Job::placed(place.source(), place.out("x"), placement), Err(Error::Usage(_))));
    }
}

#[test]
fn keys_and_numbers_of_shards_do_not_go_with_a_placement() {
    let place = Place::new();
    let job = place.job(&place.out("out"), &Placement::RoundRobin { children: 2 });
    let keyed = KeySpec { key: "serial".to_owned(), routing_field: None };
    let stray = KeyPolicies { stray: Policy::Child(0), ..KeyPolicies::default() };
    let missing = KeyPolicies { missing: Policy::Child(2), ..KeyPolicies::default() };
    for job in [
        Job { keys: keyed, ..job.clone() },
        Job { split: SplitSpec::new(3), ..job.clone() },
        Job { split: SplitSpec { source_shards: 2, ..SplitSpec::new(2) }, ..job.clone() },
        Job { policies: stray, ..job.clone() },
        Job { policies: missing, ..job },
    ] {
        let error = job.run(&Silent, &Cancel::new()).unwrap_err();
        assert!(matches!(error, Error::Usage(_)), "{error}");
    }
}

/// Kinds of findings on a set made by `made`, judged as if it had been made by `judged`.
fn findings(made: &Placement, judged: &Placement) -> Vec<FindingKind> {
    let place = Place::new();
    let out = place.out("out");
    let children = place.job(&out, made).run(&Silent, &Cancel::new()).unwrap().children.len();
    let source = Source::open(place.source(), LockMode::None).unwrap();
    let shards = 0..u32::try_from(children).unwrap();
    let routing = SplitRouting::new(SplitSpec::new(u32::try_from(children).unwrap())).unwrap();
    let keys = KeySpec { key: String::new(), routing_field: None };
    let mut job = VerifyJob::new(&source, shards.map(|shard| (shard, out.join(shard.to_string()))).collect());
    job.known_file = is_manifest;
    job.ownership =
        Some(Ownership { keys: &keys, routing: &routing, placement: judged, policies: KeyPolicies::default() });
    verify(&job, &Silent, &Cancel::new()).unwrap().findings.iter().map(|finding| finding.kind).collect()
}

#[test]
fn verification_finds_documents_in_another_child_than_their_values_and_queries_say() {
    let (made, judged) = (by_range("year", &["0", "10"]), by_range("year", &["0", "11"]));
    assert_eq!(findings(&made, &made), []);
    assert!(findings(&made, &judged).contains(&FindingKind::Stray));
    let (made, judged) = (by_query(&["body:word1", "team:red"]), by_query(&["team:red", "body:word1"]));
    assert_eq!(findings(&made, &made), []);
    assert!(findings(&made, &judged).contains(&FindingKind::Stray));
}

#[test]
fn verification_finds_documents_in_another_child_than_their_place_says() {
    let (turns, runs) = (Placement::RoundRobin { children: 3 }, Placement::Sequence { children: 3 });
    for (made, judged) in [(&turns, &runs), (&runs, &turns)] {
        assert_eq!(findings(made, made), []);
        // As many documents in each child, but others.
        assert!(!findings(made, judged).is_empty());
    }
}

#[test]
fn a_query_on_words_of_an_unknown_tokenizer_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut schema = Schema::builder();
    let words = TextFieldIndexing::default().set_tokenizer("own");
    let body = schema.add_text_field("body", TextOptions::default().set_indexing_options(words));
    let index = Index::create_in_dir(dir.path(), schema.build()).unwrap();
    index.tokenizers().register("own", NgramTokenizer::new(2, 2, false).unwrap());
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 20_000_000).unwrap();
    writer.add_document(doc!(body => "words")).unwrap();
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
    let job = Job::placed(dir.path(), dir.path().with_extension("out"), by_query(&["body:wo"])).unwrap();
    let error = Job { lock: LockMode::None, ..job }.run(&Silent, &Cancel::new()).unwrap_err();
    assert!(matches!(&error, Error::Usage(problem) if problem.contains("own")), "{error}");
}
