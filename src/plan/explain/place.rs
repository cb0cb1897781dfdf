//! The file systems of source and target. Nothing is written to find out.

use std::path::Path;

use serde::Serialize;

/// What the file systems say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Whether source and target are on one file system, which hard links need; `None` if that could not be told. One
    /// that cannot link at all is found out by the run, which then copies.
    pub same_file_system: Option<bool>,
    /// Bytes that are free for this user where the children will be; `None` if that could not be told.
    pub free_bytes: Option<u64>,
}

/// Looks at the file systems of `source` and of the directory that is to hold the target.
pub(crate) fn look(source: &Path, parent: &Path) -> Place {
    Place {
        same_file_system: device(source).zip(device(parent)).map(|(left, right)| left == right),
        free_bytes: free(parent),
    }
}

#[cfg(unix)]
fn device(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|metadata| metadata.dev())
}

#[cfg(not(unix))]
fn device(_path: &Path) -> Option<u64> {
    None
}

#[cfg(unix)]
fn free(path: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(path).ok()?;
    stat.f_bavail.checked_mul(stat.f_frsize)
}

#[cfg(not(unix))]
fn free(_path: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_directory_is_on_one_file_system_and_what_is_absent_tells_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let place = look(dir.path(), dir.path());
        assert_eq!(place.same_file_system, cfg!(unix).then_some(true));
        assert_eq!(place.free_bytes.is_some(), cfg!(unix));
        assert_eq!(look(&dir.path().join("x"), dir.path()).same_file_system, None);
    }
}
