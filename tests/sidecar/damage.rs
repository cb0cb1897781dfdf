//! Sidecars that cannot be believed: ignored with a note, found by verification, never followed.

use std::path::{Path, PathBuf};

use shardsplit::Error;
use shardsplit::index_hashes::IndexHashes;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::publish::RealFs;
use shardsplit::route::SplitSpec;
use shardsplit::verify::{Finding, FindingKind, Grade};

use super::{WAYS, job, reseal, sidecars, split, verified};
use crate::common::check::assert_split;
use crate::common::content::Content;
use crate::common::routing::Routing;
use crate::linked;

struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    /// 100 documents in one segment, split in 2 in one of [`WAYS`].
    fn new(way: usize) -> Bench {
        let dir = tempfile::tempdir().unwrap();
        linked::build_index(&dir.path().join("source"), &[100], &[]);
        split(&dir.path().join("source"), &dir.path().join("out"), &Routing::by_key("id", 2), WAYS[way]);
        Bench { dir }
    }

    fn child(&self) -> PathBuf {
        self.dir.path().join("out/0")
    }

    fn sidecar(&self) -> PathBuf {
        let mut found = sidecars(&self.child());
        assert_eq!(found.len(), 1);
        found.remove(0)
    }

    fn routing(&self) -> Routing {
        let spec = SplitSpec { source_shards: 2, ..SplitSpec::new(2) };
        Routing { split: spec, ..Routing::by_key("id", 2) }
    }

    /// What verification of the children says of sidecars.
    fn findings(&self) -> Vec<Finding> {
        let report = verified(&self.dir.path().join("source"), &self.dir.path().join("out"), &Routing::by_key("id", 2));
        let of_sidecar = |kind| [FindingKind::Sidecar, FindingKind::SidecarHash].contains(&kind);
        assert!(report.findings.iter().all(|finding| of_sidecar(finding.kind) || finding.grade < Grade::Warning));
        report.findings.into_iter().filter(|finding| of_sidecar(finding.kind)).collect()
    }

    /// The child is split as if there were no sidecar, a warning names it, and verification warns of it.
    fn assert_ignored(&self, what: &str) {
        let out = self.dir.path().join("next");
        let report = split(&self.child(), &out, &self.routing(), WAYS[0]);
        assert!(report.plan.keys_hashed > 0, "{what}: believed");
        let name = self.sidecar().file_name().unwrap().to_string_lossy().into_owned();
        let notes = [&report.plan.warnings, &report.notes];
        for notes in notes {
            assert_eq!(
                notes.iter().filter(|note| note.contains(&name) && note.contains("ignored")).count(),
                1,
                "{what}"
            );
        }
        assert_split(&Content::read(&self.child(), &["id", "serial"]), &out, &self.routing());
        std::fs::remove_dir_all(&out).unwrap();
        let findings = self.findings();
        assert_eq!(findings.len(), 1, "{what}: {findings:?}");
        assert_eq!((findings[0].kind, findings[0].grade), (FindingKind::Sidecar, Grade::Warning), "{what}");
        assert_eq!(findings[0].file.as_deref(), Some(self.sidecar().as_path()), "{what}");
    }

    fn replace(&self, bytes: &[u8]) {
        // Not over the old bytes: linked children share the file.
        std::fs::remove_file(self.sidecar_path()).unwrap();
        std::fs::write(self.sidecar_path(), bytes).unwrap();
    }

    fn sidecar_path(&self) -> PathBuf {
        let manifest = shardsplit::publish::read_child(&self.child()).unwrap();
        let file = manifest.files.iter().find(|file| file.name.ends_with(".hashes")).unwrap();
        self.child().join(&file.name)
    }
}

/// One byte of every part of a sidecar of key field `id`: offsets of the format's table.
const PARTS: [(usize, &str); 16] = [
    (0, "magic"),
    (8, "version"),
    (12, "flags"),
    (16, "segment id"),
    (32, "max_doc"),
    (36, "checksum of .term"),
    (40, "checksum of .fast"),
    (44, "checksum of .store"),
    (48, "routing_partition_size"),
    (52, "length of the hash's name"),
    (56, "length of the key's name"),
    (60, "length of the routing field's name"),
    (64, "the hash's name"),
    (64 + 23, "the key's name"),
    (64 + 28, "a hash"),
    (64 + 28 + 50, "another hash"),
];

#[test]
fn a_flipped_byte_anywhere_and_a_wrong_length_make_a_sidecar_ignored() {
    let bench = Bench::new(0);
    let whole = std::fs::read(bench.sidecar()).unwrap();
    assert_eq!(&whole[64..64 + 25], b"murmur3-x86-32 utf-16leid");
    for (at, part) in PARTS.into_iter().chain([(whole.len() - 1, "checksum")]) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        bench.replace(&bytes);
        bench.assert_ignored(part);
    }
    let longer = [whole.as_slice(), &[0; 4]].concat();
    for (bytes, what) in [(&whole[..whole.len() - 4], "truncated"), (&longer, "extended"), (&whole[..0], "empty")] {
        bench.replace(bytes);
        bench.assert_ignored(what);
    }
    bench.replace(&whole);
    assert!(bench.findings().is_empty());
    assert_eq!(split(&bench.child(), &bench.dir.path().join("next"), &bench.routing(), WAYS[0]).plan.keys_hashed, 0);
}

