//! Not let in: names that lead elsewhere, symbolic links and pipes, staging directories of somebody else, modes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::place::{IDS, Place};
use crate::common::files::{Entry, snapshot};

/// Names that lead out of a directory, or that no file of an index has.
const NAMES: [&str; 9] = [
    "../victim",
    "../../victim",
    "/etc/passwd",
    "..",
    ".",
    "",
    ".hidden",
    "a\0b",
    "a0000000000000000000000000000001/../../victim",
];

const SPLIT: [&str; 9] = ["split", "-i", "source", "--into", "2", "--key", "id", "--out", "out"];

/// A place with something beside the indexes that must not be touched.
fn place() -> (Place, BTreeMap<PathBuf, Entry>) {
    let place = Place::new();
    let victim = place.path("victim");
    fs::create_dir(&victim).unwrap();
    for name in ["meta.json", "shardsplit.json", "staging.json", &format!("{}.store", IDS[0])] {
        fs::write(victim.join(name), "precious").unwrap();
    }
    let before = snapshot(&victim);
    (place, before)
}

fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

fn assert_refused(place: &Place, args: &[&str], code: i32, words: &[&str], what: &str) {
    let ran = place.run(args);
    assert_eq!(ran.code, code, "{what}: {}", ran.text);
    let message = ran.message();
    assert!(words.iter().any(|words| message.contains(words)), "{what}: {message}");
    assert!(!place.path("out").exists() && !place.path(".out.shardsplit").exists(), "{what}");
}

#[test]
fn segment_ids_and_extensions_of_meta_json_lead_nowhere() {
    let (place, before) = place();
    let path = place.path("source/meta.json");
    let sound = fs::read(&path).unwrap();
    for name in NAMES {
        for (what, change) in [
            (
                "id",
                Box::new(|meta: &mut Value| meta["segments"][0]["segment_id"] = json!(name)) as Box<dyn Fn(&mut Value)>,
            ),
            ("opstamp", Box::new(|meta: &mut Value| meta["segments"][0]["deletes"]["opstamp"] = json!(name))),
            ("extension", Box::new(|meta: &mut Value| meta["persisted_custom_extensions"] = json!([name]))),
            ("extensions", Box::new(|meta: &mut Value| meta["persisted_custom_extensions"] = json!(name))),
        ] {
            edit(&path, change);
            assert_refused(&place, &SPLIT, 4, &["meta.json", "tantivy"], &format!("{what} {name:?}"));
            fs::write(&path, &sound).unwrap();
        }
    }
    assert_eq!(snapshot(&place.path("victim")), before);
}

#[test]
fn names_in_manifests_lead_nowhere() {
    let (place, before) = place();
    let verify = ["verify", "-i", "source", "--children", "set"];
    let (set, child) = (place.path("set/shardsplit.json"), place.path("set/0/shardsplit.json"));
    for name in NAMES {
        for (what, path, change) in [
            (
                "a child's manifest",
                &set,
                Box::new(|set: &mut Value| set["children"][0]["manifest"]["name"] = json!(name))
                    as Box<dyn Fn(&mut Value)>,
            ),
            ("the routing file", &set, Box::new(|set: &mut Value| set["routing_file"]["name"] = json!(name))),
            ("a shard", &set, Box::new(|set: &mut Value| set["children"][0]["shard"] = json!(name))),
            ("a file", &child, Box::new(|child: &mut Value| child["files"][0]["name"] = json!(name))),
            ("a segment", &child, Box::new(|child: &mut Value| child["segments"][0]["id"] = json!(name))),
        ] {
            let sound = fs::read(path).unwrap();
            edit(path, change);
            let ran = place.run(&verify);
            // A child's manifest only says which sidecars there were; one that cannot be used is not followed.
            let expected: &[i32] = if path == &child { &[0, 1, 3] } else { &[1] };
            assert!(expected.contains(&ran.code), "{what} {name:?}: {}", ran.text);
            assert!(!ran.text.contains("victim/"), "{what} {name:?}: {}", ran.text);
            fs::write(path, sound).unwrap();
        }
    }
    assert_eq!(snapshot(&place.path("victim")), before);
}

