//! A directory to run the binary in, with an index to run it on.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value as Json;
use tantivy::schema::{FAST, STORED, STRING, Schema, TEXT, Value};
use tantivy::{Index, IndexWriter, TantivyDocument, Term, doc};
use tempfile::TempDir;

pub const DOCS: u64 = 60;

/// A directory with `source`, an index of two segments with `DOCS` live documents and two deleted ones.
pub struct Place {
    pub dir: TempDir,
}

impl Place {
    pub fn new() -> Place {
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

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs `shardsplit` in this directory; `line` is split at blanks.
    pub fn run(&self, line: &str) -> Ran {
        Ran::new(self.command(line).output().unwrap())
    }

    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shardsplit"));
        command.args(line.split_whitespace()).current_dir(self.dir.path()).env_remove("RUST_LOG").stdin(Stdio::null());
        command
    }

    /// Names in this directory, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub fn copy(&self, from: &str, to: &str) {
        std::fs::create_dir_all(self.path(to)).unwrap();
        for entry in std::fs::read_dir(self.path(from)).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), self.path(to).join(entry.file_name())).unwrap();
        }
    }
}

#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn new(output: Output) -> Ran {
        Ran {
            code: output.status.code().expect("ended by a signal"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The lines of stdout, each of which must be an object with a `type`.
    pub fn lines(&self) -> Vec<Json> {
        let lines: Vec<Json> = self.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        assert!(lines.iter().all(|line| line["type"].is_string()), "{lines:?}");
        lines
    }

    #[track_caller]
    pub fn expect(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "{self:#?}");
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        self
    }
}

/// The stored id of every live document of an index, read by tantivy.
pub fn ids(dir: &Path) -> Vec<String> {
    let index = Index::open_in_dir(dir).unwrap();
    let id = index.schema().get_field("id").unwrap();
    let searcher = index.reader().unwrap().searcher();
    let documents = searcher.segment_readers().iter().flat_map(|segment| {
        let store = segment.get_store_reader(1).unwrap();
        segment.doc_ids_alive().map(|doc| store.get::<TantivyDocument>(doc).unwrap()).collect::<Vec<_>>()
    });
    documents.map(|document| document.get_first(id).unwrap().as_str().unwrap().to_owned()).collect()
}
