//! Predicted sizes against written ones: within 5 %, for every child.

use std::path::Path;

use shardsplit::job::Job;
use shardsplit::partition::SegmentMode;
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::verify::VerifyLevel;

use crate::common::corpora;
use crate::corpus;

/// Splits and returns predicted over written bytes by child.
fn ratios(source: &Path, out: &Path, into: u32, segments: SegmentMode) -> Vec<f64> {
    let job = Job { verify: VerifyLevel::None, segments, threads: 2, ..Job::new(source, out, into, "id") };
    let report = job.run(&Silent, &Cancel::new()).unwrap();
    let children = report.plan.children.iter().zip(&report.children);
    children.map(|(planned, written)| planned.predicted_bytes as f64 / written.bytes as f64).collect()
}

/// What the children of a source up to 8 MiB take is known to the byte: it was tried.
#[test]
fn children_of_small_indexes_are_as_large_as_was_predicted() {
    for name in corpora::NAMES {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("source");
        if !corpora::build(name, &source, 3) {
            return;
        }
        for into in [2, 3, 8] {
            for segments in [SegmentMode::One, SegmentMode::Keep] {
                let ratios = ratios(&source, &dir.path().join(format!("{into}-{segments:?}")), into, segments);
                assert!(ratios.iter().all(|&ratio| ratio == 1.0), "{name} into {into} {segments:?}: {ratios:?}");
            }
        }
    }
}

/// Larger ones are predicted from a sample.
#[test]
fn children_of_larger_indexes_are_within_5_percent_of_what_was_predicted() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source");
    corpus::build(&source, &corpus::Shape::reference(14_000), 3);
    let bytes: u64 = std::fs::read_dir(&source).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes > 8 << 20, "{bytes}");
    for into in [2, 3, 8] {
        let ratios = ratios(&source, &dir.path().join(into.to_string()), into, SegmentMode::One);
        println!("{into}: {ratios:.4?}");
        assert!(ratios.iter().all(|ratio| (0.95..=1.05).contains(ratio)), "into {into}: {ratios:?}");
    }
}

#[test]
fn links_take_what_was_predicted() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source");
    corpus::build(&source, &corpus::Shape::library(), 3);
    let out = dir.path().join("out");
    let job = Job { method: Method::Link, ..Job::new(&source, &out, 3, "id") };
    let report = job.run(&Silent, &Cancel::new()).unwrap();
    // What is not shared: bitsets, and sidecars, which children share among themselves.
    let (mut own, mut seen) = (0, std::collections::BTreeSet::new());
    for child in &report.children {
        for entry in std::fs::read_dir(&child.path).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let first = name.ends_with(".hashes") && seen.insert(name.clone());
            if first || name.ends_with(".del") {
                own += entry.metadata().unwrap().len();
            }
        }
    }
    let ratio = report.plan.peak_disk_bytes as f64 / own as f64;
    assert!((0.95..=1.05).contains(&ratio), "{ratio}");
}
