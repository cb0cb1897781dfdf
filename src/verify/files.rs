//! Files of children: what is there, what should be, whether the bytes are those that were written.
//!
//! A child that cannot be opened is a finding, not the end: the other children are still checked.
//! Cost: at full level one sequential read of every file; files shared by several children are read once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::footer::Footer;
use tantivy::directory::{FileSlice, OwnedBytes};

use super::finding::{Finding, FindingKind, Grade};
use super::report::VerifyLevel;
use super::{VerifyJob, metadata};
use crate::error::{Error, Result};
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::route::ShardNumber;
use crate::source::{
    Component, FileId, LockMode, MANAGED, MAX_FOOTER, META, Meta, SegmentEntry, Source, WRITER_LOCK, file_id, guard,
    open_regular, read_regular, sidecar_segment,
};
use crate::threads;

/// Locks that tantivy leaves behind; they mean nothing.
const LOCKS: [&str; 2] = [WRITER_LOCK, ".tantivy-meta.lock"];

/// A child and what could be had of it.
pub(super) struct Child {
    pub(super) shard: ShardNumber,
    pub(super) path: PathBuf,
    /// `None`: it cannot be opened.
    pub(super) index: Option<Source>,
    /// Some file's checksum is wrong: its content is not read, since that might end the process.
    pub(super) damaged: bool,
}

/// Compares the source's files with their checksums.
pub(super) fn check_source(
    job: &VerifyJob<'_>,
    progress: &dyn Progress,
    cancel: &Cancel,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    for problem in job.source.check_checksums(job.threads, Stage::Verify, progress, cancel)? {
        let message = format!("the source is damaged: {problem}");
        findings.push(Finding::error(FindingKind::Checksum, message).in_file(&problem.path));
    }
    Ok(())
}

/// Checks the files of all children and opens what can be opened.
pub(super) fn check(
    job: &VerifyJob<'_>,
    progress: &dyn Progress,
    cancel: &Cancel,
    findings: &mut Vec<Finding>,
) -> Result<Vec<Child>> {
    let mut children = Vec::with_capacity(job.children.len());
    let mut files = Vec::new();
    for (shard, path) in &job.children {
        let mut child = Child { shard: *shard, path: path.clone(), index: None, damaged: false };
        match list(path).and_then(|present| Ok((present, Meta::read(path)?))) {
            Ok((present, meta)) => {
                let expected = expected_files(&meta);
                names(job, &child, &present, &expected, findings);
                managed(&child, &present, &expected, findings);
                let there = expected.intersection(&present).map(|name| path.join(name));
                files.extend(there.map(|file| (children.len(), file)));
                match guard(path, "the index", || Source::open(path, LockMode::None)) {
                    Ok(index) => child.index = Some(index),
                    Err(error) if error.is_shortage() => return Err(error),
                    Err(error) => findings.push(unreadable(&child, &error)),
                }
                metadata::compare(job.source, &child, &meta, findings);
            }
            // Says nothing of the child.
            Err(error) if error.is_shortage() => return Err(error),
            Err(error) => findings.push(unreadable(&child, &error)),
        }
        children.push(child);
    }
    for (child, file, problem) in checksums(&files, job, progress, cancel)? {
        let Some(child) = children.get_mut(child) else { continue };
        child.damaged = true;
        findings.push(problem.in_child(child.shard).in_file(file));
    }
    for child in children.iter().filter(|child| !child.damaged) {
        metadata::structure(job, child, findings);
    }
    Ok(children)
}

fn unreadable(child: &Child, error: &Error) -> Finding {
    Finding::error(FindingKind::ChildUnreadable, format!("cannot be opened: {}", error.one_line()))
        .in_child(child.shard)
        .in_file(&child.path)
}

