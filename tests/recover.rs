//! `recover` and staging where somebody else has been: forged manifests, symbolic links, foreign names, damaged sets.

use crate::linked;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use shardsplit::partition::Assignment;
use shardsplit::publish::{Fault, FaultyFs, Proof, RealFs, RecoverAction, RecoverReport, Staging, recover};
use shardsplit::source::Source;
use shardsplit::write::ChildFiles;
use shardsplit::{Error, Result};

const ID: &str = "0123456789abcdef0123456789abcdef";

struct Bench {
    dir: tempfile::TempDir,
    source: Source,
    assignment: Assignment,
}

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        linked::build_index(&dir.path().join("source"), &[6], &[]);
        let source = linked::open(&dir.path().join("source"));
        let assignment = linked::assign(&source, 2, |n| n as usize % 2);
        Bench { dir, source, assignment }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn staging(&self) -> PathBuf {
        self.path(".out.shardsplit")
    }

    fn create(&self, out: &Path) -> Result<Staging> {
        Staging::create(Arc::new(RealFs), out, linked::record(&self.source, &self.assignment))
    }

    /// A run killed where `stop` finds its first step.
    fn kill(&self, stop: impl Fn(&str) -> bool) {
        let fs = FaultyFs::counting();
        let place = tempfile::tempdir_in(self.dir.path()).unwrap();
        linked::split(Arc::new(fs.clone()), &self.source, &self.assignment, &place.path().join("out")).unwrap();
        let at = fs.steps().iter().rposition(|step| stop(step)).unwrap();
        let fs = FaultyFs::new(at, Fault::Stop);
        linked::split(Arc::new(fs.clone()), &self.source, &self.assignment, &self.path("out")).unwrap_err();
        assert!(fs.is_stopped());
    }

    /// Killed before the rename that publishes.
    fn kill_sealed(&self) {
        self.kill(|step| step.starts_with("rename "));
        assert!(self.staging().join("children/shardsplit.json").exists());
    }

    /// Killed when all files of the second child were linked.
    fn kill_unsealed(&self) {
        self.kill(|step| step.ends_with("11/.managed.json") && step.starts_with("create "));
        assert!(!self.staging().join("children/shardsplit.json").exists());
    }

    fn recover(&self) -> RecoverReport {
        linked::patiently(|| recover(&RealFs, &self.path("out"))).unwrap()
    }
}

#[test]
fn whatever_stands_at_the_target_is_left_alone() {
    let bench = Bench::new();
    fs::create_dir(bench.path("directory")).unwrap();
    fs::write(bench.path("file"), b"kept").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("nowhere", bench.path("dangling")).unwrap();
    let before = linked::tree(bench.dir.path());
    for name in ["directory", "file", "directory/"] {
        let refused = bench.create(&bench.path(name));
        assert!(matches!(refused, Err(Error::TargetExists { .. })), "{name}: {refused:?}");
    }
    #[cfg(unix)]
    assert!(matches!(bench.create(&bench.path("dangling")), Err(Error::TargetExists { .. })));
    assert_eq!(linked::tree(bench.dir.path()), before);
}

