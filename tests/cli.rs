//! The real binary: flags, exit codes, streams, JSON lines, and the main job from the shell.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value as Json;
use tantivy::schema::{FAST, STORED, STRING, Schema, TEXT, Value};
use tantivy::{Index, IndexWriter, TantivyDocument, Term, doc};
use tempfile::TempDir;

const DOCS: u64 = 60;

/// A directory with `source`, an index of two segments with `DOCS` live documents and two deleted ones.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { dir: TempDir::new().unwrap() };
        let mut schema = Schema::builder();
        let id = schema.add_text_field("id", STRING | STORED | FAST);
        let team = schema.add_text_field("team", STRING | FAST);
        let body = schema.add_text_field("body", TEXT | STORED);
        std::fs::create_dir(place.path("source")).unwrap();
        let index = Index::create_in_dir(place.path("source"), schema.build()).unwrap();
        let mut writer: IndexWriter = index.writer_with_num_threads(1, 20_000_000).unwrap();
        writer.set_merge_policy(Box::new(tantivy::merge_policy::NoMergePolicy));
        for number in 0..DOCS + 2 {
            let mut document = doc!(id => format!("doc-{number}"), body => format!("word{} common text", number % 7));
            if number % 2 == 0 {
                document.add_text(team, format!("team-{}", number % 3));
            }
            writer.add_document(document).unwrap();
            if number == DOCS / 2 {
                writer.commit().unwrap();
            }
        }
        for gone in [3, DOCS] {
            writer.delete_term(Term::from_field_text(id, &format!("doc-{gone}")));
        }
        writer.commit().unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs `shardsplit` in this directory; `line` is split at blanks.
    fn run(&self, line: &str) -> Ran {
        Ran::new(self.command(line).output().unwrap())
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shardsplit"));
        command.args(line.split_whitespace()).current_dir(self.dir.path()).env_remove("RUST_LOG").stdin(Stdio::null());
        command
    }

    /// Names in this directory, sorted.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn copy(&self, from: &str, to: &str) {
        std::fs::create_dir_all(self.path(to)).unwrap();
        for entry in std::fs::read_dir(self.path(from)).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), self.path(to).join(entry.file_name())).unwrap();
        }
    }
}

