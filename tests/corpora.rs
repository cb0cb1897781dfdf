//! Real documents in 47 languages and more, indexed with every field type, split by id and by routing value.

use crate::common::check::assert_split;
use crate::common::content::Content;
use crate::common::corpora;
use crate::common::routing::Routing;
use shardsplit::job::Job;
use shardsplit::partition::{KeySpec, SegmentMode};
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};

fn split(name: &str) {
    let dir = tempfile::tempdir().unwrap();
    let source_dir = dir.path().join("source");
    if !corpora::build(name, &source_dir, 3) {
        return;
    }
    let source = Content::read(&source_dir, &["id", "routing"]);
    assert!(source.has_deletes() && source.segments.len() == 3);
    let ways = [
        (None, 3, Method::Rewrite, SegmentMode::One),
        (Some("routing"), 4, Method::Rewrite, SegmentMode::One),
        (None, 2, Method::Rewrite, SegmentMode::Keep),
        (Some("routing"), 3, Method::Link, SegmentMode::One),
    ];
    for (routing_field, into, method, segments) in ways {
        let out = dir.path().join(format!("{method:?}-{segments:?}-{into}"));
        let keys = KeySpec { key: "id".to_owned(), routing_field: routing_field.map(str::to_owned) };
        let job = Job { keys, method, segments, ..Job::new(&source_dir, &out, into, "id") };
        let report = job.run(&Silent, &Cancel::new()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(report.verify.as_ref().is_some_and(shardsplit::verify::VerifyReport::is_clean));

        let routing = Routing { routing_field: routing_field.map(str::to_owned), ..Routing::by_key("id", into) };
        let children = assert_split(&source, &out, &routing);
        if routing_field.is_some() {
            together(&children);
        }
    }
}

/// With a routing field, documents with equal routing values are in one child.
fn together(children: &[(u32, Content)]) {
    let mut homes = std::collections::BTreeMap::new();
    for (shard, child) in children {
        for value in child.docs.iter().filter_map(|doc| doc.keys.get("routing")?.first()) {
            assert_eq!(homes.entry(value.clone()).or_insert(*shard), shard, "documents of {value:?} were torn apart");
        }
    }
    assert!(!homes.is_empty());
}

macro_rules! corpora {
    ($($test:ident: $name:literal,)*) => {
        $(#[test]
        fn $test() {
            split($name);
        })*

        #[test]
        fn every_corpus_has_its_test() {
            assert_eq!(corpora::NAMES, [$($name),*]);
        }
    };
}

corpora! {
    poems_with_chinese_ids_and_routing_values_split: "poems",
    verses_in_47_languages_split: "bible",
    documents_whose_id_is_an_emoji_split: "emoji",
    command_pages_in_39_languages_split: "tldr",
    advisories_with_deep_json_and_dates_in_year_1_split: "advisories",
    tiny_documents_with_skewed_routing_values_split: "ratings",
    paragraphs_of_books_split: "books_para",
}