#[test]
fn paths_in_a_saved_plan_are_plain_and_name_what_is_not_there() {
    let (place, before) = place();
    let path = place.path("plan.json");
    let sound = fs::read(&path).unwrap();
    let run = ["split", "--plan", "plan.json"];
    let inside = place.path("victim/../victim/new");
    let taken = place.path("victim");
    let nul = format!("{}/a\0b", place.path("").display());
    for (what, name, out, code, words) in [
        ("a relative target", "out", "planned", 2, "not a plain absolute path"),
        ("a target with ..", "out", inside.to_str().unwrap(), 2, "not a plain absolute path"),
        ("a target that is there", "out", taken.to_str().unwrap(), 5, "exists"),
        ("a target with NUL", "out", nul.as_str(), 1, ""),
        ("a relative source", "source", "source", 2, "not a plain absolute path"),
        ("a source with NUL", "source", nul.as_str(), 4, ""),
    ] {
        edit(&path, |plan| plan["job"]["shard"][name] = json!(out));
        let ran = place.run(&run);
        assert_eq!(ran.code, code, "{what}: {}", ran.text);
        assert!(ran.message().contains(words), "{what}: {}", ran.message());
        fs::write(&path, &sound).unwrap();
    }
    for name in NAMES {
        edit(&path, |plan| plan["parts"][0]["children"][0]["segments"][0] = json!(name));
        let ran = place.run(&run);
        assert_eq!(ran.code, 2, "{name:?}: {}", ran.text);
        assert!(ran.message().contains("is not a segment id"), "{name:?}: {}", ran.message());
        fs::write(&path, &sound).unwrap();
    }
    assert_eq!(snapshot(&place.path("victim")), before);
    assert!(!place.path("planned").exists());
}

#[test]
fn shards_of_a_routing_file_are_numbers_and_nothing_else() {
    let (place, before) = place();
    let path = place.path("set/routing.json");
    let sound = fs::read(&path).unwrap();
    let twice = ["split", "-i", "set", "--into", "2", "--out", "out"];
    let ranges = |shard: Value| {
        json!({"format": 1, "routing": "solr", "number_of_shards": 1, "number_of_routing_shards": null,
        "routing_partition_size": 1, "key": "id", "routing_field": null,
        "table": {"format": 1, "ranges": [{"range": "80000000-7fffffff", "shard": shard}]}})
    };
    for shard in NAMES.map(|name| json!(name)).into_iter().chain([json!(-1), json!(1.5), json!(4_294_967_296u64)]) {
        fs::write(&path, ranges(shard.clone()).to_string()).unwrap();
        assert_refused(&place, &twice, 4, &["routing.json"], &shard.to_string());
    }
    for name in NAMES {
        fs::write(&path, &sound).unwrap();
        edit(&path, |file| file["number_of_shards"] = json!(name));
        assert_refused(&place, &twice, 4, &["routing.json"], name);
    }
    // As many shards as there are numbers: they are not there, and no list of that length is made to say so.
    fs::write(&path, &sound).unwrap();
    edit(&path, |file| {
        file["routing"] = json!("elasticsearch-modulo");
        file["number_of_routing_shards"] = Value::Null;
        file["number_of_shards"] = json!(2_147_483_647u32);
    });
    assert_refused(&place, &twice, 4, &["routing.json", "shards"], "two billion shards");
    assert_eq!(snapshot(&place.path("victim")), before);
}

#[test]
fn links_in_a_source_are_followed_for_reading_and_never_for_writing() {
    let (place, before) = place();
    let source = place.path("source");
    // Every file elsewhere, and the directory itself behind a link: for reading that is all the same.
    fs::create_dir(place.path("elsewhere")).unwrap();
    for entry in fs::read_dir(&source).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_owned();
        fs::rename(&path, place.path("elsewhere").join(&name)).unwrap();
        symlink(place.path("elsewhere").join(&name), &path).unwrap();
    }
    let lock = source.join(".tantivy-writer.lock");
    fs::remove_file(&lock).unwrap();
    let kept = snapshot(&place.path("elsewhere"));
    place.sound(&SPLIT);
    fs::remove_dir_all(place.path("out")).unwrap();
    place.sound(&["split", "-i", "source", "--into", "2", "--key", "id", "--method", "link", "--out", "out"]);
    fs::remove_dir_all(place.path("out")).unwrap();
    assert_eq!(snapshot(&place.path("elsewhere")), kept);

    // The one file that a split may make in a source is not made somewhere else.
    let _ = fs::remove_file(&lock);
    let made = place.path("victim/made");
    symlink(&made, &lock).unwrap();
    assert_refused(&place, &SPLIT, 4, &[".tantivy-writer.lock"], "a dangling link as lock");
    assert!(!made.exists());
    // Neither are hash sidecars.
    fs::remove_file(&lock).unwrap();
    place.sound(&["index-hashes", "-i", "source", "--key", "id"]);
    let sidecars: Vec<PathBuf> = (fs::read_dir(&source).unwrap().map(|entry| entry.unwrap().path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "hashes"))
        .collect();
    assert_eq!(sidecars.len(), 2);
    for sidecar in sidecars {
        fs::remove_file(&sidecar).unwrap();
        symlink(&made, &sidecar).unwrap();
        symlink(&made, sidecar.with_extension("hashes.partial")).unwrap();
    }
    let ran = place.run(&["index-hashes", "-i", "source", "--key", "id"]);
    assert!(!made.exists(), "exit code {}: {}", ran.code, ran.text);
    assert_eq!(snapshot(&place.path("victim")), before);
}

