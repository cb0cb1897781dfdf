//! Opening what must be a regular file: a pipe under its name would be waited for, a device would not end.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Opens `path` for reading; symbolic links are followed. Nobody waits for whatever is not a regular file.
pub(crate) fn open_regular(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    dont_wait(&mut options);
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

/// The bytes of `path`, as [`open_regular`] opens it.
pub(crate) fn read_regular(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens the lock file `path` for writing and makes it if it is not there, never behind a symbolic link: that could lie
/// anywhere.
pub(super) fn open_lock(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    dont_follow(&mut options);
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

fn not_regular() -> Error {
    Error::new(ErrorKind::InvalidInput, "it is not a regular file")
}

#[cfg(unix)]
fn dont_wait(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags(flags(rustix::fs::OFlags::NONBLOCK));
}

#[cfg(unix)]
fn dont_follow(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags(flags(rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW));
}

#[cfg(unix)]
fn flags(flags: rustix::fs::OFlags) -> i32 {
    flags.bits().cast_signed()
}

#[cfg(not(unix))]
fn dont_wait(_options: &mut OpenOptions) {}

#[cfg(not(unix))]
fn dont_follow(_options: &mut OpenOptions) {}