#[derive(Debug)]
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn new(output: Output) -> Ran {
        Ran {
            code: output.status.code().expect("ended by a signal"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The lines of stdout, each of which must be an object with a `type`.
    fn lines(&self) -> Vec<Json> {
        let lines: Vec<Json> = self.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        assert!(lines.iter().all(|line| line["type"].is_string()), "{lines:?}");
        lines
    }

    #[track_caller]
    fn expect(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "{self:#?}");
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        self
    }
}

const JOB_FLAGS: &str = "-i --index --into --out --key --routing-field --routing-partition-size --routing \
    --number-of-routing-shards --source-shards --source-shard --missing-key --stray --method --segments \
    --max-docs-per-segment --verify -t --threads --no-lock --json -q --quiet";

#[test]
fn help_of_every_command_mentions_every_flag() {
    let place = Place { dir: TempDir::new().unwrap() };
    let commands = [
        ("plan", JOB_FLAGS),
        ("split", &format!("{JOB_FLAGS} --dry-run")),
        ("verify", "-i --index --children --level --key --routing-field --routing --source-shards -t --threads --json"),
        ("recover", "--out --json --quiet"),
        ("inspect", "-i --index --no-lock --json"),
    ];
    let overview = place.run("--help").expect(0).stdout;
    for (command, flags) in commands {
        assert!(overview.contains(command), "{overview}");
        let help = place.run(&format!("{command} --help")).expect(0);
        assert_eq!(help.stderr, "");
        let words: BTreeSet<&str> = help.stdout.split([' ', ',', '\n', '=']).collect();
        for flag in flags.split_whitespace() {
            assert!(words.contains(flag), "{command} --help lacks {flag}:\n{}", help.stdout);
        }
    }
    for code in ["0  done", "1  failed", "2  wrong usage", "3  verification", "4  the source", "5  the target", "130  "]
    {
        assert!(overview.contains(code), "{overview}");
    }
}

#[test]
fn version_names_program_and_index_format() {
    let place = Place { dir: TempDir::new().unwrap() };
    let version = place.run("--version").expect(0).stdout;
    assert!(version.starts_with(concat!("shardsplit ", env!("CARGO_PKG_VERSION"))), "{version}");
    assert!(version.contains("v0.27.0") && version.contains("index_format v7"), "{version}");
}

#[test]
fn wrong_usage_exits_2_and_says_so_on_stderr_only() {
    let place = Place { dir: TempDir::new().unwrap() };
    let required = "split -i source --into 2 --key id --out out";
    for line in [
        "",
        "reshard",
        "split -i source --into 2 --key id",
        "split -i source --into two --key id --out out",
        "split -i source --key id --out out",
        &format!("{required} --nonsense"),
        &format!("{required} --missing-key drop"),
        &format!("{required} --stray child:x"),
        &format!("{required} --method copy"),
        &format!("{required} --max-docs-per-segment 0"),
        &format!("{required} --max-docs-per-segment 2147483648"),
        &format!("{required} --verify some"),
        "verify -i source --children out --level none",
        "recover",
    ] {
        let ran = place.run(line).expect(2);
        assert_eq!(ran.stdout, "", "{line}");
        assert!(!ran.stderr.is_empty(), "{line}");
    }
    assert!(place.names().is_empty());
}

#[test]
fn requests_that_do_not_fit_the_index_exit_2_before_anything_is_written() {
    let place = Place::new();
    let before = place.names();
    let unknown = place.run("split -i source --into 2 --key nonsense --out out").expect(2);
    assert!(unknown.stderr.contains("nonsense") && unknown.stderr.contains("id"), "{unknown:?}");
    place.run("split -i source --into 0 --key id --out out").expect(2);
    place.run("split -i source --into 2 --key id --out out --source-shards 2 --source-shard 2").expect(2);
    place.run("split -i source --into 2 --key id --out out --missing-key child:9").expect(2);
    assert_eq!(place.names(), before);
}

#[test]
fn a_source_that_cannot_be_read_exits_4_and_is_named() {
    let place = Place::new();
    std::fs::create_dir(place.path("empty")).unwrap();
    place.copy("source", "torn");
    let store = std::fs::read_dir(place.path("torn")).unwrap().map(|entry| entry.unwrap().path());
    let store = store.filter(|path| path.extension().is_some_and(|ext| ext == "store")).min().unwrap();
    std::fs::remove_file(&store).unwrap();
    for (source, named) in [("nowhere", "nowhere"), ("empty", "meta.json"), ("torn", file_name(&store))] {
        for command in ["plan --into 2 --key id --out out", "split --into 2 --key id --out out", "inspect"] {
            let ran = place.run(&format!("{command} -i {source}")).expect(4);
            assert_eq!(ran.stdout, "");
            assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains(named), "{ran:?}");
            assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
        }
    }
    assert_eq!(place.names(), ["empty", "source", "torn"]);
}

#[test]
fn an_index_that_is_being_written_exits_4() {
    let place = Place::new();
    let index = Index::open_in_dir(place.path("source")).unwrap();
    let _writer: IndexWriter = index.writer_with_num_threads(1, 20_000_000).unwrap();
    let ran = place.run("split -i source --into 2 --key id --out out").expect(4);
    assert!(ran.stderr.contains("lock"), "{ran:?}");
}

#[test]
fn an_existing_target_exits_5_and_stays_as_it_is() {
    let place = Place::new();
    std::fs::create_dir(place.path("out")).unwrap();
    std::fs::write(place.path("out/mine"), "kept").unwrap();
    let ran = place.run("split -i source --into 2 --key id --out out").expect(5);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("out exists already"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(place.path("out/mine")).unwrap(), "kept");
    assert_eq!(place.names(), ["out", "source"]);
}

#[test]
fn errors_are_typed_lines_on_stdout_with_json() {
    let place = Place::new();
    std::fs::create_dir(place.path("taken")).unwrap();
    for (line, code, kind) in [
        ("split -i source --into 2 --key id --nonsense --out out", 2, "usage"),
        ("split -i source --into 2 --key nonsense --out out", 2, "usage"),
        ("split -i nowhere --into 2 --key id --out out", 4, "source"),
        ("split -i source --into 2 --key id --out taken", 5, "target"),
    ] {
        let lines = place.run(&format!("--json {line}")).expect(code).lines();
        let [error] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!((&error["type"], &error["kind"]), (&"error".into(), &kind.into()), "{line}");
        assert_eq!(error["exit_code"], code);
        assert!(!error["message"].as_str().unwrap().is_empty());
    }
}

