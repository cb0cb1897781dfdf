//! Manifests as bytes: distrusted when read. Their size is bounded, an unknown format or key is refused, a symbolic link
//! is not followed, and what parses is checked before anybody sees it.

use std::io::Read;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::fs::{FileSystem, Kind, RealFs};
use super::layout::MANIFEST;
use super::manifest::{Check, ChildManifest, FORMAT, SetManifest};
use crate::error::{Error, Result};

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

pub(super) fn read<T: DeserializeOwned + Check>(fs: &dyn FileSystem, path: &Path) -> Result<T> {
    parse(path, &read_bytes(fs, path)?)
}

/// The bytes of a manifest; a symbolic link is not followed.
pub(super) fn read_bytes(fs: &dyn FileSystem, path: &Path) -> Result<Vec<u8>> {
    let refuse = |problem: String| Error::Manifest { path: path.to_path_buf(), problem };
    match fs.kind(path).map_err(Error::io("read", path))? {
        Some(Kind::File { .. }) => {}
        Some(_) => return Err(refuse("it is not a regular file".to_owned())),
        None => return Err(refuse("it does not exist".to_owned())),
    }
    let mut bytes = Vec::new();
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
