//! What a plan rests on.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value as Json;
use shardsplit::job::Job;
use shardsplit::partition::{KeySpec, Placement};
use shardsplit::plan::Method;
use shardsplit::plan::explain::Explanation;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::route::SplitSpec;
use shardsplit::source::LockMode;
use tantivy::schema::{FAST, STORED, STRING, Schema};
use tantivy::{Index, IndexWriter, TantivyDocument, Term};

use crate::common::routing::{Routing, hash, shard};

const DOCS: u64 = 900;

/// Half of the documents belong to one owner, every third of the others to `o3`, `o6`, `o9` …; some have no owner.
fn owner(number: u64) -> Option<String> {
    match number % 6 {
        0..3 => Some("giant".to_owned()),
        3 => Some(format!("o{}", number % 27)),
        4 => Some(format!("single-{number}")),
        _ => None,
    }
}

fn build(dir: &Path) -> Vec<u64> {
    let mut schema = Schema::builder();
    let id = schema.add_text_field("id", STRING | STORED | FAST);
    let field = schema.add_text_field("owner", STRING | STORED);
    std::fs::create_dir(dir).unwrap();
    let index = Index::create_in_dir(dir, schema.build()).unwrap();
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 20_000_000).unwrap();
    writer.set_merge_policy(Box::new(tantivy::indexer::NoMergePolicy));
    for number in 0..DOCS {
        let mut document = TantivyDocument::new();
        document.add_text(id, format!("id-{number}"));
        owner(number).iter().for_each(|owner| document.add_text(field, owner));
        writer.add_document(document).unwrap();
        if number == DOCS / 3 {
            writer.commit().unwrap();
        }
    }
    for gone in (0..DOCS).step_by(10) {
        writer.delete_term(Term::from_field_text(id, &format!("id-{gone}")));
    }
    writer.commit().unwrap();
    (0..DOCS).filter(|number| number % 10 != 0).collect()
}

fn explain(job: &Job) -> Explanation {
    // Without locks: another test that starts a process keeps them open for a moment.
    let job = Job { lock: LockMode::None, ..job.clone() };
    job.prepare(&Silent, &Cancel::new()).unwrap().explain().unwrap()
}

#[test]
fn the_heaviest_keys_are_counted_exactly_with_either_method() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source");
    let live = build(&source);
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for &number in &live {
        *counts.entry(owner(number).unwrap_or_else(|| format!("id-{number}"))).or_default() += 1;
    }
    for method in [Method::Rewrite, Method::Link] {
        let keys = KeySpec { key: "id".to_owned(), routing_field: Some("owner".to_owned()) };
        let job = Job { keys, method, ..Job::new(&source, dir.path().join("out"), 4, "id") };
        let explanation = explain(&job);
        let keys = explanation.keys.unwrap();
        assert_eq!((keys.documents, keys.distinct_hashes), (live.len() as u64, counts.len() as u64));
        let heavy: BTreeMap<&String, u64> =
            counts.iter().filter(|(_, count)| **count > 1).map(|(key, &count)| (key, count)).collect();
        assert!(heavy.len() > 3 && heavy.len() < 20);
        assert_eq!(keys.heaviest.len(), heavy.len());
        assert!(keys.heaviest.is_sorted_by(|left, right| left.documents >= right.documents));
        for found in &keys.heaviest {
            let value = found.value.as_ref().unwrap();
            assert_eq!((found.documents, found.hash), (heavy[value], hash(value)), "{value}");
            assert!(found.first.is_some());
        }
        let forced = counts["giant"] as f64 * 4.0 / live.len() as f64;
        assert!(forced > 1.5 && (keys.least_imbalance - forced).abs() < 1e-9);
        assert!(explanation.imbalance >= keys.least_imbalance);
        assert!(explanation.warnings.iter().any(|warning| warning.contains("heaviest routing value")));

        let histogram = explanation.histogram.unwrap();
        let split = SplitSpec { into: 1, number_of_routing_shards: Some(1024), ..SplitSpec::new(1) };
        assert_eq!((histogram.parts, histogram.parts_per_bucket), (1024, 16));
        let mut expected = vec![0; 64];
        let fine = SplitSpec { into: 64, ..split };
        for (key, count) in &counts {
            expected[shard(&fine, key, key) as usize] += count;
        }
        assert_eq!(histogram.buckets, expected);
    }
}

