//! Manifests as bytes: distrusted when read. Their size is bounded, an unknown format or key is refused, a symbolic link
//! is not followed, and what parses is checked before anybody sees it.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::fs::{FileSystem, Kind, RealFs};
use super::layout::{MANIFEST, child_name};
use super::manifest::{Check, ChildManifest, FORMAT, SetManifest};
use crate::error::{Error, Result};
use crate::route::ShardNumber;
use crate::source::sidecar_segment;

/// Largest manifest that is read, in bytes: room for more than 100,000 segments.
const MAX_MANIFEST: u64 = 256 << 20;

/// Reads the manifest of a published set in `dir`.
///
/// # Errors
/// [`Error::Manifest`] if it is missing, too large, of another format or contradicts itself; [`Error::Io`].
pub fn read_set(dir: &Path) -> Result<SetManifest> {
    read(&RealFs, &dir.join(MANIFEST))
}

/// Reads the manifest of a child in `dir`.
///
/// # Errors
/// As [`read_set`].
pub fn read_child(dir: &Path) -> Result<ChildManifest> {
    read(&RealFs, &dir.join(MANIFEST))
}

/// The hash sidecars that the children `shards` of the set in `dir` were published with, as far as their manifests can
/// be read.
#[must_use]
pub fn published_sidecars(dir: &Path, shards: &[ShardNumber]) -> Vec<PathBuf> {
    let children = shards.iter().map(|&shard| dir.join(child_name(shard)));
    let manifests = children.filter_map(|child| Some((read_child(&child).ok()?, child)));
    let sidecars = manifests.flat_map(|(manifest, child)| {
        let names = manifest.files.into_iter().map(|file| file.name);
        let own = names.filter(|name| sidecar_segment(name).is_some());
        own.map(move |name| child.join(name)).collect::<Vec<_>>()
    });
    sidecars.collect()
}

pub(super) fn read<T: DeserializeOwned + Check>(fs: &dyn FileSystem, path: &Path) -> Result<T> {
    parse(path, &read_bytes(fs, path)?)
}

/// The bytes of a manifest; a symbolic link is not followed.
pub(super) fn read_bytes(fs: &dyn FileSystem, path: &Path) -> Result<Vec<u8>> {
    let refuse = |problem: String| Error::Manifest { path: path.to_path_buf(), problem };
    match fs.kind(path).map_err(Error::io("read", path))? {
        Some(Kind::File { len }) if len > MAX_MANIFEST => {
            return Err(refuse(format!("it has {len} bytes, and is larger than {MAX_MANIFEST}")));
        }
        Some(Kind::File { .. }) => {}
        Some(_) => return Err(refuse("it is not a regular file".to_owned())),
        None => return Err(refuse("it does not exist".to_owned())),
    }
    let mut bytes = Vec::new();
    // Bounded while it is read: the length that was seen may not be the length that is there.
    let file = fs.open(path).map_err(Error::io("open", path))?;
    let len = file.take(MAX_MANIFEST + 1).read_to_end(&mut bytes).map_err(Error::io("read", path))?;
    if len as u64 > MAX_MANIFEST {
        return Err(refuse(format!("it is larger than {MAX_MANIFEST} bytes")));
    }
    Ok(bytes)
}

pub(super) fn parse<T: DeserializeOwned + Check>(path: &Path, bytes: &[u8]) -> Result<T> {
    #[derive(Deserialize)]
    struct Version {
        format: u32,
        tool: String,
    }
    let refuse = |problem: String| Error::Manifest { path: path.to_path_buf(), problem };
    // The version first: a later format may not parse as this one, and the message should say why.
    let version: Version =
        serde_json::from_slice(bytes).map_err(|error| refuse(format!("it does not parse: {error}")))?;
    if version.format != FORMAT {
        let Version { format, tool } = version;
        return Err(refuse(format!("format {format} (written by {tool:?}) is not known here, format {FORMAT} is")));
    }
    let manifest: T = serde_json::from_slice(bytes).map_err(|error| refuse(format!("it does not parse: {error}")))?;
    manifest.check().map_err(refuse)?;
    Ok(manifest)
}

/// The bytes of a manifest that is to be written to `path`.
pub(super) fn to_bytes<T: Serialize>(path: &Path, manifest: &T) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(manifest)
        .map_err(|error| Error::Manifest { path: path.to_path_buf(), problem: error.to_string() })?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::manifest::{StagedChild, StagingRecord, tool};

    const ID: &str = "0123456789abcdef0123456789abcdef";

    fn record(children: Vec<StagedChild>) -> StagingRecord {
        StagingRecord { format: FORMAT, tool: tool(), job: None, children }
    }

    fn child(shard: u32, segments: &[&str]) -> StagedChild {
        StagedChild { shard, segments: segments.iter().map(|&id| id.to_owned()).collect() }
    }

    fn problem<T: std::fmt::Debug>(result: Result<T>) -> String {
        match result {
            Err(Error::Manifest { problem, .. }) => problem,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_was_written_is_read_back() {
        let path = Path::new("staging.json");
        let written = record(vec![child(0, &[ID]), child(7, &[])]);
        assert_eq!(parse::<StagingRecord>(path, &to_bytes(path, &written).unwrap()).unwrap(), written);
    }

    #[test]
    fn records_that_repeat_or_invent_names_are_refused() {
        let path = Path::new("staging.json");
        for (children, expected) in [
            (vec![child(1, &[]), child(1, &[])], "shard number 1 is there twice"),
            (vec![child(1, &[ID, ID])], "is there twice"),
            (vec![child(1, &["../../../../../../../../etc/passwd"])], "is not a segment id"),
            (vec![child(1, &[""])], "is not a segment id"),
            (vec![child(1, &["0123456789ABCDEF0123456789ABCDEF"])], "is not a segment id"),
        ] {
            let found = problem(parse::<StagingRecord>(path, &to_bytes(path, &record(children)).unwrap()));
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn unknown_formats_and_keys_are_refused_by_name() {
        let path = Path::new("staging.json");
        let later = format!(r#"{{"format":{},"tool":"shardsplit 99.0","more":[]}}"#, FORMAT + 1);
        let found = problem(parse::<StagingRecord>(path, later.as_bytes()));
        assert!(found.contains("format 2 (written by \"shardsplit 99.0\") is not known"), "{found}");
        let extra = format!(r#"{{"format":{FORMAT},"tool":"x","children":[],"more":1}}"#);
        assert!(problem(parse::<StagingRecord>(path, extra.as_bytes())).contains("unknown field `more`"));
        for shard in ["-1", "4294967296", "\"../0\"", "1.5", "null"] {
            let text = format!(r#"{{"format":{FORMAT},"tool":"x","children":[{{"shard":{shard},"segments":[]}}]}}"#);
            assert!(problem(parse::<StagingRecord>(path, text.as_bytes())).contains("does not parse"), "{shard}");
        }
        for bytes in [&b""[..], b"null", b"[]", b"{", b"{}", b"\xff"] {
            assert!(problem(parse::<StagingRecord>(path, bytes)).contains("does not parse"), "{bytes:?}");
        }
    }

    #[test]
    fn a_manifest_that_is_absent_huge_or_no_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(problem(read_set(dir.path())).contains("does not exist"));
        let path = dir.path().join(MANIFEST);
        std::fs::create_dir(&path).unwrap();
        assert!(problem(read_child(dir.path())).contains("not a regular file"));
        std::fs::remove_dir(&path).unwrap();
        // Sparse: takes no space, and must not be read whole.
        std::fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(problem(read_child(dir.path())).contains("larger than"));
    }
}
