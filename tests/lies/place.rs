//! Two indexes of one schema with the same numbers of documents, and what shardsplit makes of them. Segment ids are
//! fixed, so that every file has the same bytes in every run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tantivy::schema::{FAST, INDEXED, STORED, STRING, Schema, TEXT};
use tantivy::{Index, IndexSettings, IndexWriter, TantivyDocument, Term};

use crate::common::content::Content;
use crate::common::files::{copy_dir, tempdir};

/// Documents of the two segments: a block of postings and a rest, and less than a block.
const SEGMENTS: [u64; 2] = [150, 40];
/// Ids of the segments.
pub const IDS: [&str; 2] = ["a0000000000000000000000000000001", "b0000000000000000000000000000002"];
/// Bytes of the path of the directory.
const PATH: usize = 96;
/// How often a lock is tried again, and how long in between.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(50);
/// No run takes longer.
const LONGEST: Duration = Duration::from_secs(60);
/// Address space of a run, in KiB: threads, the program itself, and what a sound run needs. What a damaged file of
/// some kilobytes claims beyond would end the process.
const ADDRESS_SPACE: u64 = 700 << 10;

/// A directory with `source` and `other`, indexes, and `sound`, a copy of the first; `set` and `other-set`, their splits in two; `plan.json` and
/// `other-plan.json`, plans of such splits into `planned`.
pub struct Place {
    _dir: tempfile::TempDir,
    root: PathBuf,
    /// Documents of `source`, as they are.
    pub documents: Vec<Vec<String>>,
}

/// What a run said.
pub struct Ran {
    pub code: i32,
    pub lines: Vec<Value>,
    pub text: String,
}

impl Place {
    pub fn new() -> Place {
        let dir = tempdir();
        // Manifests and plans have paths in them; their bytes stand at the same places wherever this is.
        let above = fs::canonicalize(dir.path()).unwrap();
        let root = above.join("p".repeat(PATH.saturating_sub(above.as_os_str().len() + 1).max(1)));
        fs::create_dir(&root).unwrap();
        let place = |name: &str| root.join(name);
        build(&place("source"), 0);
        copy_dir(&place("source"), &place("sound"));
        build(&place("other"), 1_000);
        let documents = documents(&[place("source")]).unwrap();
        let place = Place { _dir: dir, root, documents };
        for (source, set, plan) in [("source", "set", "plan.json"), ("other", "other-set", "other-plan.json")] {
            place.sound(&["split", "-i", source, "--into", "2", "--key", "id", "--out", set]);
            place.sound(&["plan", "-i", source, "--into", "2", "--key", "id", "--out", "planned", "--save", plan]);
        }
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// A run that goes well. A lock that was let go may be held a moment longer: by a process that another test is about to
    /// start, and which has not let go of what it inherited.
    pub fn sound(&self, args: &[&str]) {
        let mut ran = self.run(args);
        for _ in 0..TRIES {
            if !ran.text.contains("locked by a writer") {
                break;
            }
            std::thread::sleep(PAUSE);
            ran = self.run(args);
        }
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.text);
    }

    /// Runs the program, with the memory that a sound run needs and no more. Panics if it hangs, panics, or is ended by
    /// a signal.
    pub fn run(&self, args: &[&str]) -> Ran {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("ulimit -v {ADDRESS_SPACE}; exec \"$0\" \"$@\""));
        command.arg(env!("CARGO_BIN_EXE_shardsplit")).args(args).arg("--json");
        // Plans say it themselves, and recovering is no work.
        if !(args.contains(&"--plan") || args.contains(&"recover") || args.contains(&"plan")) {
            command.args(["--threads", "2"]);
        }
        command.current_dir(&self.root).env_remove("RUST_LOG");
        let begun = Instant::now();
        let output = command.output().unwrap();
        assert!(begun.elapsed() < LONGEST, "{args:?} took {:?}", begun.elapsed());
        Ran::new(args, &output)
    }
}

impl Ran {
    fn new(args: &[&str], output: &Output) -> Ran {
        let stdout = String::from_utf8_lossy(&output.stdout);
        let text = format!("{stdout}{}", String::from_utf8_lossy(&output.stderr));
        let code = output.status.code().unwrap_or_else(|| panic!("{args:?} ended by {}: {text}", output.status));
        assert!(matches!(code, 0..=5), "{args:?} ended with {code}: {text}");
        assert!(!text.contains("panicked") && !text.contains("defect"), "{args:?}: {text}");
        let lines = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        Ran { code, lines, text }
    }

    /// The message of the error that ended it.
    pub fn message(&self) -> &str {
        let error = self.lines.iter().find(|line| line["type"] == "error");
        error.and_then(|line| line["message"].as_str()).unwrap_or_else(|| panic!("no typed error: {}", self.text))
    }
}

