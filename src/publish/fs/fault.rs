//! A file system that fails or stops at a chosen step, for tests of ours and of embedders.
//!
//! A step is an operation that changes something or makes it durable; reads are not counted. Operations reach the real
//! file system below, except that nothing is really synced: instead, what was not yet "synced" is remembered, and
//! [`FaultyFs::lose_power`] takes it away again. Removals count as durable at once.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Access, FileSystem, Kind, Lock, RealFs};
use crate::write::OutputFile;

/// What happens at the chosen step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This operation fails, as on a full disk; later ones work.
    Fail,
    /// This operation and all later ones fail, reads too, as if the process had been killed before it; a write gets
    /// half its bytes through.
    Stop,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct FaultyFs {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Step (counted from 0) and what happens there.
    fault: Option<(usize, Fault)>,
    steps: Vec<String>,
    stopped: bool,
    /// Files with bytes that are not durable.
    files: BTreeSet<PathBuf>,
    /// Names that are not durable, by directory.
    names: BTreeMap<PathBuf, BTreeSet<OsString>>,
    /// Renames of durable names that are not durable, from and to.
    renames: Vec<(PathBuf, PathBuf)>,
}

impl State {
    fn step(&mut self, step: String) -> io::Result<()> {
        let number = self.steps.len();
        self.reachable()?;
        self.steps.push(step.clone());
        match self.fault {
            Some((at, fault)) if at == number => {
                self.stopped = fault == Fault::Stop;
                Err(io::Error::other(format!("injected at step {number}: {step}")))
            }
            _ => Ok(()),
        }
    }

    fn reachable(&self) -> io::Result<()> {
        if self.stopped { Err(io::Error::other("stopped by an injected fault")) } else { Ok(()) }
    }

    fn named(&mut self, path: &Path) {
        if let (Some(dir), Some(name)) = (path.parent(), path.file_name()) {
            self.names.entry(dir.to_path_buf()).or_default().insert(name.to_owned());
        }
    }

    fn unnamed(&mut self, path: &Path) -> bool {
        self.files.remove(path);
        match (path.parent(), path.file_name()) {
            (Some(dir), Some(name)) => self.names.get_mut(dir).is_some_and(|names| names.remove(name)),
            _ => false,
        }
    }

    fn renamed(&mut self, from: &Path, to: &Path) {
        let moved = |path: &PathBuf| match path.strip_prefix(from) {
            Ok(rest) if rest.as_os_str().is_empty() => to.to_path_buf(),
            Ok(rest) => to.join(rest),
            Err(_) => path.clone(),
        };
        let dirty = self.files.contains(from);
        if self.unnamed(from) {
            self.named(to);
        } else {
            self.renames.push((from.to_path_buf(), to.to_path_buf()));
        }
        if dirty {
            self.files.insert(to.to_path_buf());
        }
        self.files = self.files.iter().map(moved).collect();
        self.names = std::mem::take(&mut self.names).into_iter().map(|(dir, names)| (moved(&dir), names)).collect();
    }
}

impl FaultyFs {
    /// Nothing happens: steps are counted.
    #[must_use]
    pub fn counting() -> FaultyFs {
        FaultyFs { state: Arc::default() }
    }

    /// `fault` happens at step `step`, counted from 0.
    #[must_use]
    pub fn new(step: usize, fault: Fault) -> FaultyFs {
        FaultyFs { state: Arc::new(Mutex::new(State { fault: Some((step, fault)), ..State::default() })) }
    }

    /// The same disk after the process ended and another one began: steps are counted from 0 again, with a fault of
    /// their own or none; what was not synced still is not.
    #[must_use]
    pub fn restarted(&self, fault: Option<(usize, Fault)>) -> FaultyFs {
        let State { files, names, renames, .. } = std::mem::take(&mut *self.state());
        FaultyFs { state: Arc::new(Mutex::new(State { fault, files, names, renames, ..State::default() })) }
    }

    /// The steps taken so far, the failed one included: `create a/b`.
    #[must_use]
    pub fn steps(&self) -> Vec<String> {
        self.state().steps.clone()
    }

