//! Making a new index directory the same every time: tantivy draws segment ids at random and lists them in no order.

use std::fs;
use std::path::Path;

/// Names the segments of an index 1, 2, 3, … from the largest down, lists them in that order, and removes the locks.
///
/// Nothing but `meta.json`, `.managed.json` and the names of files is touched. In `meta.json` only ids and the order of
/// segments change.
pub fn settle(dir: &Path) {
    for lock in [".tantivy-writer.lock", ".tantivy-meta.lock"] {
        let _ = fs::remove_file(dir.join(lock));
    }
    let meta = fs::read_to_string(dir.join("meta.json")).unwrap();
    let (head, rest) = meta.split_once("  \"segments\": [\n").unwrap();
    let (list, tail) = rest.split_once("\n  ],\n").unwrap();
    let list = format!("{list},");
    let mut segments: Vec<&str> = list.split_inclusive("\n    },").map(|segment| segment.trim_matches('\n')).collect();
    let max_doc = |segment: &str| after(segment, "\"max_doc\": ").parse::<u32>().unwrap();
    segments.sort_by_key(|segment| std::cmp::Reverse(max_doc(segment)));
    assert!(segments.is_sorted_by(|left, right| max_doc(left) > max_doc(right)), "segments of the same size");
    let mut meta = format!("{head}  \"segments\": [\n{}\n  ],\n{tail}", segments.join("\n"));
    meta = meta.replace("    },\n  ],", "    }\n  ],");

    let mut managed = fs::read_to_string(dir.join(".managed.json")).unwrap();
    for (number, segment) in (1u32..).zip(&segments) {
        let old = after(segment, "\"segment_id\": \"").to_owned();
        let new = format!("{number:08x}-0000-4000-8000-000000000000");
        let (old_name, new_name) = (old.replace('-', ""), new.replace('-', ""));
        meta = meta.replace(&old, &new);
        managed = managed.replace(&old_name, &new_name);
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if let Some(rest) = name.strip_prefix(&old_name) {
                fs::rename(&path, dir.join(format!("{new_name}{rest}"))).unwrap();
            }
        }
    }
    let mut names: Vec<String> = serde_json::from_str(&managed).unwrap();
    names.sort();
    for name in &names {
        assert!(dir.join(name).is_file(), "{name} is managed but does not exist");
    }
    for entry in fs::read_dir(dir).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == ".managed.json" || names.contains(&name), "{name} is not managed");
    }
    fs::write(dir.join("meta.json"), meta).unwrap();
    fs::write(dir.join(".managed.json"), serde_json::to_string(&names).unwrap() + "\n").unwrap();
}

/// What follows `key` in `text`, up to the next quote, comma or end of line.
fn after<'a>(text: &'a str, key: &str) -> &'a str {
    let rest = text.split_once(key).unwrap().1;
    rest.split(['"', ',', '\n']).next().unwrap()
}
