//! Entrances for fuzzing: see [`crate::fuzz`].

#![expect(clippy::expect_used, reason = "a target tells what it found by failing")]

use std::path::{Component, Path};

use super::layout::{child_name, is_child_file};
use super::manifest::{ChildManifest, SetManifest, StagingRecord};
use super::manifest_file::{parse, to_bytes};
use super::routing_file::RoutingFile;
use super::unrouted_file::UnroutedFile;

/// A manifest of a set or a child, or a staging record: it can name nothing outside its directory, and what was read
/// is read again as the same.
pub fn manifests(bytes: &[u8]) {
    let path = Path::new("shardsplit.json");
    if let Ok(set) = parse::<SetManifest>(path, bytes) {
        plain(&set.routing_file.name);
        set.children.iter().for_each(|child| plain(&child.manifest.name));
        assert_eq!(parse::<SetManifest>(path, &to_bytes(path, &set).expect("plain data")).ok(), Some(set));
    }
    if let Ok(child) = parse::<ChildManifest>(path, bytes) {
        child.files.iter().for_each(|file| plain(&file.name));
        assert_eq!(parse::<ChildManifest>(path, &to_bytes(path, &child).expect("plain data")).ok(), Some(child));
    }
    if let Ok(record) = parse::<StagingRecord>(path, bytes) {
        for child in &record.children {
            plain(&child_name(child.shard));
            child.segments.iter().for_each(|id| plain(id));
            assert!(!is_child_file("../meta.json", &child.segments));
        }
    }
}

/// `routing.json`.
pub fn routing(bytes: &[u8]) {
    if let Some(file) = UnroutedFile::parse(bytes) {
        let _ = file.placement().number_of_shards();
        let _ = file.problem();
    }
    let Ok(file) = RoutingFile::parse(bytes) else { return };
    let shards = file.shards();
    assert!(!shards.is_empty() && shards.is_sorted());
    shards.iter().take(3).for_each(|&shard| plain(&child_name(shard)));
    let router = file.router().expect("the numbers of a file that was read fit");
    for hash in [i32::MIN, -1, 0, 1, i32::MAX] {
        assert!(shards.binary_search(&router.shard(hash, 0)).is_ok(), "hash {hash} leads to no shard");
    }
    let again = file.to_bytes(Path::new("routing.json")).expect("plain data");
    assert_eq!(RoutingFile::parse(&again).as_ref(), Ok(&file));
}

/// One name of a directory, and no way out of it.
fn plain(name: &str) {
    let mut parts = Path::new(name).components();
    assert!(matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)), "{name:?}");
}
