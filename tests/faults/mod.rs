//! Faults: of the file system, of the process, of what it is given to work with. `RELIABILITY.md` names these tests.

mod kills;
mod reliability;
mod resume;
mod starved;
mod steps;

use std::path::Path;

use crate::common::fixture::Fixture;

/// An index that keeps the program busy for some tenths of a second.
pub fn source(dir: &Path, batches: u32, docs: u32) {
    let mut fixture = Fixture::everything(batches, docs).delete_every(9);
    fixture.fields.truncate(8);
    fixture.build(dir);
}
