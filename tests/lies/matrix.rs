//! Lied to: every kind of file, damaged in every region and way, under its old checksum and under one that fits, or
//! swapped with another file of its kind.
//!
//! Each case is a run of the real program in a bounded address space. It must end, in time, without a panic; what it
//! says is compared with a committed table. Where a run goes well all the same, tantivy's readers must find in the
//! children what they find in the damaged source, document by document: then it is another valid index, and nobody can
//! know that it was a different one before. `SHARDSPLIT_WRITE_TABLES=1` writes the tables anew.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::damage::{Checksum, Damage, Region, damaged};
use super::place::{IDS, Place, Ran, documents};
use crate::common::check;
use crate::common::content::Content;
use crate::common::routing::Routing;

/// A file to damage.
struct Victim {
    /// As tables name it.
    kind: &'static str,
    path: PathBuf,
    checksum: Checksum,
    /// A file of the same kind of another segment or child, and of another index.
    siblings: [(&'static str, PathBuf); 2],
}

/// One row of a table: how, and what came of it by region.
struct Row {
    kind: &'static str,
    how: String,
    checksum: &'static str,
    cells: Vec<String>,
}

/// Damages `victim` in every way and region; `judge` runs the program and says what came of it.
fn rows(victim: &Victim, judge: &dyn Fn(&str) -> String) -> Vec<Row> {
    let sound = fs::read(&victim.path).unwrap();
    let replaced = |bytes: &[u8], what: &str| {
        if bytes == sound {
            return "the same bytes".to_owned();
        }
        // Removed first: another name may stand for the same file.
        let put = |bytes: &[u8]| {
            fs::remove_file(&victim.path).unwrap();
            fs::write(&victim.path, bytes).unwrap();
        };
        put(bytes);
        let outcome = judge(what);
        put(&sound);
        outcome
    };
    let mut rows = Vec::new();
    let refits: &[bool] = if victim.checksum == Checksum::None { &[false] } else { &[false, true] };
    for damage in Damage::ALL {
        for &refit in refits {
            let checksum = match (victim.checksum, refit) {
                (Checksum::None, _) => "none",
                (_, false) => "stale",
                (_, true) => "fits",
            };
            let cell = |region: Region| {
                let what = format!("{}: {} at the {}, checksum {checksum}", victim.kind, damage.name(), region.name());
                replaced(&damaged(&sound, damage, region, victim.checksum, refit), &what)
            };
            let cells = Region::ALL.into_iter().map(cell).collect();
            rows.push(Row { kind: victim.kind, how: damage.name().to_owned(), checksum, cells });
        }
    }
    for (whose, path) in &victim.siblings {
        let what = format!("{}: {whose}", victim.kind);
        let cell = replaced(&fs::read(path).unwrap(), &what);
        rows.push(Row { kind: victim.kind, how: (*whose).to_owned(), checksum: "its own", cells: vec![cell] });
    }
    rows
}

/// Compares with the committed table, or writes it.
fn compare(name: &str, about: &str, rows: &[Row]) {
    let mut text = format!("{about}\n\n| file | damage | checksum |");
    Region::ALL.iter().for_each(|region| write!(text, " {} |", region.name()).unwrap());
    text.push_str("\n|---|---|---|---|---|---|---|---|\n");
    for Row { kind, how, checksum, cells } in rows {
        let mut cells = cells.clone();
        let same = cells.iter().all(|cell| *cell == cells[0]);
        if same {
            cells = vec![cells[0].clone(), "″".to_owned(), "″".to_owned(), "″".to_owned(), "″".to_owned()];
        }
        writeln!(text, "| {kind} | {how} | {checksum} | {} |", cells.join(" | ")).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lies").join(name);
    if std::env::var_os("SHARDSPLIT_WRITE_TABLES").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    let differs = text.lines().zip(committed.lines()).find(|(now, before)| now != before);
    assert!(text == committed, "{name} is not what is committed, first here: {differs:?}");
}

/// `refused` or `failed`, and the file that the message names, if it is not the one that was damaged.
fn ended(ran: &Ran, victim: &Path, what: &str) -> String {
    let word = match ran.code {
        1 => "failed",
        2 => "usage",
        3 => "not published",
        4 => "refused",
        code => panic!("{what}: exit code {code}: {}", ran.text),
    };
    let name = victim.file_name().unwrap().to_str().unwrap();
    let text = &ran.text;
    if text.contains(name) {
        return word.to_owned();
    }
    let stem = victim.file_stem().unwrap().to_str().unwrap().split('.').next().unwrap();
    let other = ["term", "idx", "pos", "fieldnorm", "fast", "store", "del"]
        .into_iter()
        .find(|extension| text.contains(&format!("{stem}.{extension}")) || text.contains(&format!(".{extension} is")));
    match other.or_else(|| text.contains(".hashes").then_some("hashes")) {
        Some(other) => format!("{word} (.{other})"),
        None => panic!("{what}: neither {name} nor another file is named: {text}"),
    }
}

const PARTS: [(&str, &str); 7] = [
    (".term", "term"),
    (".idx", "idx"),
    (".pos", "pos"),
    (".fieldnorm", "fieldnorm"),
    (".fast", "fast"),
    (".store", "store"),
    (".del", "del"),
];

fn find(dir: &Path, stem: &str, extension: &str) -> PathBuf {
    let mut found = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let wanted = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with(stem) && name.ends_with(&format!(".{extension}"))
    };
    found.find(wanted).unwrap_or_else(|| panic!("no {stem}*.{extension} in {}", dir.display()))
}

/// What a split of the damaged source comes to.
fn split(place: &Place, victim: &Path, what: &str) -> String {
    let out = place.path("out");
    let ran = place.run(&["split", "-i", "source", "--into", "2", "--key", "id", "--out", "out"]);
    if ran.code != 0 {
        assert!(!out.exists() && !place.path(".out.shardsplit").exists(), "{what}: something was left");
        return ended(&ran, victim, what);
    }
    // tantivy does not open an index whose list of managed files it cannot read; the split does without the list.
    let source = place.path(if victim.ends_with(".managed.json") { "sound" } else { "source" });
    let children = [0, 1].map(|shard: u32| out.join(shard.to_string()));
    let verdict = std::panic::catch_unwind(|| {
        let source = Content::read(&source, &["id"]);
        let children: Vec<(u32, Content)> =
            (0..).zip(&children).map(|(shard, dir)| (shard, Content::read(dir, &["id"]))).collect();
        check::differences(&source, &children, &Routing::by_key("id", 2))
    });
    let Ok(differences) = verdict else { panic!("{what}: split, but tantivy cannot read source or children") };
    let found = documents(&children).unwrap();
    // Where its planes contradict each other, the split goes by the column of keys, and the judge by what is stored.
    let by_column =
        differences.iter().all(|line| line.contains("lacks source document") || line.contains("should not be"))
            && !differences.is_empty()
            && Ok(&found) == documents(std::slice::from_ref(&source)).as_ref()
            && children.iter().zip(0..).all(|(dir, shard)| column_routes(dir, shard));
    fs::remove_dir_all(&out).unwrap();
    match (differences.is_empty(), found == place.documents) {
        (true, true) => "the same documents".to_owned(),
        (true, false) => "another valid index".to_owned(),
        (false, false) if by_column => "another valid index, by its column of keys".to_owned(),
        _ => panic!("{what}: split, but\n{}", differences.join("\n")),
    }
}

/// Whether the ids that the column of this child says belong there.
fn column_routes(dir: &Path, shard: u32) -> bool {
    let routing = Routing::by_key("id", 2);
    let index = tantivy::Index::open_in_dir(dir).unwrap();
    index.searchable_segments().unwrap().iter().all(|segment| {
        let reader = tantivy::SegmentReader::open(segment).unwrap();
        let column = reader.fast_fields().str("id").unwrap().unwrap();
        let mut id = String::new();
        reader.doc_ids_alive().all(|doc| {
            id.clear();
            let ord = column.term_ords(doc).next().unwrap();
            column.ord_to_str(ord, &mut id).unwrap() && routing.child(Some(&id), None) == Some(shard)
        })
    })
}

#[test]
fn a_source_that_lies_is_refused_fails_the_split_or_is_another_valid_index() {
    let place = Place::new();
    let dir = place.path("source");
    let mut table = Vec::new();
    for (kind, extension) in PARTS {
        let path = find(&dir, IDS[0], extension);
        // Only the first segment has deletes.
        let sibling = if extension == "del" { path.clone() } else { find(&dir, IDS[1], extension) };
        let other = find(&place.path("other"), IDS[0], extension);
        let siblings = [("another segment's", sibling), ("another index's", other)];
        let victim = Victim { kind, path: path.clone(), checksum: Checksum::Footer, siblings };
        table.extend(rows(&victim, &|what| split(&place, &path, what)));
    }
    for (kind, name) in [("meta.json", "meta.json"), (".managed.json", ".managed.json")] {
        let path = dir.join(name);
        let siblings =
            [("a child's", place.path("set/0").join(name)), ("another index's", place.path("other").join(name))];
        let victim = Victim { kind, path: path.clone(), checksum: Checksum::None, siblings };
        table.extend(rows(&victim, &|what| split(&place, &path, what)));
    }
    let about = "What comes of a split whose source was damaged before. *refused*: exit code 4, before anything was written; \
        *failed*: exit code 1; *not published*: exit code 3, by the verification before publishing; another file's extension where \
        the message names that one.";
    compare("source.md", about, &table);
}

/// What verification says of the damaged child.
fn verify(place: &Place, victim: &Path, what: &str) -> String {
    let ran = place.run(&["verify", "-i", "source", "--children", "set"]);
    match ran.code {
        0 => {
            let warned = ran.lines.iter().any(|line| {
                line["type"] == "finding" && line["grade"] == "warning" && line["file"].to_string().contains("set/0")
            });
            let found = documents(&[place.path("set/0"), place.path("set/1")]);
            assert_eq!(found.as_ref(), Ok(&place.documents), "{what}: clean, but tantivy does not find the documents");
            if warned { "a warning".to_owned() } else { "the same documents".to_owned() }
        }
        3 => {
            let name = victim.file_name().unwrap().to_str().unwrap();
            let errors: Vec<_> =
                ran.lines.iter().filter(|line| line["type"] == "finding" && line["grade"] == "error").collect();
            assert!(!errors.is_empty(), "{what}: {}", ran.text);
            let named = errors.iter().any(|line| line.to_string().contains(name));
            let mut kinds: Vec<&str> = errors.iter().filter_map(|line| line["kind"].as_str()).collect();
            kinds.sort_unstable();
            kinds.dedup();
            let more = if kinds.len() > 2 { ", …" } else { "" };
            kinds.truncate(2);
            let child = if named { "" } else { " (child)" };
            assert!(named || ran.text.contains("set/0") || ran.text.contains("\"shard\":0"), "{what}: {}", ran.text);
            format!("{}{more}{child}", kinds.join(", "))
        }
        _ => ended(&ran, victim, what),
    }
}

#[test]
fn a_child_that_lies_is_found_by_verification() {
    let place = Place::new();
    let child = place.path("set/0");
    let mut table = Vec::new();
    for (kind, extension) in &PARTS[..6] {
        let path = find(&child, "", extension);
        let siblings = [
            ("another child's", find(&place.path("set/1"), "", extension)),
            ("another index's", find(&place.path("other-set/0"), "", extension)),
        ];
        let victim = Victim { kind, path: path.clone(), checksum: Checksum::Footer, siblings };
        table.extend(rows(&victim, &|what| verify(&place, &path, what)));
    }
    for kind in ["meta.json", ".managed.json"] {
        let path = child.join(kind);
        let siblings = [
            ("another child's", place.path("set/1").join(kind)),
            ("another index's", place.path("other-set/0").join(kind)),
        ];
        let victim = Victim { kind, path: path.clone(), checksum: Checksum::None, siblings };
        table.extend(rows(&victim, &|what| verify(&place, &path, what)));
    }
    let about = "What `verify` says of children of which the first was damaged: kinds of the errors found, each of which names the \
        file; *(child)* where they name the child alone. *the same documents*: tantivy's readers find nothing changed either.";
    compare("children.md", about, &table);
}

/// What a run that reads one of our own files comes to.
fn record(place: &Place, args: &[&str], made: &str, victim: &Path, what: &str) -> String {
    let ran = place.run(args);
    let out = place.path(made);
    if ran.code != 0 {
        assert!(made.is_empty() || !out.exists(), "{what}: something was left");
        return ended(&ran, victim, what);
    }
    if made.is_empty() {
        return "the same documents".to_owned();
    }
    let mut shards: Vec<PathBuf> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path()).collect();
    shards.retain(|path| path.is_dir());
    let found = documents(&shards);
    fs::remove_dir_all(&out).unwrap();
    // A plan says what it is a plan of.
    if made == "planned" && found == documents(&[place.path("other")]) {
        return "another valid plan".to_owned();
    }
    assert_eq!(found.as_ref(), Ok(&place.documents), "{what}: a split of other documents");
    "the same documents".to_owned()
}

#[test]
fn our_own_files_that_lie_are_refused_or_ignored_and_never_lose_a_document() {
    let place = Place::new();
    let mut table = Vec::new();
    let mut add = |kind: &'static str, path: &str, checksum: Checksum, others: [&str; 2], args: &[&str], made: &str| {
        let path = place.path(path);
        let siblings = [("another child's", place.path(others[0])), ("another index's", place.path(others[1]))];
        let victim = Victim { kind, path: path.clone(), checksum, siblings };
        table.extend(rows(&victim, &|what| record(&place, args, made, &path, what)));
    };
    let verify = ["verify", "-i", "source", "--children", "set"];
    let manifests = ["set/shardsplit.json", "other-set/shardsplit.json"];
    add("set manifest", manifests[0], Checksum::None, ["set/0/shardsplit.json", manifests[1]], &verify, "");
    let manifests = ["set/1/shardsplit.json", "other-set/0/shardsplit.json"];
    add("child manifest", "set/0/shardsplit.json", Checksum::None, manifests, &verify, "");
    let twice = ["split", "-i", "set", "--into", "2", "--out", "out"];
    add(
        "routing.json",
        "set/routing.json",
        Checksum::None,
        ["set/shardsplit.json", "other-set/routing.json"],
        &twice,
        "out",
    );
    let name = |set: &str| {
        let path = find(&place.path(set), "", "hashes");
        path.strip_prefix(place.path("")).unwrap().to_str().unwrap().to_owned()
    };
    let [path, sibling, other] = ["set/0", "set/1", "other-set/0"].map(name);
    add("sidecar", &path, Checksum::Trailer, [&sibling, &other], &twice, "out");
    let run = ["split", "--plan", "plan.json"];
    add("saved plan", "plan.json", Checksum::None, ["set/shardsplit.json", "other-plan.json"], &run, "planned");
    let about = "What comes of a run that reads a damaged file of ours: `verify` with manifests, a split of the whole set with its \
        `routing.json` and hash sidecars, `split --plan` with a saved plan.";
    compare("records.md", about, &table);
}
