//! The real program with too little of something: descriptors, maps, memory, disk, permissions, a stdout that takes the
//! report. Where it can be known before, it is said before anything is written; in any case nothing is half-made.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::cli::place::{Place, Ran};
use crate::common::fixture::Fixture;
use crate::linked::{self, tree};

/// Runs a line in `place` under what `limits` of the shell say.
fn limited(place: &Place, limits: &str, line: &str) -> std::process::Output {
    let program = env!("CARGO_BIN_EXE_shardsplit");
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{limits}; exec {program} {line}")).current_dir(place.dir.path());
    command.env_remove("RUST_LOG").env("RUST_BACKTRACE", "0").stdin(Stdio::null()).output().unwrap()
}

fn skipped(why: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "SKIPPED, a part of faults::starved was not tried: {why}");
}

#[test]
fn too_few_open_files_are_refused_before_anything_is_written_and_as_many_as_it_says_are_enough() {
    let place = Place::new();
    let before = tree(&place.path("source"));
    for line in [
        "split -i source --into 16 --key id --out out",
        "split -i source --into 16 --key id --segments keep --out out",
        "split -i source --into 2 --key id --max-docs-per-segment 2 --out out",
    ] {
        let ran = Ran::new(limited(&place, "ulimit -n 64", line)).expect(1);
        assert!(ran.stderr.contains("open files") && ran.stderr.contains("the system allows 64"), "{ran:?}");
        assert!(ran.stderr.contains("nothing was written"), "{ran:?}");
        assert_eq!(place.names(), ["source"], "{line}");
        let need: u64 = ran.stderr.split("`ulimit -n ").nth(1).unwrap().split('`').next().unwrap().parse().unwrap();
        assert!((65..2000).contains(&need), "{need}");
        Ran::new(limited(&place, &format!("ulimit -n {need}"), line)).expect(0);
        std::fs::remove_dir_all(place.path("out")).unwrap();
        // A soft limit that may be raised is none.
        Ran::new(limited(&place, "ulimit -S -n 64", line)).expect(0);
        std::fs::remove_dir_all(place.path("out")).unwrap();
    }
    let mut after = tree(&place.path("source"));
    after.remove(".tantivy-writer.lock");
    let mut before = before;
    before.remove(".tantivy-writer.lock");
    assert_eq!(after, before);
}

#[test]
fn open_files_do_not_grow_with_the_segments_of_the_source() {
    let place = Place { dir: crate::common::files::tempdir() };
    let mut fixture = Fixture::everything(400, 2);
    fixture.fields.truncate(2);
    fixture.build(&place.path("source"));
    for flags in ["", "--segments keep", "--method link"] {
        let line = format!("split -i source --into 2 --key id {flags} --out out");
        Ran::new(limited(&place, "ulimit -n 96", &line)).expect(0);
        Ran::new(limited(&place, "ulimit -n 96", "verify -i source --children out")).expect(0);
        std::fs::remove_dir_all(place.path("out")).unwrap();
    }
}