#[test]
fn documents_without_a_key_exit_1_with_count_and_addresses_unless_a_child_is_named_for_them() {
    let place = Place::new();
    let line = "split -i source --into 2 --key team --out out --json";
    let lines = place.run(line).expect(1).lines();
    let [error] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(error["kind"], "failed");
    // Odd numbers have no team; 3 of them was deleted.
    assert_eq!(error["key_problems"]["missing"], DOCS / 2);
    assert!(!error["key_problems"]["missing_sample"].as_array().unwrap().is_empty());
    assert_eq!(place.names(), ["source"]);

    let lines = place.run(&format!("{line} --missing-key child:1")).expect(0).lines();
    assert_eq!(lines[0]["plan"]["census"]["missing_placed"], DOCS / 2);
}

#[test]
fn a_dry_run_prints_the_plan_and_writes_nothing() {
    let place = Place::new();
    let flags = "-i source --into 4 --key id --out out --method link";
    let dry = place.run(&format!("split {flags} --dry-run")).expect(0);
    let plan = place.run(&format!("plan {flags}")).expect(0);
    assert_eq!(dry.stdout, plan.stdout);
    assert!(dry.stdout.contains("link") && dry.stdout.contains("peak disk"), "{}", dry.stdout);
    assert_eq!(place.names(), ["source"]);

    let lines = place.run(&format!("split {flags} --dry-run --json")).expect(0).lines();
    let [plan] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(plan["type"], "plan");
    assert_eq!(plan["method"], "link");
    let docs: u64 = plan["children"].as_array().unwrap().iter().map(|child| child["docs"].as_u64().unwrap()).sum();
    assert_eq!(docs, DOCS);
    assert_eq!(place.names(), ["source"]);
}

