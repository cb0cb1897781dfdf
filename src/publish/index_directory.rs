//! An index directory: a routing file, and beside it an index for every shard of it.
//!
//! Input: a directory. Output: an [`IndexDirectory`] whose shards are all there and are no more than the routing file
//! says, or the reason why not. Shards may be symbolic links to directories elsewhere. What else stands there is left
//! alone and noted. Nothing is opened but the routing file.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::fs::RealFs;
use super::layout::{MANIFEST, META, ROUTING, child_name, shard_of};
use super::routing_file::{RoutingFile, is_unrouted, read_routing};
use crate::error::{Error, Result};
use crate::route::ShardNumber;

/// How many names a message carries.
const NAMED: usize = 5;

/// A directory of shards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexDirectory {
    path: PathBuf,
    routing: RoutingFile,
    notes: Vec<String>,
}

impl IndexDirectory {
    /// Looks at `path`; `None` if it is no index directory: it has no routing file, or is itself an index of tantivy's.
    ///
    /// # Errors
    /// [`Error::IndexDirectory`] if the routing file cannot be used, a shard is missing, or there is one too many;
    /// [`Error::Unreadable`].
    pub fn open(path: &Path) -> Result<Option<IndexDirectory>> {
        if path.join(META).symlink_metadata().is_ok() {
            return Ok(None);
        }
        let Some(routing) = read_routing(&RealFs, path)? else { return Ok(None) };
        let number_of_shards = routing.routing().number_of_shards;
        let unreadable = |source| Error::Unreadable { operation: "list", path: path.to_path_buf(), source };
        let (mut beyond, mut strange) = (Vec::new(), Vec::new());
        for entry in std::fs::read_dir(path).map_err(unreadable)? {
            let name = entry.map_err(unreadable)?.file_name();
            let name = name.to_string_lossy();
            match shard_of(&name) {
                Some(shard) if shard < number_of_shards => {}
                Some(shard) => beyond.push(shard),
                None if name == ROUTING || name == MANIFEST => {}
                None => strange.push(name.into_owned()),
            }
        }
        let mut missing = Vec::new();
        for shard in 0..number_of_shards {
            match std::fs::metadata(path.join(child_name(shard))) {
                Ok(metadata) if metadata.is_dir() => {}
                Ok(_) => missing.push(shard),
                Err(error) if error.kind() == ErrorKind::NotFound => missing.push(shard),
                Err(error) => return Err(unreadable(error)),
            }
        }
        let refuse = |problem: String| Error::IndexDirectory { path: path.to_path_buf(), problem };
        if !missing.is_empty() {
            return Err(refuse(format!(
                "{ROUTING} says that the index has {number_of_shards} shards, and directories of {} are not there: {}; put \
                 them there",
                missing.len(),
                names(missing.iter())
            )));
        }
        if !beyond.is_empty() {
            beyond.sort_unstable();
            return Err(refuse(format!(
                "{ROUTING} says that the index has {number_of_shards} shards, 0 to {}, and there is also {}; is it the \
                 routing file of this index?",
                number_of_shards - 1,
                names(beyond.iter())
            )));
        }
        let mut notes = Vec::new();
        if !strange.is_empty() {
            strange.sort();
            let strange = names(strange.iter());
            notes.push(format!("{} also holds {strange}, which no shard is and which is left alone", path.display()));
        }
        Ok(Some(IndexDirectory { path: path.to_path_buf(), routing, notes }))
    }

    /// The directory, as given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How its documents are routed.
    #[must_use]
    pub fn routing(&self) -> &RoutingFile {
        &self.routing
    }

    /// The directory of a shard.
    #[must_use]
    pub fn shard(&self, shard: ShardNumber) -> PathBuf {
        self.path.join(child_name(shard))
    }

    /// What an operator should know: names that are no shards.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// The index directory of which `dir` is a shard, with its routing file and the number of the shard; `None` if `dir`
/// stands in none.
///
/// # Errors
/// [`Error::IndexDirectory`] if the routing file beside it cannot be used; [`Error::Unreadable`].
pub fn index_of_shard(dir: &Path) -> Result<Option<(PathBuf, RoutingFile, ShardNumber)>> {
    // `.` and `x/..` have no name of their own. Where the path leads nowhere, opening it says so better.
    let Ok(real) = std::fs::canonicalize(dir) else { return Ok(None) };
    let shard = real.file_name().and_then(|name| name.to_str()).and_then(shard_of);
    let (Some(shard), Some(parent)) = (shard, real.parent()) else { return Ok(None) };
    if is_unrouted(&RealFs, parent)? {
        return Ok(None);
    }
    let Some(routing) = read_routing(&RealFs, parent)? else { return Ok(None) };
    Ok((shard < routing.routing().number_of_shards).then(|| (parent.to_path_buf(), routing, shard)))
}

/// The first of `names`, in words.
fn names<T: ToString>(names: impl ExactSizeIterator<Item = T>) -> String {
    let more = names.len() > NAMED;
    let shown: Vec<String> = names.take(NAMED).map(|name| name.to_string()).collect();
    format!("{}{}", shown.join(", "), if more { ", …" } else { "" })
}