/// Makes a pipe that nobody writes to or reads from: who opens it as a file waits for ever.
fn pipe(path: &Path) {
    let _ = fs::remove_file(path);
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[test]
fn a_pipe_or_directory_under_the_name_of_a_file_is_named_and_nobody_waits() {
    let (place, _) = place();
    let names = |dir: &str| -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(place.path(dir)).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    };
    let replaced = |path: &Path, run: &dyn Fn(&str)| {
        let sound = fs::read(path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        pipe(path);
        run(&format!("a pipe as {name}"));
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
        run(&format!("a directory as {name}"));
        fs::remove_dir(path).unwrap();
        fs::write(path, sound).unwrap();
    };
    for path in names("source") {
        replaced(&path, &|what| {
            let ran = place.run(&SPLIT);
            // What only garbage collection reads may be anything.
            let idle = [".managed.json", ".tantivy-meta.lock"].iter().any(|end| what.ends_with(end));
            let expected = if idle { 0 } else { 4 };
            assert_eq!(ran.code, expected, "{what}: {}", ran.text);
            let _ = fs::remove_dir_all(place.path("out"));
        });
    }
    for path in names("set/0") {
        replaced(&path, &|what| {
            let ran = place.run(&["verify", "-i", "source", "--children", "set"]);
            let lenient = [".hashes", "shardsplit.json", ".lock"].iter().any(|end| what.ends_with(end));
            assert!(ran.code == 3 || (lenient && ran.code <= 3), "{what}: exit code {}: {}", ran.code, ran.text);
        });
    }
    for (path, args, code) in [
        ("set/shardsplit.json", &["verify", "-i", "source", "--children", "set"][..], 1),
        ("set/routing.json", &["split", "-i", "set", "--into", "2", "--out", "out"], 4),
        ("plan.json", &["split", "--plan", "plan.json"], 2),
    ] {
        replaced(&place.path(path), &|what| {
            let ran = place.run(args);
            assert_eq!(ran.code, code, "{what}: {}", ran.text);
        });
    }
}

#[test]
fn a_staging_directory_that_somebody_guessed_is_not_used_whoever_made_it() {
    let (place, before) = place();
    let staging = place.path(".out.shardsplit");
    type Trap<'a> = (&'a str, Box<dyn Fn() + 'a>);
    let traps: [Trap<'_>; 4] = [
        ("a directory", Box::new(|| fs::create_dir(&staging).unwrap())),
        ("a link to a directory", Box::new(|| symlink(place.path("victim"), &staging).unwrap())),
        ("a dangling link", Box::new(|| symlink(place.path("nowhere"), &staging).unwrap())),
        ("a file", Box::new(|| fs::write(&staging, "somebody's").unwrap())),
    ];
    for (what, set) in traps {
        set();
        let found = fs::symlink_metadata(&staging).unwrap();
        let ran = place.run(&SPLIT);
        assert_eq!(ran.code, 5, "{what}: {}", ran.text);
        assert!(ran.message().contains(".out.shardsplit"), "{what}: {}", ran.message());
        let left = fs::symlink_metadata(&staging).unwrap();
        assert_eq!((left.ino(), left.len(), left.mode()), (found.ino(), found.len(), found.mode()), "{what}");
        if left.is_dir() { fs::remove_dir_all(&staging).unwrap() } else { fs::remove_file(&staging).unwrap() }
    }
    assert_eq!(snapshot(&place.path("victim")), before);
    assert!(!place.path("out").exists() && !place.path("nowhere").exists());
}

/// A sealed set under the staging directory of `out`, as a run that was stopped before its rename leaves it.
fn sealed(place: &Place) {
    let staging = place.path(".out.shardsplit");
    fs::create_dir(&staging).unwrap();
    fs::set_permissions(&staging, fs::Permissions::from_mode(0o700)).unwrap();
    let children: Vec<Value> = [0, 1]
        .iter()
        .map(|shard| {
            let manifest: Value =
                serde_json::from_slice(&fs::read(place.path(&format!("set/{shard}/shardsplit.json"))).unwrap())
                    .unwrap();
            let ids: Vec<&Value> =
                manifest["segments"].as_array().unwrap().iter().map(|segment| &segment["id"]).collect();
            json!({"shard": shard, "segments": ids})
        })
        .collect();
    let record = json!({"format": 1, "tool": "x", "children": children});
    fs::write(staging.join("staging.json"), record.to_string()).unwrap();
    crate::common::files::copy_dir(&place.path("set"), &staging.join("children"));
}

#[test]
fn recover_publishes_and_removes_nothing_that_another_user_may_have_put_there() {
    let (place, before) = place();
    let staging = place.path(".out.shardsplit");
    let recover = ["recover", "--out", "out"];
    // The control: a set like this is published.
    sealed(&place);
    place.sound(&recover);
    assert!(place.path("out/1/meta.json").exists());
    fs::remove_dir_all(place.path("out")).unwrap();

    // A directory that others can write to is none that a run made: it makes them for its owner alone.
    for mode in [0o777, 0o770, 0o722, 0o1777] {
        sealed(&place);
        fs::set_permissions(&staging, fs::Permissions::from_mode(mode)).unwrap();
        let planted = snapshot(&staging);
        let ran = place.run(&recover);
        assert_eq!(ran.code, 1, "{mode:o}: {}", ran.text);
        assert!(ran.message().contains(".out.shardsplit"), "{}", ran.message());
        assert!(!place.path("out").exists(), "{mode:o}");
        let mut left = snapshot(&staging);
        left.remove(Path::new("lock"));
        assert_eq!(left, planted, "{mode:o}");
        fs::remove_dir_all(&staging).unwrap();
    }

    // Somebody else's directory.
    sealed(&place);
    if std::os::unix::fs::chown(&staging, Some(65_534), None).is_err() {
        eprintln!("SKIPPED: only root can give a directory away");
        return;
    }
    let planted = snapshot(&staging);
    for seal in [true, false] {
        if !seal {
            fs::remove_file(staging.join("children/shardsplit.json")).unwrap();
        }
        let ran = place.run(&recover);
        assert_eq!(ran.code, 1, "{}", ran.text);
        assert!(ran.message().contains("another user"), "{}", ran.message());
        assert!(!place.path("out").exists());
    }
    assert_eq!(snapshot(&staging).len() + 1, planted.len(), "the seal apart, which was removed above");
    assert_eq!(snapshot(&place.path("victim")), before);
}

/// Modes of everything below, by whether it is a directory.
fn modes(dir: &Path) -> Vec<(PathBuf, bool, u32)> {
    let kinds = snapshot(dir).into_iter().map(|(name, entry)| {
        let is_dir = dir.join(&name).is_dir();
        (name, is_dir, entry.mode & 0o777)
    });
    kinds.chain([(PathBuf::new(), true, fs::metadata(dir).unwrap().permissions().mode() & 0o777)]).collect()
}

#[test]
fn what_is_made_obeys_the_umask_and_lets_nobody_in_whom_the_source_keeps_out() {
    let (place, _) = place();
    let source = place.path("source");
    for (umask, of_source, dirs, files) in [
        ("022", 0o755, 0o755, 0o644),
        ("027", 0o755, 0o750, 0o640),
        ("077", 0o755, 0o700, 0o600),
        ("000", 0o750, 0o750, 0o666),
        ("022", 0o700, 0o700, 0o644),
        ("022", 0o555, 0o755, 0o644),
    ] {
        fs::set_permissions(&source, fs::Permissions::from_mode(of_source)).unwrap();
        let script = format!("umask {umask}; exec \"$0\" \"$@\"");
        let status = std::process::Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_shardsplit")])
            .args(SPLIT)
            .arg("--quiet")
            .current_dir(place.path(""))
            .stdout(std::process::Stdio::null())
            .status()
            .unwrap();
        fs::set_permissions(&source, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(status.success());
        for (name, is_dir, mode) in modes(&place.path("out")) {
            let expected = if is_dir { dirs } else { files };
            assert_eq!(mode, expected, "{} of a source {of_source:o} under umask {umask}: {mode:o}", name.display());
        }
        fs::remove_dir_all(place.path("out")).unwrap();
    }
}