#[test]
fn a_target_without_a_place_or_inside_the_source_is_refused() {
    let bench = Bench::new();
    let before = linked::tree(bench.dir.path());
    for name in ["no/such/place/out", "source/out", "source/../source/out", "source/meta.json/out"] {
        let refused = bench.create(&bench.path(name));
        assert!(matches!(refused, Err(Error::Usage(_) | Error::Io { .. })), "{name}: {refused:?}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("source", bench.path("alias")).unwrap();
        assert!(matches!(bench.create(&bench.path("alias/out")), Err(Error::Usage(_))));
        fs::remove_file(bench.path("alias")).unwrap();
    }
    assert_eq!(linked::tree(bench.dir.path()), before);
}

#[test]
fn a_target_that_appears_before_the_rename_is_not_replaced() {
    let bench = Bench::new();
    let (staging, ..) = linked::stage(Arc::new(RealFs), &bench.source, &bench.assignment, &bench.path("out")).unwrap();
    // Even an empty directory, which a plain rename would replace.
    fs::create_dir(bench.path("out")).unwrap();
    let refused = staging.publish();
    assert!(matches!(refused, Err(Error::TargetExists { .. })), "{refused:?}");
    assert_eq!(fs::read_dir(bench.path("out")).unwrap().count(), 0);
    assert!(!bench.staging().exists());
}

#[test]
fn only_announced_files_of_announced_children_can_be_made() {
    let bench = Bench::new();
    let staging = bench.create(&bench.path("out")).unwrap();
    let segment = bench.source.segments()[0].id().to_owned();
    for (child, name) in [
        (0, format!("{ID}.store")),
        (0, format!("../{segment}.store")),
        (0, "../../../escaped".to_owned()),
        (0, format!("{segment}.a/../../b")),
        (0, String::new()),
        (2, format!("{segment}.store")),
    ] {
        let refused = staging.create(child, &name).map(drop);
        assert!(matches!(refused, Err(Error::Manifest { .. })), "{name:?}: {refused:?}");
    }
    staging.create(1, &format!("{segment}.store")).unwrap();
    // Twice is once too often: the first may be a linked file.
    assert!(matches!(staging.create(1, &format!("{segment}.store")).map(drop), Err(Error::Io { .. })));
}

#[test]
fn a_set_that_lacks_a_child_or_the_seal_is_not_published() {
    let bench = Bench::new();
    let mut staging = bench.create(&bench.path("out")).unwrap();
    assert!(matches!(staging.seal(&Proof::default()), Err(Error::Manifest { .. })));
    // Three documents were announced for child 0.
    let refused = staging.add_index_files(0, bench.source.meta(), &[]);
    assert!(matches!(refused, Err(Error::Census { live: 3, children: 0, .. })), "{refused:?}");
    assert!(matches!(staging.publish(), Err(Error::Manifest { .. })));
    assert!(!bench.path("out").exists() && !bench.staging().exists());
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_look_into_staging() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    let _staging = bench.create(&bench.path("out")).unwrap();
    assert_eq!(fs::metadata(bench.staging()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn foreign_files_in_staging_outlive_the_run_and_are_named() {
    let bench = Bench::new();
    for place in ["foreign", "children/foreign", "children/10/foreign", "children/10/x.store"] {
        let (staging, ..) =
            linked::stage(Arc::new(RealFs), &bench.source, &bench.assignment, &bench.path("out")).unwrap();
        let foreign = bench.staging().join(place);
        fs::write(&foreign, b"somebody's").unwrap();
        let removal = staging.discard().unwrap();
        assert_eq!(removal.unknown, std::slice::from_ref(&foreign), "{place}");
        assert!(removal.files > 0, "{place}: ours are gone");

        // The same again: `recover` still knows what is ours and what is not.
        let report = bench.recover();
        assert_eq!((report.action, &report.unknown), (RecoverAction::LeftUnknown, &vec![foreign.clone()]), "{place}");
        assert_eq!(fs::read(&foreign).unwrap(), b"somebody's");
        fs::remove_file(&foreign).unwrap();
        assert_eq!(bench.recover().action, RecoverAction::RemovedUnfinished, "{place}");
        assert!(!bench.staging().exists(), "{place}");
    }
}

#[test]
fn a_report_counts_what_was_removed() {
    let bench = Bench::new();
    bench.kill_unsealed();
    let standing: Vec<(String, u64)> = linked::tree(&bench.staging())
        .into_keys()
        .map(|name| (name.clone(), fs::metadata(bench.staging().join(&name)).unwrap()))
        .filter(|(_, meta)| meta.is_file())
        .map(|(name, meta)| (name, meta.len()))
        .collect();
    let report = bench.recover();
    assert_eq!(report.action, RecoverAction::RemovedUnfinished);
    assert_eq!(report.removed_files, standing.len() as u64, "{standing:?}");
    assert_eq!(report.removed_bytes, standing.iter().map(|(_, len)| len).sum::<u64>());
    assert_eq!(serde_json::to_value(&report).unwrap()["action"], "removed_unfinished");
    assert_eq!(bench.recover().action, RecoverAction::NothingToDo);
}

#[test]
fn a_sealed_set_that_was_damaged_is_removed_and_the_damage_named() {
    let bench = Bench::new();
    let segment = bench.source.segments()[0].id().to_owned();
    let staged = |name: &str| bench.staging().join("children").join(name);
    type Damage<'a> = (&'a str, Box<dyn Fn() + 'a>, String);
    let flip = |path: PathBuf| {
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        // Never in place: the file may be the source's.
        fs::remove_file(&path).unwrap();
        fs::write(&path, bytes).unwrap();
    };
    let del = format!("11/{segment}.{}.del", bench.source.meta().opstamp());
    let damages: Vec<Damage<'_>> = vec![
        ("flipped bitset", Box::new(|| flip(staged(&del))), "checksum".to_owned()),
        ("flipped meta.json", Box::new(|| flip(staged("10/meta.json"))), "checksum".to_owned()),
        ("flipped child manifest", Box::new(|| flip(staged("10/shardsplit.json"))), "checksum".to_owned()),
        ("flipped linked file", Box::new(|| flip(staged(&format!("10/{segment}.idx")))), "checksum".to_owned()),
        ("missing", Box::new(|| fs::remove_file(staged("11/.managed.json")).unwrap()), "is missing".to_owned()),
        ("longer", Box::new(|| fs::write(staged("11/meta.json"), [b' '; 9999]).unwrap()), "9999 bytes".to_owned()),
        ("cut seal", Box::new(|| fs::write(staged("shardsplit.json"), b"{").unwrap()), "parse".to_owned()),
        ("no child", Box::new(|| fs::rename(staged("10"), bench.path("10")).unwrap()), "not a directory".to_owned()),
    ];
    for (what, damage, expected) in damages {
        bench.kill_sealed();
        damage();
        let report = bench.recover();
        assert_eq!(report.action, RecoverAction::RemovedUnfinished, "{what}: {report:?}");
        assert_eq!(report.problems.len(), 1, "{what}: {report:?}");
        assert!(report.problems[0].contains(&expected), "{what}: {report:?}");
        assert!(!bench.path("out").exists() && !bench.staging().exists(), "{what}");
    }
}

#[test]
fn a_sealed_set_with_a_foreign_file_in_it_waits_for_a_person() {
    let bench = Bench::new();
    bench.kill_sealed();
    let foreign = bench.staging().join("children/11/foreign");
    fs::write(&foreign, b"x").unwrap();
    let before = linked::tree(&bench.staging());
    let report = bench.recover();
    assert_eq!((report.action, report.unknown), (RecoverAction::LeftUnknown, vec![foreign.clone()]));
    assert_eq!(linked::tree(&bench.staging()), before);
    fs::remove_file(&foreign).unwrap();
    assert_eq!(bench.recover().action, RecoverAction::Published);
    assert!(bench.path("out/11/meta.json").exists());
}

#[cfg(unix)]
#[test]
fn nothing_outside_the_staging_directory_is_removed_whatever_a_manifest_says() {
    use std::os::unix::fs::symlink;
    let bench = Bench::new();
    let victim = bench.path("victim");
    let record = format!(
        r#"{{"format":1,"tool":"x","children":[{{"shard":0,"segments":["{ID}"]}},{{"shard":1,"segments":[]}}]}}"#
    );
    // A directory that has all the names the record announces, and links that lead to it.
    let prepare = |links: &[(&str, &str)]| {
        let _ = fs::remove_dir_all(&victim);
        let _ = fs::remove_dir_all(bench.staging());
        fs::create_dir_all(victim.join("0")).unwrap();
        for name in ["meta.json", "shardsplit.json", &format!("{ID}.store"), &format!("0/{ID}.store"), "0/meta.json"] {
            fs::write(victim.join(name), b"precious").unwrap();
        }
        fs::create_dir(bench.staging()).unwrap();
        fs::write(bench.staging().join("staging.json"), &record).unwrap();
        for (link, target) in links {
            let link = bench.staging().join(link);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(victim.join(target), link).unwrap();
        }
    };
    for links in [
        &[("children", "")][..],
        &[("children/0", "")],
        &[("children/0", "0")],
        &[("children/0/meta.json", "meta.json")],
        &[("children/shardsplit.json", "shardsplit.json")],
        &[("staging.json.partial", "meta.json")],
        &[("children/shardsplit.json.partial", "meta.json"), ("children/1", "0")],
    ] {
        prepare(links);
        let before = linked::tree(&victim);
        let report = bench.recover();
        assert_eq!(linked::tree(&victim), before, "{links:?}");
        assert!(!bench.path("out").exists(), "{links:?}");
        assert_eq!(report.action, RecoverAction::LeftUnknown, "{links:?}: {report:?}");
        for (link, _) in links {
            assert!(report.unknown.contains(&bench.staging().join(link)), "{link}: {report:?}");
            assert!(fs::symlink_metadata(bench.staging().join(link)).unwrap().is_symlink(), "{link}");
        }
    }
    // Record and lock themselves as links, and a staging "directory" that is one.
    prepare(&[]);
    fs::remove_file(bench.staging().join("staging.json")).unwrap();
    fs::write(victim.join("staging.json"), &record).unwrap();
    symlink(victim.join("staging.json"), bench.staging().join("staging.json")).unwrap();
    let before = linked::tree(&victim);
    let refused = recover(&RealFs, &bench.path("out"));
    assert!(matches!(refused, Err(Error::Manifest { .. })), "{refused:?}");
    let _ = fs::remove_file(bench.staging().join("lock"));
    symlink(victim.join("meta.json"), bench.staging().join("lock")).unwrap();
    let refused = recover(&RealFs, &bench.path("out"));
    assert!(matches!(refused, Err(Error::Io { operation: "lock", .. })), "{refused:?}");
    fs::remove_dir_all(bench.staging()).unwrap();
    symlink(&victim, bench.staging()).unwrap();
    let refused = recover(&RealFs, &bench.path("out"));
    assert!(matches!(refused, Err(Error::Manifest { .. })), "{refused:?}");
    assert_eq!(linked::tree(&victim), before);
}

#[test]
fn a_record_that_cannot_be_read_removes_nothing() {
    let bench = Bench::new();
    bench.kill_unsealed();
    for text in
        ["", "{", r#"{"format":2,"tool":"shardsplit 9"}"#, r#"{"format":1,"tool":"x","children":[{"shard":"../x"}]}"#]
    {
        fs::write(bench.staging().join("staging.json"), text).unwrap();
        let before = linked::tree(&bench.staging());
        let refused = recover(&RealFs, &bench.path("out"));
        assert!(matches!(refused, Err(Error::Manifest { .. })), "{text}: {refused:?}");
        assert_eq!(linked::tree(&bench.staging()), before, "{text}");
    }
}

#[test]
fn a_directory_that_only_has_the_name_of_a_staging_directory_keeps_what_is_in_it() {
    let bench = Bench::new();
    fs::create_dir_all(bench.staging().join("children/0")).unwrap();
    fs::write(bench.staging().join("children/0/meta.json"), b"not announced").unwrap();
    fs::write(bench.staging().join("notes.txt"), b"not ours").unwrap();
    let report = bench.recover();
    assert_eq!(report.action, RecoverAction::LeftUnknown);
    assert_eq!(report.removed_files, 0);
    assert!(bench.staging().join("children/0/meta.json").exists() && bench.staging().join("notes.txt").exists());
}
