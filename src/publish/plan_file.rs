//! Files that somebody named, saved plans and tables: written whole or not at all, in nothing's place. Plans are
//! distrusted when read.

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use super::fs::{FileSystem, Kind};
use super::layout::PARTIAL;
use crate::error::{Error, Result};

/// Largest plan that is read, in bytes.
const MAX_LEN: u64 = 256 << 20;

/// Writes a plan to `path`, where nothing may stand.
///
/// # Errors
/// [`Error::PlanFile`] if something stands there; [`Error::Io`].
pub fn write_plan_file(fs: &dyn FileSystem, path: &Path, bytes: &[u8]) -> Result<()> {
    let refuse = |problem: &str| Error::PlanFile { path: path.to_path_buf(), problem: problem.to_owned() };
    let Some(name) = path.file_name() else { return Err(refuse("it names no file")) };
    write_absent(fs, path, name, bytes, || refuse("something stands there already; a plan replaces nothing"))
}

/// Writes a table to `path`, where nothing may stand.
///
/// # Errors
/// [`Error::TargetExists`]; [`Error::Usage`] if `path` names no file; [`Error::Io`].
pub fn write_table_file(fs: &dyn FileSystem, path: &Path, bytes: &[u8]) -> Result<()> {
    let Some(name) = path.file_name() else {
        return Err(Error::Usage(format!("--out {} names no file that could be made", path.display())));
    };
    write_absent(fs, path, name, bytes, || Error::TargetExists { path: path.to_path_buf() })
}

/// `taken`: the error if something stands there.
fn write_absent(fs: &dyn FileSystem, path: &Path, name: &OsStr, bytes: &[u8], taken: impl Fn() -> Error) -> Result<()> {
    if fs.kind(path).map_err(Error::io("look at", path))?.is_some() {
        return Err(taken());
    }
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(PARTIAL);
    let hidden = path.with_file_name(hidden);
    let mut file = fs.create(&hidden).map_err(Error::io("create", &hidden))?;
    let written = file.write_all(bytes).map_err(Error::io("write", &hidden));
    let written = written.and_then(|()| file.close().map_err(Error::io("sync", &hidden)));
    // CRASH: a hidden file beside it, which the next run asks to be removed.
    let renamed = written.and_then(|()| match fs.rename_noreplace(&hidden, path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(taken()),
        other => other.map_err(Error::io("create", path)),
    });
    if renamed.is_err() {
        // What is left of it is of no use; that it could not be removed would not be the first thing to know.
        let _ = fs.remove_file(&hidden);
    }
    renamed
}

/// Reads a plan. A symbolic link is not followed.
///
/// # Errors
/// [`Error::PlanFile`] if it is absent, no regular file or too large; [`Error::Io`].
pub fn read_plan_file(fs: &dyn FileSystem, path: &Path) -> Result<Vec<u8>> {
    let refuse = |problem: String| Error::PlanFile { path: path.to_path_buf(), problem };
    match fs.kind(path).map_err(Error::io("look at", path))? {
        Some(Kind::File { len }) if len > MAX_LEN => {
            return Err(refuse(format!("it has {len} bytes, and plans have at most {MAX_LEN}")));
        }
        Some(Kind::File { .. }) => {}
        Some(_) => return Err(refuse("it is not a regular file".to_owned())),
        None => return Err(refuse("it does not exist".to_owned())),
    }
    let mut bytes = Vec::new();
    let file = fs.open(path).map_err(Error::io("open", path))?;
    let len = file.take(MAX_LEN + 1).read_to_end(&mut bytes).map_err(Error::io("read", path))?;
    if len as u64 > MAX_LEN { Err(refuse(format!("it is larger than {MAX_LEN} bytes"))) } else { Ok(bytes) }
}