#[test]
fn a_split_leaves_every_live_document_in_exactly_one_child_and_says_what_it_did() {
    let place = Place::new();
    let ran = place.run("split -i source --into 4 --key id --out out").expect(0);
    assert_eq!(ran.stderr, "");
    assert!(ran.stdout.contains("no differences") && ran.stdout.contains("documents/s"), "{}", ran.stdout);
    let total = ran.stdout.lines().find(|line| line.trim_start().starts_with("total")).unwrap();
    assert_eq!(total.split_whitespace().nth(1), Some("60"));
    assert_eq!(place.names(), ["out", "source"]);

    let mut found: Vec<String> = (0..4).flat_map(|shard| ids(&place.path(&format!("out/{shard}")))).collect();
    found.sort();
    let mut expected: Vec<String> =
        (0..DOCS + 2).filter(|number| ![3, DOCS].contains(number)).map(|number| format!("doc-{number}")).collect();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn a_split_with_json_is_one_typed_line() {
    let place = Place::new();
    let lines = place.run("split -i source --into 2 --key id --out out --json").expect(0).lines();
    let [split] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(split["type"], "split");
    assert_eq!(split["children"].as_array().unwrap().len(), 2);
    assert_eq!(split["plan"]["census"]["deleted"], 2);
    let stages: Vec<&str> =
        split["stages"].as_array().unwrap().iter().map(|stage| stage["stage"].as_str().unwrap()).collect();
    assert!(stages.contains(&"write") && stages.contains(&"verify"), "{stages:?}");
}

#[test]
fn verify_passes_true_children_and_exits_3_on_false_ones() {
    let place = Place::new();
    place.run("split -i source --into 2 --key id --out out").expect(0);
    let clean = place.run("verify -i source --children out").expect(0);
    assert!(clean.stdout.contains("no differences"), "{clean:?}");

    // The same documents twice and others not at all.
    std::fs::remove_dir_all(place.path("out/1")).unwrap();
    place.copy("out/0", "out/1");
    for level in ["full", "counts"] {
        let ran = place.run(&format!("verify -i source --children out --level {level}")).expect(3);
        assert!(ran.stdout.contains("error"), "{ran:?}");
        assert!(!ran.stdout.contains("no differences"), "{ran:?}");
    }
    let lines = place.run("verify -i source --children out --json").expect(3).lines();
    assert!(lines.iter().any(|line| line["type"] == "finding" && line["grade"] == "error"), "{lines:?}");
    assert_eq!(lines.last().unwrap()["type"], "verify");
    assert_eq!(lines.last().unwrap()["clean"], false);
}

#[test]
fn recover_with_nothing_to_do_is_done() {
    let place = Place::new();
    let ran = place.run("recover --out out").expect(0);
    assert!(ran.stdout.contains("nothing"), "{ran:?}");
    assert_eq!(place.run("recover --out out --json").expect(0).lines()[0]["type"], "recover");
    assert_eq!(place.names(), ["source"]);
}

#[test]
fn inspect_lists_segments_fields_and_usable_keys() {
    let place = Place::new();
    let text = place.run("inspect -i source").expect(0).stdout;
    for word in ["60", "id", "team", "body", "store"] {
        assert!(text.contains(word), "{text}");
    }
    let lines = place.run("inspect -i source --json").expect(0).lines();
    let [inspection] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(inspection["type"], "inspect");
    assert_eq!(inspection["segments"].as_array().unwrap().len(), 2);
}

#[test]
fn the_log_goes_to_stderr() {
    let place = Place::new();
    let mut command = place.command("plan -i source --into 2 --key id --out out --json");
    let ran = Ran::new(command.env("RUST_LOG", "info").output().unwrap()).expect(0);
    assert!(ran.stderr.contains("stage begins"), "{ran:?}");
    assert_eq!(ran.lines().len(), 1);
}

#[test]
fn a_reader_that_closes_stdout_early_is_no_failure() {
    let place = Place::new();
    let mut command = place.command("--help");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ran = Ran::new(child.wait_with_output().unwrap()).expect(0);
    assert_eq!(ran.stderr, "");

    let mut command = place.command("plan -i source --into 2 --key id --out out");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ran = Ran::new(child.wait_with_output().unwrap()).expect(0);
    assert_eq!(ran.stderr, "");
}

#[cfg(unix)]
#[test]
fn a_signal_stops_the_job_with_130_and_leaves_nothing() {
    use std::io::{BufRead, BufReader, Write};

    use rustix::fs::{FileType, Mode, OFlags};
    use rustix::process::{Pid, Signal, kill_process};

    let place = Place::new();
    // A pipe in place of meta.json holds the job where its handler stands and its work has not begun.
    let meta = place.path("source/meta.json");
    let bytes = std::fs::read(&meta).unwrap();
    std::fs::remove_file(&meta).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &meta, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();

    let mut command = place.command("split -i source --into 2 --key id --out out");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = Pid::from_child(&child);
    // Opening the writing end succeeds once the job reads; a job that ended instead must fail the test, not hang it.
    let mut pipe = loop {
        match rustix::fs::open(&meta, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty()) {
            Ok(pipe) => break std::fs::File::from(pipe),
            Err(_) => assert_eq!(child.try_wait().unwrap(), None, "the job never read meta.json"),
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    kill_process(pid, Signal::INT).unwrap();
    assert!(stderr.next().unwrap().unwrap().starts_with("stopping"));
    kill_process(pid, Signal::TERM).unwrap();
    assert!(stderr.next().unwrap().unwrap().starts_with("still stopping"));
    pipe.write_all(&bytes).unwrap();
    drop(pipe);

    let last = stderr.map(Result::unwrap).last().unwrap();
    assert!(last.contains("interrupted"), "{last}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(place.names(), ["source"]);
}

/// The stored id of every live document of an index, read by tantivy.
fn ids(dir: &Path) -> Vec<String> {
    let index = Index::open_in_dir(dir).unwrap();
    let id = index.schema().get_field("id").unwrap();
    let searcher = index.reader().unwrap().searcher();
    let documents = searcher.segment_readers().iter().flat_map(|segment| {
        let store = segment.get_store_reader(1).unwrap();
        segment.doc_ids_alive().map(|doc| store.get::<TantivyDocument>(doc).unwrap()).collect::<Vec<_>>()
    });
    documents.map(|document| document.get_first(id).unwrap().as_str().unwrap().to_owned()).collect()
}

fn file_name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}
