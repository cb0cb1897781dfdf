//! Any index, split any way: every document in exactly one child, unchanged; and the children are what indexing their
//! documents anew would give.
//!
//! What is drawn:
//!
//! - schemas of any fields with any options (types, flags, tokenizers, norms, frequencies, positions, odd names), and every
//!   way to declare the id and the routing field;
//! - documents with all of it or little, ids that are missing, empty, shared, repeated, or longer than terms and columns
//!   hold, texts of 100 kB, pre-tokenised texts, JSON of several types per path;
//! - no commit, many of one document, a few of hundreds; deletes of documents and of whole commits, merges after them,
//!   segments of deleted documents and of none;
//! - settings: codecs and levels, another codec than the files have, sizes of blocks, index sort by every type, payloads,
//!   keys in `meta.json` that tantivy does not know;
//! - ways: 1 to 16 children, both methods, both layouts, bounds on segments, both routing functions with partitions, given
//!   and default numbers of routing shards, shards of one or several, policies for strays and missing keys, 1 to 4 threads.
//!
//! [`dimensions`] lists the values and sees that each is drawn. Variables of [`crate::common::seeds`] say how many cases
//! are tried and from which seed on.

pub mod case;
mod dimensions;

use crate::common::check::assert_split;
use crate::common::content::{Content, Doc};
use crate::common::files::{assert_source_unchanged, snapshot, tempdir};
use crate::common::{anew, seeds};
use case::Case;
use proptest::prop_assert;
use proptest::test_runner::TestCaseResult;
use shardsplit::partition::SegmentMode;
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::verify::{Finding, FindingKind, Grade};
use tantivy::Order;

/// Not two minutes on two cores.
const CASES: u64 = 2_000;

#[test]
fn any_index_split_any_way_keeps_every_document_in_one_child() {
    let name = "property::any_index_split_any_way_keeps_every_document_in_one_child";
    seeds::check(name, CASES, case::cases, |case| keeps_every_document(&case));
}

fn keeps_every_document(case: &Case) -> TestCaseResult {
    let dir = tempdir();
    let (source_dir, out) = (dir.path().join("source"), dir.path().join("out"));
    case.fixture.build(&source_dir);
    let routing = case.routing();
    let source = Content::read(&source_dir, &routing.fields());
    let before = snapshot(&source_dir);

    let job = case.job(&source_dir, &out);
    let report = job.run(&Silent, &Cancel::new()).unwrap_or_else(|error| panic!("{error}"));

    let verified = report.verify.unwrap();
    // A JSON number that a document repeats is one posting and several tokens; how often it was there, nothing tells.
    let expected = |finding: &&Finding| finding.grade == Grade::Note || finding.kind == FindingKind::TokenTotal;
    let unexpected = verified.findings.iter().find(|finding| !expected(finding));
    prop_assert!(verified.is_clean() && unexpected.is_none(), "{unexpected:?}");
    let children = assert_split(&source, &out, &routing);
    assert_source_unchanged(&before, &snapshot(&source_dir));
    let linked = case.way.method == Method::Link;
    let found = anew::differences(&case.fixture, &source, &routing, &children, linked);
    prop_assert!(found.is_empty(), "{}", found.join("\n"));
    if !linked && case.way.segments == SegmentMode::One {
        for (shard, child) in &children {
            prop_assert!(is_sorted(&source, &child.docs), "child {shard} is not in the order of the index sort");
        }
    }
    Ok(())
}

/// Whether documents stand in the order of the index sort, beyond the bounds of segments.
fn is_sorted(source: &Content, docs: &[Doc]) -> bool {
    match &source.index.settings().sort_by_field {
        None => true,
        Some(sort) if sort.order == Order::Asc => docs.is_sorted_by_key(|doc| &doc.sort),
        Some(_) => docs.is_sorted_by_key(|doc| std::cmp::Reverse(&doc.sort)),
    }
}
