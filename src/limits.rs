//! What the system lets a process have: open files and maps. Both are counted before work begins, so that a job that
//! cannot end is not begun.
//!
//! Input: how many a job will hold at once, at most. Output: nothing, or [`Error::Limit`] with the number that is needed
//! and the limit that is in the way. Where the system does not tell, nothing is refused.

use crate::error::{Error, Result};

/// Open files that a job holds beside those of its children: the lock files, manifests as they are written, files on
/// their way to the disk.
const OTHER_FILES: u64 = 40;

/// Maps that come and go beside those of files: stacks of threads, what the allocator takes.
const OTHER_MAPS: u64 = 256;

/// What a job holds at once, at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    /// Files of children that are being written.
    pub(crate) files: u64,
    /// Mapped files.
    pub(crate) maps: u64,
}

impl Need {
    /// Both at once.
    pub(crate) fn and(self, other: Need) -> Need {
        Need { files: self.files.saturating_add(other.files), maps: self.maps.saturating_add(other.maps) }
    }

    /// Fails if the system does not allow it.
    pub(crate) fn check(self) -> Result<()> {
        if self.files > 0 {
            within(Kind::Files, self.files.saturating_add(OTHER_FILES), open_files(), files_limit())?;
        }
        self.check_maps()
    }

    /// The same of maps alone.
    pub(crate) fn check_maps(self) -> Result<()> {
        // Counting maps takes longer than a small job, and the usual limit is 65,530.
        if self.maps < 1_000 && maps_limit().is_none_or(|limit| limit >= 8_000) {
            return Ok(());
        }
        within(Kind::Maps, self.maps.saturating_add(OTHER_MAPS), maps(), maps_limit())
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Files,
    Maps,
}

/// `more` than are there `now` must be within `limit`.
fn within(kind: Kind, more: u64, now: u64, limit: Option<u64>) -> Result<()> {
    let need = more.saturating_add(now);
    match limit {
        Some(limit) if need > limit => {
            let (what, name, hint) = match kind {
                Kind::Files => (
                    "open files",
                    "ulimit -n",
                    format!(
                        "raise it with `ulimit -n {need}`, or have fewer at once: fewer children, --threads 1, a larger \
                         --max-docs-per-segment"
                    ),
                ),
                Kind::Maps => (
                    "memory maps",
                    "vm.max_map_count",
                    format!(
                        "raise it with `sysctl -w vm.max_map_count={need}`, or merge segments of the source first, or leave \
                         --segments keep and --method link away"
                    ),
                ),
            };
            Err(Error::Limit { what, need, limit, name, hint })
        }
        _ => Ok(()),
    }
}

/// Raises the limit of open files as far as this process may, as servers do that hold many. For programs: a library
/// leaves the limits of its process alone.
#[cfg(unix)]
pub fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        // Where that is not allowed the limit stays, and is checked.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

/// There is no such limit.
#[cfg(not(unix))]
pub fn raise_open_files() {}

#[cfg(unix)]
fn files_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

#[cfg(not(unix))]
fn files_limit() -> Option<u64> {
    None
}

fn open_files() -> u64 {
    std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64)
}

fn maps_limit() -> Option<u64> {
    std::fs::read_to_string("/proc/sys/vm/max_map_count").ok()?.trim().parse().ok()
}

fn maps() -> u64 {
    std::fs::read("/proc/self/maps").map_or(0, |text| text.iter().filter(|&&byte| byte == b'\n').count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_counts_on_top_of_what_is_there() {
        for (more, now, limit, fits) in [
            (10, 5, Some(15), true),
            (10, 6, Some(15), false),
            (u64::MAX, 6, Some(15), false),
            (u64::MAX, 6, None, true),
        ] {
            assert_eq!(within(Kind::Files, more, now, limit).is_ok(), fits, "{more} {now} {limit:?}");
        }
    }

    #[test]
    fn the_error_names_number_limit_and_what_to_do() {
        let text = |kind| within(kind, 70_000, 30, Some(65_530)).unwrap_err().one_line();
        for words in ["70030 memory maps", "65530", "vm.max_map_count", "nothing was written"] {
            assert!(text(Kind::Maps).contains(words), "{}", text(Kind::Maps));
        }
        assert!(text(Kind::Files).contains("`ulimit -n 70030`"), "{}", text(Kind::Files));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn open_files_and_maps_are_counted() {
        let before = open_files();
        let held: Vec<_> = (0..20).map(|_| tempfile::tempfile().unwrap()).collect();
        assert!(open_files() >= before + 10, "other tests may have closed some");
        assert!(maps() > 10);
        assert!(maps_limit().is_some() && files_limit().is_some());
        drop(held);
    }
}