/// Names of the files in a directory.
fn list(dir: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(dir).map_err(Error::io("list", dir))? {
        names.insert(entry.map_err(Error::io("list", dir))?.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

/// Files of all segments that `meta` names.
fn expected_files(meta: &Meta) -> BTreeSet<String> {
    meta.segments().iter().flat_map(SegmentEntry::files).map(|(_, name)| name).collect()
}

fn names(
    job: &VerifyJob<'_>,
    child: &Child,
    present: &BTreeSet<String>,
    expected: &BTreeSet<String>,
    findings: &mut Vec<Finding>,
) {
    for name in expected.difference(present) {
        findings.push(
            Finding::error(FindingKind::MissingFile, "a file that meta.json names is not there")
                .in_child(child.shard)
                .in_file(child.path.join(name)),
        );
    }
    let sidecar =
        |name: &str| sidecar_segment(name).is_some_and(|id| expected.contains(&Component::Terms.file_name(id)));
    let ours = |name: &str| {
        name == META || name == MANAGED || LOCKS.contains(&name) || (job.known_file)(name) || sidecar(name)
    };
    for name in present.difference(expected).filter(|name| !ours(name)) {
        findings.push(
            Finding::new(Grade::Warning, FindingKind::UnknownFile, "nothing names this file")
                .in_child(child.shard)
                .in_file(child.path.join(name)),
        );
    }
}

/// `.managed.json` must list the files of the index and nothing else: what it lacks is never garbage collected and
/// never checked by `validate_checksum`, what it has beyond is deleted by the next garbage collection.
fn managed(child: &Child, present: &BTreeSet<String>, expected: &BTreeSet<String>, findings: &mut Vec<Finding>) {
    let path = child.path.join(MANAGED);
    let mut warn = |count: usize, message: String| {
        if count > 0 {
            findings.push(
                Finding::new(Grade::Warning, FindingKind::ManagedFiles, message)
                    .in_child(child.shard)
                    .in_file(&path)
                    .count(count as u64),
            );
        }
    };
    let listed = match read_regular(&path) {
        Ok(bytes) => serde_json::from_slice::<BTreeSet<String>>(&bytes).map_err(|error| error.to_string()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return warn(1, "the list of managed files is not there".to_owned());
        }
        Err(error) => Err(error.to_string()),
    };
    let listed = match listed {
        Ok(listed) => listed,
        Err(error) => {
            // tantivy does without the list, but not with one that it cannot read.
            let message =
                format!("the list of managed files cannot be read, and so tantivy cannot open the index: {error}");
            findings.push(Finding::error(FindingKind::ManagedFiles, message).in_child(child.shard).in_file(&path));
            return;
        }
    };
    let mut wanted: BTreeSet<String> = expected.intersection(present).cloned().collect();
    wanted.insert(META.to_owned());
    let missing: Vec<&str> = wanted.difference(&listed).map(String::as_str).collect();
    warn(missing.len(), format!("does not list {}", missing.join(", ")));
    let beyond: Vec<&str> = listed.difference(&wanted).map(String::as_str).collect();
    warn(beyond.len(), format!("lists {}, which meta.json does not name", beyond.join(", ")));
}

/// Files whose footer or checksum is wrong, in the order given.
fn checksums(
    files: &[(usize, PathBuf)],
    job: &VerifyJob<'_>,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Vec<(usize, PathBuf, Finding)>> {
    // Hard links of one file are read once.
    let mut unique: BTreeMap<FileId, (u64, &Path)> = BTreeMap::new();
    let mut ids = Vec::with_capacity(files.len());
    for (_, path) in files {
        let id = file_id(path);
        let len = std::fs::metadata(path).map_or(0, |meta| meta.len());
        unique.entry(id.clone()).or_insert((len, path));
        ids.push(id);
    }
    let mut work: Vec<(&FileId, u64, &Path)> = unique.iter().map(|(id, (len, path))| (id, *len, *path)).collect();
    work.sort_by_key(|(_, len, _)| std::cmp::Reverse(*len));
    let problems = threads::each(&work, job.threads, |(_, len, path)| {
        cancel.check()?;
        let problem = check_file(path, job.level == VerifyLevel::Full, cancel)?;
        progress.advance(Stage::Verify, Work::bytes(*len));
        Ok(problem)
    })?;
    let problems: BTreeMap<&FileId, Finding> =
        work.iter().zip(problems).filter_map(|((id, ..), problem)| Some((*id, problem?))).collect();
    Ok(files
        .iter()
        .zip(&ids)
        .filter_map(|((child, path), id)| Some((*child, path.clone(), problems.get(id)?.clone())))
        .collect())
}

/// Checks footer and, if `read_body`, checksum. Only an interruption is an error.
fn check_file(path: &Path, read_body: bool, cancel: &Cancel) -> Result<Option<Finding>> {
    let footer = |error: io::Error| Finding::error(FindingKind::Footer, format!("the footer cannot be read: {error}"));
    let (mut file, crc, body_len) = match open_at_footer(path) {
        Ok(opened) => opened,
        Err(error) => return Ok(Some(footer(error))),
    };
    if !read_body {
        return Ok(None);
    }
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0u8; 1 << 20];
    let mut left = body_len;
    let mut read = || -> io::Result<()> {
        file.seek(SeekFrom::Start(0))?;
        while left > 0 && !cancel.is_cancelled() {
            let want = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            let Some(part) = buffer.get_mut(..want) else { break };
            file.read_exact(part)?;
            hasher.update(part);
            left -= want as u64;
        }
        Ok(())
    };
    let result = read();
    cancel.check()?;
    if let Err(error) = result {
        return Ok(Some(Finding::error(FindingKind::Checksum, format!("the file cannot be read: {error}"))));
    }
    let found = hasher.finalize();
    Ok((found != crc).then(|| {
        Finding::error(FindingKind::Checksum, format!("the bytes have checksum {found:08x}, the footer says {crc:08x}"))
    }))
}

/// The file, the checksum its footer has, and the length of its body.
fn open_at_footer(path: &Path) -> io::Result<(File, u32, u64)> {
    let mut file = open_regular(path)?;
    let len = file.metadata()?.len();
    let tail_len = len.min(MAX_FOOTER);
    file.seek(SeekFrom::Start(len - tail_len))?;
    let mut tail = Vec::new();
    file.by_ref().take(tail_len).read_to_end(&mut tail)?;
    if tail.len() < 8 {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("the file has {} bytes", tail.len())));
    }
    let read = tail.len() as u64;
    let (footer, body) = Footer::extract_footer(FileSlice::new(Arc::new(OwnedBytes::new(tail))))?;
    let footer_len = read - tantivy_common::HasLen::len(&body) as u64;
    Ok((file, footer.crc, len - footer_len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_whose_body_changed_has_the_wrong_checksum_and_one_without_footer_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.store");
        let mut bytes = b"body".repeat(100_000);
        let footer = Footer { version: tantivy::version().clone(), crc: crc32fast::hash(&bytes) };
        let json = serde_json::to_vec(&footer).unwrap();
        bytes.extend_from_slice(&json);
        bytes.extend_from_slice(&u32::try_from(json.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(&1337u32.to_le_bytes());
        std::fs::write(&path, &bytes).unwrap();
        let check = |read_body| check_file(&path, read_body, &Cancel::new()).unwrap().map(|finding| finding.kind);
        assert_eq!(check(true), None);

        bytes[399_999] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(check(true), Some(FindingKind::Checksum));
        assert_eq!(check(false), None);

        for len in [bytes.len() - 1, 7, 0] {
            std::fs::write(&path, &bytes[..len]).unwrap();
            assert_eq!(check(false), Some(FindingKind::Footer));
        }
    }
}