    /// Whether [`Fault::Stop`] has happened.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.state().stopped
    }

    /// Takes away whatever was not synced: bytes of files, names in directories, and, with `undo_renames`, renames.
    /// (A file system may keep any of it; with a rename kept and everything older lost it is at its meanest.)
    pub fn lose_power(&self, undo_renames: bool) -> io::Result<()> {
        let state = std::mem::take(&mut *self.state());
        for path in state.files {
            // Only files that were created through `self` are here, never linked ones: those are others' bytes too.
            if RealFs.kind(&path)?.is_some() {
                fs::OpenOptions::new().write(true).open(&path)?.set_len(0)?;
            }
        }
        for (dir, names) in state.names {
            for name in names {
                let path = dir.join(name);
                match RealFs.kind(&path)? {
                    Some(Kind::Directory) => fs::remove_dir_all(&path)?,
                    Some(_) => fs::remove_file(&path)?,
                    None => {}
                }
            }
        }
        for (from, to) in state.renames.iter().rev().filter(|_| undo_renames) {
            fs::create_dir_all(from.parent().unwrap_or(from))?;
            fs::rename(to, from)?;
        }
        Ok(())
    }

    /// Loses the power while the disk is being written: every name and rename has lasted, and of the bytes that were not
    /// synced the first half of a file, by turns as a file of that length and as one of full length that ends in zeros.
    pub fn lose_power_halfway(&self) -> io::Result<()> {
        let state = std::mem::take(&mut *self.state());
        for (nth, path) in state.files.iter().enumerate() {
            let Some(Kind::File { len }) = RealFs.kind(path)? else { continue };
            let file = fs::OpenOptions::new().write(true).open(path)?;
            file.set_len(len / 2)?;
            if nth % 2 == 1 {
                file.set_len(len)?;
            }
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn step(&self, operation: &str, path: &Path) -> io::Result<()> {
        self.state().step(format!("{operation} {}", path.display()))
    }
}

impl FileSystem for FaultyFs {
    fn create_dir(&self, path: &Path, access: Access) -> io::Result<()> {
        self.step("create directory", path)?;
        RealFs.create_dir(path, access)?;
        self.state().named(path);
        Ok(())
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn OutputFile>> {
        self.step("create", path)?;
        let file = RealFs.create(path)?;
        self.state().named(path);
        Ok(Box::new(FaultyFile { fs: self.clone(), path: path.to_path_buf(), file }))
    }

    fn sync_files(&self, paths: &[PathBuf]) -> io::Result<()> {
        for path in paths {
            self.step("sync", path)?;
            self.state().files.remove(path);
        }
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.step("sync directory", path)?;
        let mut state = self.state();
        state.names.remove(path);
        state.renames.retain(|(_, to)| to.parent() != Some(path));
        Ok(())
    }

    fn rename_noreplace(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step("rename", from)?;
        RealFs.rename_noreplace(from, to)?;
        self.state().renamed(from, to);
        Ok(())
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step("link", to)?;
        RealFs.hard_link(from, to)?;
        self.state().named(to);
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.step("remove", path)?;
        RealFs.remove_file(path)?;
        self.state().unnamed(path);
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.step("remove directory", path)?;
        RealFs.remove_dir(path)?;
        self.state().unnamed(path);
        Ok(())
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        self.state().reachable()?;
        RealFs.open(path)
    }

    fn is_own(&self, path: &Path, permissions: u32) -> io::Result<bool> {
        self.state().reachable()?;
        RealFs.is_own(path, permissions)
    }

    fn free_bytes(&self, path: &Path) -> io::Result<Option<u64>> {
        self.state().reachable()?;
        RealFs.free_bytes(path)
    }

    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        self.state().reachable()?;
        RealFs.kind(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        self.state().reachable()?;
        RealFs.list(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        self.step("lock", path)?;
        let lock = RealFs.lock(path)?;
        self.state().named(path);
        Ok(lock)
    }
}

struct FaultyFile {
    fs: FaultyFs,
    path: PathBuf,
    file: Box<dyn OutputFile>,
}

impl Write for FaultyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let was_stopped = self.fs.is_stopped();
        if let Err(error) = self.fs.step("write", &self.path) {
            if self.fs.is_stopped() && !was_stopped {
                let half = bytes.get(..bytes.len() / 2).unwrap_or(bytes);
                self.file.write_all(half)?;
                self.fs.state().files.insert(self.path.clone());
            }
            return Err(error);
        }
        self.fs.state().files.insert(self.path.clone());
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl OutputFile for FaultyFile {
    fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.fs.step("patch", &self.path)?;
        self.fs.state().files.insert(self.path.clone());
        self.file.patch(offset, bytes)
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        self.fs.step("sync", &self.path)?;
        // Dropped, not closed: the bytes are in the page cache, where this test can see them.
        self.fs.state().files.remove(&self.path);
        Ok(())
    }
}