#[test]
fn legal_numbers_disk_and_file_systems_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source");
    build(&source);
    let split = SplitSpec { number_of_routing_shards: Some(12), ..SplitSpec::new(4) };
    let job = Job { split, ..Job::new(&source, dir.path().join("out"), 4, "id") };
    let prepared = job.prepare(&Silent, &Cancel::new()).unwrap();
    let explanation = prepared.explain().unwrap();
    let choices = explanation.choices.unwrap();
    assert_eq!(choices.legal, [1, 2, 3, 4, 6, 12]);
    assert!(choices.refused.iter().any(|refused| refused.into == 5 && refused.why.contains("12")));
    let disk: BTreeMap<&str, u64> = explanation.disk.iter().map(|disk| (disk.method.name(), disk.peak_bytes)).collect();
    assert_eq!(disk["rewrite"], prepared.plan().peak_disk_bytes);
    let link = Job { method: Method::Link, ..job.clone() };
    assert_eq!(disk["link"], link.prepare(&Silent, &Cancel::new()).unwrap().plan().peak_disk_bytes);
    assert!(disk["link"] < disk["rewrite"]);
    assert_eq!(explanation.place.same_file_system, Some(true));
    assert!(explanation.place.free_bytes.unwrap() > 0);
    // Ids are unique: nothing is heavy, and nothing is said of keys.
    let keys = explanation.keys.unwrap();
    assert_eq!((keys.heaviest.len(), keys.least_imbalance), (0, 1.0));
    assert_eq!(explanation.warnings, [] as [&str; 0]);
    // The explanation leaves the plan to be spent.
    assert!(prepared.execute(&Silent, &Cancel::new()).unwrap().verify.unwrap().is_clean());
    let routing = Routing { split, ..Routing::by_key("id", 4) };
    let content = crate::common::content::Content::read(&source, &["id"]);
    crate::common::check::assert_split(&content, &job.out, &routing);
}

#[test]
fn a_child_of_more_than_twice_the_mean_and_few_keys_are_warned_of() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source");
    build(&source);
    let keys = KeySpec { key: "id".to_owned(), routing_field: Some("owner".to_owned()) };
    let job = Job { keys, lock: LockMode::None, ..Job::new(&source, dir.path().join("out"), 8, "id") };
    let plan = job.prepare(&Silent, &Cancel::new()).unwrap().plan().clone();
    assert!(plan.warnings.iter().any(|warning| warning.contains("more than twice the mean")), "{:?}", plan.warnings);
    let even = Job { lock: LockMode::None, ..Job::new(&source, dir.path().join("out"), 8, "id") };
    assert_eq!(even.prepare(&Silent, &Cancel::new()).unwrap().plan().warnings, [] as [&str; 0]);

    let values = Placement::Sequence { children: 3 };
    let explanation = explain(&Job::placed(&source, dir.path().join("out"), values).unwrap());
    assert!(explanation.choices.is_none() && explanation.keys.is_none() && explanation.histogram.is_none());
    assert!(explanation.imbalance < 1.01);
}

#[test]
fn the_shell_explains_in_words_and_in_json() {
    let dir = tempfile::tempdir().unwrap();
    build(&dir.path().join("source"));
    let run = |line: &str, code: i32| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_shardsplit"));
        let output = command.args(line.split(' ')).current_dir(dir.path()).env_remove("RUST_LOG").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{text}");
        text
    };
    let keys = "-i source --out out --key id --routing-field owner";
    let text = run(&format!("plan {keys} --into 4 --explain"), 0);
    for words in ["any: a lone shard", "giant", "routing shards", "disk, link", "one file system", "times the mean"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let json = run(&format!("plan {keys} --into 4 --explain --json"), 0);
    let lines: Vec<Json> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| line["type"].as_str().unwrap()).collect::<Vec<_>>(), ["explanation", "plan"]);
    assert_eq!(lines[0]["keys"]["heaviest"][0]["value"], "giant");
    let without = run(&format!("plan {keys} --number-of-routing-shards 12"), 2);
    assert!(without.contains("--into is missing") && without.contains("1, 2, 3, 4, 6, 12"), "{without}");
}
