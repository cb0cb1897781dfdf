//! Sizes of children by writing them to nowhere.
//!
//! Small indexes are mostly what a sample cannot see: dictionaries of few terms, headers, blocks that are not full. Writing
//! them takes no longer than planning a large one, and gives every byte. Cost: the time of the rewrite, for sources up to
//! [`REHEARSED`] bytes; memory: that of the rewrite, and a copy of the routing hashes.

use std::io::{self, Write};

use crate::error::Result;
use crate::partition::{DocMap, Group};
use crate::progress::{Cancel, Silent};
use crate::route::ShardNumber;
use crate::source::{Source, guard};
use crate::write::{ChildFiles, OutputFile, WrittenSegment, rewrite};

/// Largest source that is written for practice, in bytes.
pub(super) const REHEARSED: u64 = 8 << 20;

/// Bytes per child of a rewrite, exactly.
pub(super) fn rehearse(source: &Source, map: &DocMap, shards: &[ShardNumber]) -> Result<Vec<u64>> {
    let hashes: Vec<_> = map.groups.iter().map(Group::copy_hashes).collect();
    let written =
        guard(source.dir(), "the index", || rewrite(source, map, shards, &Nowhere, 1, &Silent, &Cancel::new()));
    // The real writing needs them, whatever came of this.
    for (group, hashes) in map.groups.iter().zip(hashes) {
        group.return_hashes(hashes);
    }
    let mut children = vec![0; map.num_children];
    for segment in written?.segments {
        if let Some(child) = children.get_mut(segment.child) {
            *child += WrittenSegment::all_files(&segment).map(|file| file.len).sum::<u64>();
        }
    }
    Ok(children)
}

/// Takes every file and keeps none.
struct Nowhere;

impl ChildFiles for Nowhere {
    fn create(&self, _child: usize, _name: &str) -> Result<Box<dyn OutputFile>> {
        Ok(Box::new(Nowhere))
    }
}

impl Write for Nowhere {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl OutputFile for Nowhere {
    fn patch(&mut self, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}
