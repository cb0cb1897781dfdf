//! Whatever stands in the files of a source, opening it gives a source or an error, never a panic.
//!
//! With a checksum that fits, damage reaches the parsers behind it; without, whatever opening lets pass must be found
//! by comparing checksums.

use std::fs;
use std::path::Path;

use crate::small_index::{EXTENSIONS, SmallIndex, seal, split};
use shardsplit::inspect::inspect;
use shardsplit::progress::{Cancel, Silent, Stage};

/// Opens the index and looks at everything that opening lets through; whether that went well.
fn survives(index: &SmallIndex) -> bool {
    index.open().and_then(|source| inspect(&source)).is_ok()
}

/// Positions in a body: its whole end, where tables and footers stand, and every so-manieth before.
fn positions(len: usize) -> impl Iterator<Item = usize> {
    let end = len.saturating_sub(160);
    let step = (end / 120).max(1);
    (0..end).step_by(step).chain(end..len)
}

fn with_file<T>(path: &Path, bytes: &[u8], look: impl FnOnce() -> T) -> T {
    let before = fs::read(path).unwrap();
    fs::write(path, bytes).unwrap();
    let seen = look();
    fs::write(path, before).unwrap();
    seen
}

#[test]
fn flipped_bytes_under_a_fitting_checksum_never_panic() {
    let index = SmallIndex::new();
    for extension in EXTENSIONS {
        let path = index.file(extension);
        let (body, footer) = split(&fs::read(&path).unwrap());
        let mut refused = 0;
        for at in positions(body.len()) {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = body.clone();
                damaged[at] ^= flip;
                refused += usize::from(!with_file(&path, &seal(&damaged, &footer), || survives(&index)));
            }
        }
        assert!(refused > 0, "no flip in .{extension} was noticed");
    }
    assert!(survives(&index), "the index is as it was");
}

#[test]
fn flipped_bytes_are_refused_or_found_by_their_checksum() {
    let index = SmallIndex::new();
    for extension in EXTENSIONS {
        let path = index.file(extension);
        let name = path.file_name().unwrap().to_str().unwrap();
        let file = fs::read(&path).unwrap();
        let body_len = split(&file).0.len();
        for at in positions(body_len) {
            let mut damaged = file.clone();
            damaged[at] ^= 0x10;
            with_file(&path, &damaged, || {
                let Ok(source) = index.open() else { return };
                let problems = source.check_checksums(3, Stage::Open, &Silent, &Cancel::new()).unwrap();
                let names: Vec<&str> = problems.iter().map(|problem| problem.file.as_str()).collect();
                assert_eq!(names, [name], "byte {at}");
                assert_ne!(problems[0].expected, problems[0].found);
            });
        }
    }
}

#[test]
fn flipped_bytes_in_footers_never_panic() {
    let index = SmallIndex::new();
    for extension in EXTENSIONS {
        let path = index.file(extension);
        let file = fs::read(&path).unwrap();
        for at in split(&file).0.len()..file.len() {
            for flip in [0x01, 0x10, 0x80] {
                let mut damaged = file.clone();
                damaged[at] ^= flip;
                with_file(&path, &damaged, || survives(&index));
            }
        }
    }
}

#[test]
fn cut_extended_and_emptied_bodies_are_refused_under_a_fitting_checksum() {
    let index = SmallIndex::new();
    for extension in EXTENSIONS {
        let path = index.file(extension);
        let (body, footer) = split(&fs::read(&path).unwrap());
        let cuts = positions(body.len()).map(|at| (format!("cut at {at}"), body[..at].to_vec()));
        let zeroed = (format!("{} zeros", body.len()), vec![0; body.len()]);
        let longer = ("one byte more".to_owned(), [&body[..], &[0]].concat());
        for (what, damaged) in cuts.chain([zeroed, longer]) {
            let survived = with_file(&path, &seal(&damaged, &footer), || survives(&index));
            assert!(!survived, ".{extension}, {what}");
        }
    }
}

#[test]
fn zeroed_and_garbled_stretches_never_panic() {
    let index = SmallIndex::new();
    for extension in EXTENSIONS {
        let path = index.file(extension);
        let (body, footer) = split(&fs::read(&path).unwrap());
        for stretch in 0..16 {
            let range = body.len() * stretch / 16..body.len() * (stretch + 1) / 16;
            for fill in [0x00, 0x7f, 0xff] {
                let mut damaged = body.clone();
                damaged[range.clone()].fill(fill);
                with_file(&path, &seal(&damaged, &footer), || survives(&index));
                with_file(&path, &damaged, || survives(&index));
            }
        }
    }
}

#[test]
fn damaged_meta_json_never_panics() {
    let index = SmallIndex::new();
    let path = index.dir().join("meta.json");
    let text = fs::read(&path).unwrap();
    for at in 0..text.len() {
        for byte in [b'9', b'"', b'}', 0xff] {
            let mut damaged = text.clone();
            damaged[at] = byte;
            with_file(&path, &damaged, || survives(&index));
        }
        assert!(at + 2 > text.len() || !with_file(&path, &text[..at], || survives(&index)), "cut at {at}");
    }
}

#[test]
fn a_check_that_is_cancelled_stops() {
    let index = SmallIndex::new();
    let cancel = Cancel::new();
    cancel.cancel();
    let result = index.open().unwrap().check_checksums(2, Stage::Open, &Silent, &cancel);
    assert!(matches!(result, Err(shardsplit::Error::Interrupted)));
}
