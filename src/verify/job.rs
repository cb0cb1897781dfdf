//! What to verify, and the order of the checks.

use std::path::PathBuf;
use std::time::Instant;

use super::report::{Check, VerifiedChild, VerifyLevel, VerifyReport};
use super::{census, content, files, ownership, sidecars};
use crate::error::Result;
use crate::partition::{Assigned, KeyPolicies, KeySpec, Placement};
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::route::{ShardNumber, SplitRouting};
use crate::source::Source;

/// Addresses that a finding shows at most, unless [`VerifyJob::sample`] says otherwise.
pub const SAMPLE: usize = 10;

/// How documents were dealt to children.
#[derive(Clone, Copy, Debug)]
pub struct Ownership<'a> {
    /// Fields that decide.
    pub keys: &'a KeySpec,
    /// From hash to child; of another placement, how children are numbered.
    pub routing: &'a SplitRouting,
    /// What decided.
    pub placement: &'a Placement,
    /// Where documents went that routing alone could not place.
    pub policies: KeyPolicies,
}

/// What to verify.
#[derive(Clone, Debug)]
pub struct VerifyJob<'a> {
    /// The source, open.
    pub source: &'a Source,
    /// Shard numbers and directories of the children.
    pub children: Vec<(ShardNumber, PathBuf)>,
    /// How documents were dealt; without it children are compared with the source as one set.
    pub ownership: Option<Ownership<'a>>,
    /// How much.
    pub level: VerifyLevel,
    /// Worker threads; 0: one per core. The report does not depend on it.
    pub threads: usize,
    /// Most addresses per finding.
    pub sample: usize,
    /// Names of files that may lie beside those of tantivy: manifests. Hash sidecars of a child's segments always may.
    pub known_file: fn(&str) -> bool,
    /// Hash sidecars that are there if the segments they belong to are.
    pub sidecars: Vec<PathBuf>,
    /// Whether the source's checksums were compared already; if not, full verification does.
    pub source_checked: bool,
}

impl<'a> VerifyJob<'a> {
    /// Full verification without routing, on all cores, with [`SAMPLE`] addresses per finding.
    #[must_use]
    pub fn new(source: &'a Source, children: Vec<(ShardNumber, PathBuf)>) -> VerifyJob<'a> {
        VerifyJob {
            source,
            children,
            ownership: None,
            level: VerifyLevel::Full,
            threads: 0,
            sample: SAMPLE,
            known_file: |_| false,
            sidecars: Vec::new(),
            source_checked: false,
        }
    }
}

/// Verifies children.
///
/// # Errors
/// [`crate::Error::Interrupted`] only, and what makes threads or memory fail; everything that is wrong with source or
/// children is in the report.
pub fn verify(job: &VerifyJob<'_>, progress: &dyn Progress, cancel: &Cancel) -> Result<VerifyReport> {
    let begun = Instant::now();
    let mut report = VerifyReport {
        level: job.level,
        source: job.source.dir().to_path_buf(),
        docs: job.source.num_docs(),
        source_digest: None,
        children_digest: None,
        children: Vec::new(),
        checks: Vec::new(),
        keys_hashed: 0,
        findings: Vec::new(),
        seconds: 0.0,
    };
    if job.level != VerifyLevel::None {
        let full = job.level == VerifyLevel::Full;
        let docs = if full { 2 * job.source.num_docs() } else { 0 };
        let source = if full && !job.source_checked { job.source.num_checked_bytes() } else { 0 };
        progress.begin(Stage::Verify, Work { docs, bytes: source + bytes_of(&job.children) });
        run(job, progress, cancel, &mut report)?;
        progress.end(Stage::Verify);
    }
    // Worst first; within a grade in the order of the checks, which does not depend on threads.
    report.findings.sort_by_key(|finding| std::cmp::Reverse(finding.grade));
    report.seconds = begun.elapsed().as_secs_f64();
    Ok(report)
}

fn run(job: &VerifyJob<'_>, progress: &dyn Progress, cancel: &Cancel, report: &mut VerifyReport) -> Result<()> {
    report.checks.push(Check::Files);
    if job.level == VerifyLevel::Full && !job.source_checked {
        // Children that repeat a damaged source faithfully would be found equal to it.
        files::check_source(job, progress, cancel, &mut report.findings)?;
    }
    let children = files::check(job, progress, cancel, &mut report.findings)?;
    for child in &children {
        sidecars::check(job, child, &mut report.findings);
    }
    report.children = children
        .iter()
        .map(|child| VerifiedChild {
            shard: child.shard,
            path: child.path.clone(),
            docs: child.index.as_ref().map(Source::num_docs),
            deleted: child.index.as_ref().map(Source::num_deleted),
            digest: None,
            fields: Vec::new(),
        })
        .collect();

    report.checks.push(Check::Census);
    let full = job.level == VerifyLevel::Full;
    let mut indexes = Vec::new();
    let mut expected = None;
    if let Some(ownership) = &job.ownership {
        indexes = ownership::indexes(job, ownership, &mut report.findings);
        expected = ownership::expected(job, ownership, cancel, &mut report.findings)?;
        report.keys_hashed += expected.as_ref().map_or(0, Assigned::keys_hashed);
    }
    let census = expected.as_ref().map(|assigned| (&assigned.census, indexes.as_slice()));
    census::check(job.source, &children, census, &mut report.findings);
    if !full {
        return Ok(());
    }

    if let Some(ownership) = &job.ownership {
        report.checks.push(Check::Ownership);
        for (child, index) in children.iter().zip(&indexes).filter(|(child, _)| !child.damaged) {
            let Some(assigned) = ownership::strays(job, ownership, child, *index, cancel, &mut report.findings)? else {
                continue;
            };
            report.keys_hashed += assigned.keys_hashed();
            if let (Some(index), Some(hashes)) = (&child.index, &assigned.hashes) {
                sidecars::compare(child, index, hashes, job.sample, &mut report.findings);
            }
        }
    }
    let routed = expected
        .as_ref()
        .map(|assigned| content::Routed { assignment: &assigned.assignment, indexes: indexes.as_slice() });
    let reading = content::read::Reading { threads: job.threads, progress, cancel };
    content::compare(job, &children, routed, reading, report)
}

/// Bytes of all files of the children, as far as they can be listed.
fn bytes_of(children: &[(ShardNumber, PathBuf)]) -> u64 {
    let files = children.iter().filter_map(|(_, dir)| std::fs::read_dir(dir).ok()).flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|meta| meta.len()).sum()
}