#[test]
fn more_maps_than_the_system_allows_are_refused_before_anything_is_written() {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok().and_then(|text| text.trim().parse().ok());
    let Some(limit) = limit.filter(|&limit: &u64| limit <= 70_000) else {
        return skipped("vm.max_map_count is larger than is usual");
    };
    let place = Place { dir: crate::common::files::tempdir() };
    linked::build_index(&place.path("source"), &[300; 64], &[]);
    let ran = place.run("split -i source --into 256 --key id --method link --out out").expect(1);
    for words in ["memory maps", "vm.max_map_count", &format!("the system allows {limit}"), "nothing was written"] {
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
    }
    assert_eq!(place.names(), ["source"]);
    // Without verification nothing of it is mapped.
    place.run("split -i source --into 256 --key id --method link --verify none --out out").expect(0);
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error_that_names_it_and_leaves_nothing() {
    let place = Place::new();
    for blocks in [0, 1, 2, 4] {
        for method in ["rewrite", "link"] {
            let line = format!("split -i source --into 2 --key id --method {method} --out out");
            let ran = Ran::new(limited(&place, &format!("ulimit -f {blocks}"), &line));
            if ran.code == 0 && blocks > 0 {
                std::fs::remove_dir_all(place.path("out")).unwrap();
                continue;
            }
            let ran = ran.expect(1);
            assert!(ran.stderr.contains("`ulimit -f unlimited`"), "{ran:?}");
            assert_eq!(place.names(), ["source"], "{line}, {blocks} blocks");
        }
    }
    // The report, too, may be a file.
    let ran = limited(&place, "ulimit -f 4", "split -i source --into 2 --key id --method link --out out > /dev/null");
    assert!(matches!(ran.status.code(), Some(0 | 1)), "{ran:?}");
}

#[test]
fn a_disk_that_is_full_leaves_nothing_and_is_said_before_where_it_can_be_known() {
    let place = Place::new();
    let disk = place.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(&disk).output();
    if !mounted.is_ok_and(|ran| ran.status.success()) {
        return skipped("no file system can be mounted here, so none can be filled");
    }
    let outcome = std::panic::catch_unwind(|| {
        std::fs::write(disk.join("ballast"), vec![1; 60 << 10]).unwrap();
        // Planned bytes do not fit.
        let ran = place.run("split -i source --into 8 --key id --out disk/out").expect(1);
        assert!(ran.stderr.contains("has room for") && ran.stderr.contains("nothing was written"), "{ran:?}");
        assert_eq!(std::fs::read_dir(&disk).unwrap().count(), 1);
        // Links become copies on another file system, which no plan knows: full midway, at one place after the other.
        for kept in (4..64).step_by(4) {
            std::fs::write(disk.join("ballast"), vec![1; kept << 10]).unwrap();
            let ran = place.run("split -i source --into 8 --key id --method link --out disk/out");
            match ran.code {
                0 => std::fs::remove_dir_all(disk.join("out")).unwrap(),
                _ => assert!(ran.stderr.contains("No space left") || ran.stderr.contains("has room for"), "{ran:?}"),
            }
            assert_eq!(std::fs::read_dir(&disk).unwrap().count(), 1, "{kept} KiB: something was left: {ran:?}");
        }
        std::fs::remove_file(disk.join("ballast")).unwrap();
    });
    let unmounted = Command::new("umount").arg(&disk).status();
    assert!(unmounted.is_ok_and(|status| status.success()));
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

#[cfg(unix)]
#[test]
fn without_permission_to_write_nothing_is_made_and_a_source_that_cannot_be_written_is_split() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let place = Place::new();
    let root = rustix::process::geteuid().is_root();
    let run = |line: &str| {
        let mut command = place.command(line);
        if root {
            // Nobody: permissions mean nothing to root.
            command.uid(65_534).gid(65_534);
        }
        command.output().map(Ran::new)
    };
    let mode = |name: &str, mode: u32| {
        std::fs::set_permissions(place.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let _ = std::fs::remove_file(place.path("source/.tantivy-writer.lock"));
    for file in std::fs::read_dir(place.path("source")).unwrap() {
        let name = format!("source/{}", file.unwrap().file_name().into_string().unwrap());
        mode(&name, 0o444);
    }
    mode("", 0o755);
    mode("source", 0o555);
    for name in ["closed", "open"] {
        std::fs::create_dir(place.path(name)).unwrap();
    }
    mode("closed", 0o555);
    mode("open", 0o777);
    if !run("--version").is_ok_and(|ran| ran.code == 0) {
        return skipped("nobody may not run the program where it stands");
    }
    let before = tree(&place.path("source"));
    for method in ["rewrite", "link"] {
        let refused = run(&format!("split -i source --into 2 --key id --method {method} --out closed/out")).unwrap();
        let refused = refused.expect(1);
        assert!(refused.stderr.contains("cannot create closed/.out.shardsplit"), "{refused:?}");
        assert_eq!(std::fs::read_dir(place.path("closed")).unwrap().count(), 0);
        let ran = run(&format!("split -i source --into 2 --key id --method {method} --out open/{method}")).unwrap();
        let ran = ran.expect(0);
        assert!(ran.stdout.contains("no lock was taken"), "{ran:?}");
        place.run(&format!("verify -i source --children open/{method}")).expect(0);
        let _ = std::fs::remove_file(place.path("source/.tantivy-writer.lock"));
    }
    assert_eq!(tree(&place.path("source")), before);
    mode("source", 0o755);
}

#[test]
fn with_too_little_memory_the_set_is_whole_or_absent_and_no_file_is_called_damaged() {
    let place = Place::new();
    place.run("plan -i source --into 3 --key id --out out").expect(0);
    let source = tree(&place.path("source"));
    let line = "split -i source --into 3 --key id --threads 2 --out out";
    place.run(line).expect(0);
    let whole = tree(&place.path("out"));
    std::fs::remove_dir_all(place.path("out")).unwrap();
    let (mut done, mut short) = (0, 0);
    for megabytes in [8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 256, 320, 512, 1024] {
        let ran = limited(&place, &format!("ulimit -v {}", megabytes * 1024), line);
        // Refused by an error, or ended by the allocator: the one thing that Rust lets nobody catch.
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(!matches!(ran.status.code(), Some(2..=5)), "{megabytes} MB: {ran:?}");
        assert!(!said.contains("is damaged"), "{megabytes} MB: {said}");
        assert_eq!(tree(&place.path("source")), source, "{megabytes} MB");
        if Path::new(&place.path("out")).exists() {
            assert_eq!(tree(&place.path("out")), whole, "{megabytes} MB");
            done += 1;
        } else {
            assert!(!ran.status.success());
            short += 1;
            place.run("recover --out out").expect(0);
            place.run(line).expect(0);
        }
        assert_eq!(tree(&place.path("out")), whole);
        assert!(!place.path(".out.shardsplit").exists());
        std::fs::remove_dir_all(place.path("out")).unwrap();
    }
    assert!(done > 0 && short > 0, "{done} runs had enough memory, {short} had not");
}

#[test]
fn a_report_that_cannot_be_written_is_said_of_a_set_that_is_published() {
    let place = Place::new();
    if !Path::new("/dev/full").exists() {
        return skipped("there is no /dev/full");
    }
    place.run("split -i source --into 2 --key id --number-of-routing-shards 8 --out index").expect(0);
    place.run("plan --save plan -i source --into 2 --key id --out by-plan").expect(0);
    for (line, out) in [
        ("split -i source --into 2 --key id --out out", "out"),
        ("split -i source --into 2 --key id --out json --json", "json"),
        ("split -i index --into 2 --out four --json", "four"),
        ("merge -i index --into 1 --out one --json", "one"),
        ("split --plan plan --json", "by-plan"),
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ran = Ran::new(place.command(line).stdout(full).output().unwrap()).expect(1);
        let said = "is published, whole and verified; only the report of it cannot be written";
        assert!(ran.stderr.contains(&format!("{out} {said}")), "{line}: {ran:?}");
        let source = if line.contains("index") { "index" } else { "source" };
        place.run(&format!("verify -i {source} --children {out}")).expect(0);
    }
    assert!(!place.names().iter().any(|name| name.starts_with('.')), "{:?}", place.names());
}
