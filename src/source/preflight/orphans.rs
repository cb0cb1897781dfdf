//! Files beside an index that `meta.json` does not name: what merges, deletes and crashes left.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use crate::source::{Component, sidecar_segment};

/// How many names a note carries.
const NAMED: usize = 5;

/// One note on all files of `dir` that look like tantivy's and are not in `expected`; `None` where there are none, or
/// where the directory cannot be listed, which harms nothing else.
pub(super) fn note(dir: &Path, expected: &BTreeSet<&OsStr>) -> Option<String> {
    let mut found: Vec<(String, u64)> = std::fs::read_dir(dir)
        .ok()?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name();
            if expected.contains(name.as_os_str()) {
                return None;
            }
            let name = name.into_string().ok()?;
            if is_sidecar(&name, expected) {
                return None;
            }
            looks_like_ours(&name).then(|| (name, entry.metadata().map_or(0, |metadata| metadata.len())))
        })
        .collect();
    if found.is_empty() {
        return None;
    }
    found.sort();
    let bytes: u64 = found.iter().map(|(_, len)| len).sum();
    let names: Vec<&str> = found.iter().take(NAMED).map(|(name, _)| name.as_str()).collect();
    let more = if found.len() > NAMED { ", …" } else { "" };
    Some(format!(
        "{} files ({bytes} bytes) in {} belong to no segment of meta.json and are left alone: {}{more}",
        found.len(),
        dir.display(),
        names.join(", "),
    ))
}

/// Whether `name` is that of a hash sidecar of a segment whose files are `expected`.
fn is_sidecar(name: &str, expected: &BTreeSet<&OsStr>) -> bool {
    sidecar_segment(name).is_some_and(|id| expected.contains(OsStr::new(&Component::Terms.file_name(id))))
}

/// Segment files are called `<32 hexadecimal digits>.<…>`; what is being written atomically is called `.tmp…`.
fn looks_like_ours(name: &str) -> bool {
    let segment = name.split_once('.').is_some_and(|(stem, extension)| {
        stem.len() == 32 && stem.bytes().all(|byte| byte.is_ascii_hexdigit()) && !extension.is_empty()
    });
    segment || name.starts_with(".tmp")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_segment_and_temporary_files_that_nothing_names_are_orphans() {
        let dir = tempfile::tempdir().unwrap();
        let id = "0123456789abcdef0123456789abcdef";
        let kept = format!("{id}.term");
        let stray = format!("{}.01234567.hashes", id.replace('0', "f"));
        let orphans = [format!("{id}.7.del"), format!("{id}.store.temp"), ".tmpAbC".to_owned(), stray];
        // A hash sidecar of a segment that is there is none.
        std::fs::write(dir.path().join(format!("{id}.01234567.hashes")), "1234").unwrap();
        let strangers = ["meta.json", ".managed.json", ".tantivy-writer.lock", "README.md", "abc.term"];
        for name in orphans.iter().map(String::as_str).chain(strangers).chain([kept.as_str()]) {
            std::fs::write(dir.path().join(name), "1234").unwrap();
        }
        let expected = BTreeSet::from([OsStr::new(&kept)]);
        let note = note(dir.path(), &expected).unwrap();
        assert!(note.starts_with("4 files (16 bytes)"), "{note}");
        assert!(orphans.iter().all(|name| note.contains(name)), "{note}");
        for name in &orphans {
            std::fs::remove_file(dir.path().join(name)).unwrap();
        }
        assert_eq!(super::note(dir.path(), &expected), None);
    }
}