#[test]
fn a_header_that_is_not_this_segments_is_ignored_though_its_checksum_is_right() {
    let bench = Bench::new(0);
    let whole = std::fs::read(bench.sidecar()).unwrap();
    for (at, part) in PARTS.into_iter().filter(|&(at, _)| at < 64 + 25) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        bench.replace(&reseal(bytes));
        // Names and partition size say how it was made; that is for the reader of keys to compare.
        let sound = at == 48 || at >= 64;
        if sound {
            let out = bench.dir.path().join("next");
            let report = split(&bench.child(), &out, &bench.routing(), WAYS[0]);
            assert!(report.plan.keys_hashed > 0, "{part}: believed");
            assert!(report.plan.warnings.iter().any(|warning| warning.contains("is of other keys")), "{part}");
            std::fs::remove_dir_all(&out).unwrap();
        } else {
            bench.assert_ignored(part);
        }
    }
    let sibling = sidecars(&bench.dir.path().join("out/1")).remove(0);
    bench.replace(&std::fs::read(sibling).unwrap());
    bench.assert_ignored("that of another segment");
}

#[test]
fn other_key_fields_have_a_sidecar_of_their_own() {
    let bench = Bench::new(0);
    let by_number = Routing { key: "number".to_owned(), stray: Some(0), ..bench.routing() };
    let report = split(&bench.child(), &bench.dir.path().join("number"), &by_number, WAYS[0]);
    assert!(report.plan.keys_hashed > 0);
    assert!(!report.plan.warnings.iter().any(|warning| warning.contains("sidecar")), "{:?}", report.plan.warnings);
    IndexHashes::new(bench.child(), "number").run(&RealFs, &Silent, &Cancel::new()).unwrap();
    assert_eq!(sidecars(&bench.child()).len(), 2);
    for routing in [&by_number, &bench.routing()] {
        let out = bench.dir.path().join(format!("again-{}", routing.key));
        assert_eq!(split(&bench.child(), &out, routing, WAYS[0]).plan.keys_hashed, 0);
    }
}

#[test]
fn a_missing_sidecar_is_a_warning_if_the_manifest_has_it() {
    for way in 0..WAYS.len() {
        let bench = Bench::new(way);
        let path = bench.sidecar();
        std::fs::remove_file(&path).unwrap();
        let findings = bench.findings();
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!((findings[0].kind, findings[0].grade), (FindingKind::Sidecar, Grade::Warning));
        assert_eq!(findings[0].file.as_deref(), Some(path.as_path()));
    }
}

/// Gives the last document of the sidecar at `path` the hash of another child.
fn misroute(path: &Path, bits: u8) -> Vec<u8> {
    let mut bytes = std::fs::read(path).unwrap();
    let at = bytes.len() - 4 - 3;
    bytes[at] ^= bits;
    reseal(bytes)
}

#[test]
fn wrong_hashes_under_a_right_checksum_are_found_by_verification_with_their_document() {
    for way in 0..WAYS.len() {
        let bench = Bench::new(way);
        // Linked children hide documents: the last one may not be this child's.
        let docs = Content::read(&bench.child(), &["id"]).docs;
        let doc = docs.last().unwrap().address.1;
        let mut bytes = std::fs::read(bench.sidecar()).unwrap();
        let start = 64 + 28;
        bytes[start + 4 * doc as usize] ^= 1;
        bench.replace(&reseal(bytes));
        let findings = bench.findings();
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!((findings[0].kind, findings[0].grade), (FindingKind::SidecarHash, Grade::Error));
        assert_eq!(findings[0].count, 1);
        assert_eq!(findings[0].documents[0].child.as_ref().unwrap().doc, doc);
    }
}

#[test]
fn a_split_that_followed_wrong_hashes_is_not_published() {
    for way in WAYS {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("source");
        linked::build_index(&source, &[100], &[]);
        IndexHashes::new(&source, "id").run(&RealFs, &Silent, &Cancel::new()).unwrap();
        let path = sidecars(&source).remove(0);
        // Into 8 children of 1024 parts: bit 9 says which half.
        std::fs::write(&path, misroute(&path, 0x02)).unwrap();
        let run = job(&source, &dir.path().join("out"), &Routing::by_key("id", 8), way).run(&Silent, &Cancel::new());
        let Err(Error::Difference(report)) = run else { panic!("{way:?}: {run:?}") };
        let kinds: Vec<FindingKind> = report.findings.iter().map(|finding| finding.kind).collect();
        assert!(kinds.contains(&FindingKind::Stray) && kinds.contains(&FindingKind::SidecarHash), "{kinds:?}");
        assert!(!dir.path().join("out").exists());
    }
}
