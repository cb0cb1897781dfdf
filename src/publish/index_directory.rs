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
        let shards = routing.shards();
        let number_of_shards = shards.len();
        let unreadable = |source| Error::Unreadable { operation: "list", path: path.to_path_buf(), source };
        let (mut beyond, mut strange) = (Vec::new(), Vec::new());
        for entry in std::fs::read_dir(path).map_err(unreadable)? {
            let name = entry.map_err(unreadable)?.file_name();
            let name = name.to_string_lossy();
            match shard_of(&name) {
                Some(shard) if shards.binary_search(&shard).is_ok() => {}
                Some(shard) => beyond.push(shard),
                None if name == ROUTING || name == MANIFEST => {}
                None => strange.push(name.into_owned()),
            }
        }
        let mut missing = Vec::new();
        for &shard in &shards {
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
                "{ROUTING} says that the index has {number_of_shards} shards, {} to {}, and there is also {}; is it the \
                 routing file of this index?",
                shards.first().copied().unwrap_or_default(),
                shards.last().copied().unwrap_or_default(),
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
    // As it was named, since a shard may be a symbolic link; and as it really stands, since `.` has no name of its own.
    let places = [std::path::absolute(dir).ok(), std::fs::canonicalize(dir).ok()];
    for place in places.into_iter().flatten() {
        let shard = place.file_name().and_then(|name| name.to_str()).and_then(shard_of);
        let (Some(shard), Some(parent)) = (shard, place.parent()) else { continue };
        if is_unrouted(&RealFs, parent)? {
            continue;
        }
        let Some(routing) = read_routing(&RealFs, parent)? else { continue };
        if routing.shards().binary_search(&shard).is_ok() {
            return Ok(Some((parent.to_path_buf(), routing, shard)));
        }
    }
    Ok(None)
}

/// The first of `names`, in words.
fn names<T: ToString>(names: impl ExactSizeIterator<Item = T>) -> String {
    let more = names.len() > NAMED;
    let shown: Vec<String> = names.take(NAMED).map(|name| name.to_string()).collect();
    format!("{}{}", shown.join(", "), if more { ", …" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{"format":1,"routing":"elasticsearch-modulo","number_of_shards":2,"number_of_routing_shards":null,
        "routing_partition_size":1,"key":"id","routing_field":null}"#;

    #[test]
    fn a_shard_is_known_by_its_number_beside_a_routing_file_even_behind_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in ["index/0", "index/2", "elsewhere", "plain/1"] {
            std::fs::create_dir_all(path(name)).unwrap();
        }
        std::fs::write(path("index/routing.json"), FILE).unwrap();
        let found = |name: &str| index_of_shard(&path(name)).unwrap().map(|(index, _, shard)| (index, shard));
        assert_eq!(found("index/0"), Some((path("index"), 0)));
        assert_eq!(found("index/2").map(|(_, shard)| shard), None, "the index has two shards");
        for name in ["index", "plain/1", "elsewhere", "nowhere/1"] {
            assert_eq!(found(name), None, "{name}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(path("elsewhere"), path("index/1")).unwrap();
            assert_eq!(found("index/1"), Some((path("index"), 1)));
            std::os::unix::fs::symlink(path("index/0"), path("alias")).unwrap();
            assert_eq!(found("alias").map(|(_, shard)| shard), Some(0));
        }
    }

    #[test]
    fn an_index_of_tantivys_is_no_index_directory() {
        let dir = tempfile::tempdir().unwrap();
        for shard in ["0", "1"] {
            std::fs::create_dir(dir.path().join(shard)).unwrap();
        }
        std::fs::write(dir.path().join(ROUTING), FILE).unwrap();
        let directory = IndexDirectory::open(dir.path()).unwrap().unwrap();
        assert_eq!((directory.shard(1), directory.notes().len()), (dir.path().join("1"), 0));
        std::fs::write(dir.path().join(META), "{}").unwrap();
        assert!(IndexDirectory::open(dir.path()).unwrap().is_none());
    }
}
