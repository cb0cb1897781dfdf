//! The operating system's file system: where effects reach the disk.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;

use super::{Access, FileSystem, Kind, Lock};
use crate::write::{OutputFile, SyncBehind};

/// Files that are synced at once.
const SYNC_THREADS: usize = 16;

/// The operating system's file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFs;

impl FileSystem for RealFs {
    fn create_dir(&self, path: &Path, access: Access) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt;
            match access {
                Access::Umask => {}
                Access::Within(mode) => drop(builder.mode(0o700 | mode & 0o077)),
                Access::Owner => drop(builder.mode(0o700)),
            }
        }
        #[cfg(not(unix))]
        let _ = (access, &mut builder);
        builder.create(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn OutputFile>> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        Ok(Box::new(NewFile(file)))
    }

    fn sync_files(&self, paths: &[PathBuf]) -> io::Result<()> {
        // A journal commits what many wait for at once: 16 waiting threads take little longer than one.
        let next = AtomicUsize::new(0);
        let sync = || {
            while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                OpenOptions::new().write(true).open(path)?.sync_data()?;
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..SYNC_THREADS.min(paths.len())).map(|_| scope.spawn(sync)).collect();
            let join = |thread: ScopedJoinHandle<'_, io::Result<()>>| {
                thread.join().unwrap_or_else(|_| Err(io::Error::other("a syncing thread panicked")))
            };
            // Every thread is waited for; the first error is the one that is told.
            threads.into_iter().map(join).fold(Ok(()), Result::and)
        })
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
    }

    fn rename_noreplace(&self, from: &Path, to: &Path) -> io::Result<()> {
        rename_noreplace(from, to)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        // link(2) would give the symbolic link itself a second name, and a relative one would lead nowhere from there.
        if fs::symlink_metadata(from)?.is_symlink() {
            fs::hard_link(fs::canonicalize(from)?, to)
        } else {
            fs::hard_link(from, to)
        }
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        Ok(Box::new(File::open(path)?))
    }

    #[cfg(unix)]
    fn is_own(&self, path: &Path, permissions: u32) -> io::Result<bool> {
        use std::os::unix::fs::MetadataExt;
        let meta = fs::symlink_metadata(path)?;
        Ok(meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o077 & permissions == 0)
    }

    #[cfg(not(unix))]
    fn is_own(&self, path: &Path, _permissions: u32) -> io::Result<bool> {
        Ok(fs::symlink_metadata(path)?.is_dir())
    }

    #[cfg(unix)]
    fn free_bytes(&self, path: &Path) -> io::Result<Option<u64>> {
        let space = rustix::fs::statvfs(path)?;
        Ok(Some(space.f_bavail.saturating_mul(space.f_frsize)))
    }

    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        match fs::symlink_metadata(path) {
            Ok(meta) if meta.is_file() => Ok(Some(Kind::File { len: meta.len() })),
            Ok(meta) if meta.is_dir() => Ok(Some(Kind::Directory)),
            Ok(_) => Ok(Some(Kind::Other)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let mut names = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
        names.sort();
        Ok(names)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        let file = open_lock(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Between opening and locking, the former owner may have removed the file and a new run made another: a lock
        // on the removed one excludes nobody.
        if same_file(&file, path)? { Ok(Some(Lock { _file: file })) } else { Ok(None) }
    }
}

/// `renameat2` with `RENAME_NOREPLACE`, or macOS's `renameatx_np` with `RENAME_EXCL`: check and rename are one step.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "macos"))]
fn rename_noreplace(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // File systems that do not know the flag answer one of these (NFS, some FUSE).
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => check_then_rename(from, to),
        other => other.map_err(io::Error::from),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "macos")))]
fn rename_noreplace(from: &Path, to: &Path) -> io::Result<()> {
    check_then_rename(from, to)
}

/// Where the system cannot do both at once. Between check and rename another process could still make `to`: a file or
/// a directory with anything in it makes renaming a directory fail all the same; only an empty directory would be
/// replaced.
fn check_then_rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::symlink_metadata(to) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::rename(from, to),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn open_lock(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(open(path, flags, Mode::RUSR | Mode::WUSR)?))
}

#[cfg(not(unix))]
fn open_lock(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

#[cfg(unix)]
fn same_file(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let held = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (held.dev(), held.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn same_file(_file: &File, _path: &Path) -> io::Result<bool> {
    // A file that is open cannot be removed there.
    Ok(true)
}

/// A file that [`RealFs`] created.
struct NewFile(File);

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl OutputFile for NewFile {
    fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(offset))?;
        self.0.write_all(bytes)?;
        self.0.seek(SeekFrom::End(0))?;
        Ok(())
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        self.0.sync_data()
    }

    fn sync_behind(&self) -> Option<SyncBehind> {
        let file = self.0.try_clone().ok()?;
        Some(Box::new(move || file.sync_data()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_exists_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("file"), b"kept").unwrap();
        fs::create_dir(path("empty")).unwrap();
        fs::create_dir(path("other")).unwrap();
        let taken = |result: io::Result<()>| assert_eq!(result.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        taken(RealFs.create(&path("file")).map(drop));
        taken(RealFs.rename_noreplace(&path("other"), &path("empty")));
        taken(RealFs.rename_noreplace(&path("other"), &path("file")));
        taken(check_then_rename(&path("other"), &path("empty")));
        taken(RealFs.hard_link(&path("file"), &path("empty")));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("nowhere", path("dangling")).unwrap();
            taken(RealFs.rename_noreplace(&path("other"), &path("dangling")));
            taken(RealFs.create(&path("dangling")).map(drop));
        }
        assert_eq!(fs::read(path("file")).unwrap(), b"kept");
        assert!(path("other").is_dir());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_symbolic_link_shares_the_file_it_leads_to() {
        use std::os::unix::fs::{MetadataExt, symlink};
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("deep")).unwrap();
        fs::write(path("deep/file"), b"bytes").unwrap();
        symlink("deep/file", path("alias")).unwrap();
        RealFs.hard_link(&path("alias"), &path("deep/linked")).unwrap();
        let ino = |name: &str| fs::symlink_metadata(path(name)).unwrap().ino();
        assert_eq!(ino("deep/linked"), ino("deep/file"));
    }

    #[test]
    fn a_lock_excludes_until_it_is_dropped_and_a_removed_lock_file_excludes_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = RealFs.lock(&path).unwrap();
        assert!(held.is_some());
        assert!(RealFs.lock(&path).unwrap().is_none());
        fs::remove_file(&path).unwrap();
        let second = RealFs.lock(&path).unwrap();
        assert!(second.is_some(), "a new file under the old name is free");
        drop((held, second));
        assert!(RealFs.lock(&path).unwrap().is_some());
    }

    #[test]
    fn a_patch_leaves_the_end_where_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let mut file = RealFs.create(&path).unwrap();
        file.write_all(b"0123456789").unwrap();
        file.patch(2, b"ab").unwrap();
        file.write_all(b"end").unwrap();
        file.close().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"01ab456789end");
    }
}
