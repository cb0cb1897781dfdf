//! Makes the index bundled in `data/library`: `cargo run --example generate-data -- NEW_DIRECTORY`.
//!
//! The documents are the same every time; the segment ids, which tantivy draws, are not. So the committed files stay as
//! they are until the generator changes, and `tests/data.rs` compares their content with the generator's documents.

#[path = "../benches/corpus/mod.rs"]
mod corpus;

use std::path::PathBuf;
use std::process::ExitCode;

/// Segments of the bundled index.
const SEGMENTS: u64 = 3;
/// Every so many documents one is deleted.
const DELETE_EVERY: u64 = 40;

fn main() -> ExitCode {
    let Some(dir) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: generate-data NEW_DIRECTORY");
        return ExitCode::from(2);
    };
    if let Err(error) = std::fs::create_dir(&dir) {
        eprintln!("cannot create {}: {error}", dir.display());
        return ExitCode::FAILURE;
    }
    corpus::write(&dir, &corpus::Shape::library(), SEGMENTS, Some(DELETE_EVERY));
    // Locks are no part of an index.
    for lock in [".tantivy-writer.lock", ".tantivy-meta.lock"] {
        let _ = std::fs::remove_file(dir.join(lock));
    }
    println!("{} documents in {}", corpus::Shape::library().docs, dir.display());
    ExitCode::SUCCESS
}