/// A writer of tantivy's that merges nothing by itself; waits for the lock as [`Place::sound`] does.
pub fn writer(dir: &Path) -> IndexWriter {
    let index = Index::open_in_dir(dir).unwrap();
    let open = || index.writer_with_num_threads(1, 20_000_000);
    let mut tries = (0..TRIES).map(|_| {
        std::thread::sleep(PAUSE);
        open()
    });
    let writer: IndexWriter = open().or_else(|_| tries.find(Result::is_ok).unwrap_or_else(open)).unwrap();
    writer.set_merge_policy(Box::new(tantivy::merge_policy::NoMergePolicy));
    writer
}

/// Documents of all these indexes together, as tantivy's readers have them, sorted; `Err` where they cannot be read.
pub fn documents(dirs: &[PathBuf]) -> Result<Vec<Vec<String>>, String> {
    let read = || dirs.iter().flat_map(|dir| Content::read(dir, &["id"]).docs).map(|doc| doc.lines).collect();
    let mut lines: Vec<Vec<String>> =
        std::panic::catch_unwind(read).map_err(|_| "tantivy cannot read it".to_owned())?;
    lines.sort();
    Ok(lines)
}

fn document(schema: &Schema, n: u64) -> TantivyDocument {
    let words: Vec<String> = (0..n % 7 + 1).map(|word| format!("word{}", n * word % 50)).collect();
    let text = json!({
        "id": format!("id-{n:05}"),
        "body": format!("common {}", words.join(" ")),
        "number": n,
        "numbers": [n % 3, n],
        "data": {"colour": if n.is_multiple_of(2) { "red" } else { "blue" }, "size": n},
    });
    TantivyDocument::parse_json(schema, &text.to_string()).unwrap()
}

/// Builds an index of documents from `first` on, three of them deleted.
pub fn build(dir: &Path, first: u64) {
    fs::create_dir_all(dir).unwrap();
    let mut builder = Schema::builder();
    let id = builder.add_text_field("id", STRING | STORED | FAST);
    builder.add_text_field("body", TEXT | STORED);
    builder.add_u64_field("number", INDEXED | STORED | FAST);
    builder.add_u64_field("numbers", FAST);
    builder.add_json_field("data", TEXT | STORED | FAST);
    let schema = builder.build();
    // Small blocks, so that the skip index of the store has several layers.
    let settings = IndexSettings { docstore_blocksize: 300, ..IndexSettings::default() };
    let index = Index::builder().schema(schema.clone()).settings(settings).create_in_dir(dir).unwrap();
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 20_000_000).unwrap();
    writer.set_merge_policy(Box::new(tantivy::merge_policy::NoMergePolicy));
    let mut next = first;
    for docs in SEGMENTS {
        for n in next..next + docs {
            writer.add_document(document(&schema, n)).unwrap();
        }
        next += docs;
        writer.commit().unwrap();
    }
    for n in [3u64, 64, 149] {
        writer.delete_term(Term::from_field_text(id, &format!("id-{:05}", first + n)));
    }
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
    drop(index);
    name_segments(dir);
}

/// Gives the segments the ids of [`IDS`], the largest first.
fn name_segments(dir: &Path) {
    let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap();
    let meta: Value = serde_json::from_str(&read("meta.json")).unwrap();
    let mut segments: Vec<(u64, String)> = (meta["segments"].as_array().unwrap().iter())
        .map(|segment| (segment["max_doc"].as_u64().unwrap(), segment["segment_id"].as_str().unwrap().to_owned()))
        .collect();
    segments.sort_by_key(|(docs, _)| std::cmp::Reverse(*docs));
    let mut names = BTreeMap::new();
    for ((_, old), new) in segments.iter().zip(IDS) {
        let dashed = format!("{}-{}-{}-{}-{}", &new[..8], &new[8..12], &new[12..16], &new[16..20], &new[20..]);
        names.insert(old.clone(), dashed);
        names.insert(old.replace('-', ""), new.to_owned());
    }
    for name in ["meta.json", ".managed.json"] {
        let mut text = read(name);
        for (old, new) in &names {
            text = text.replace(old, new);
        }
        if name == "meta.json" {
            // As the order of segments is anybody's guess, too.
            let mut meta: Value = serde_json::from_str(&text).unwrap();
            meta["segments"].as_array_mut().unwrap().sort_by_key(|segment| segment["segment_id"].to_string());
            text = meta.to_string();
        } else {
            let mut managed: Vec<String> = serde_json::from_str(&text).unwrap();
            managed.sort();
            text = json!(managed).to_string();
        }
        fs::write(dir.join(name), text).unwrap();
    }
    for entry in fs::read_dir(dir).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let (stem, rest) = name.split_once('.').unwrap();
        if let Some(new) = names.get(stem) {
            fs::rename(dir.join(&name), dir.join(format!("{new}.{rest}"))).unwrap();
        }
    }
}
