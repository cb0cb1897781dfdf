//! A control group with a memory limit: it counts the page cache of whoever is in it, so a source can be larger than the
//! memory there is for it.

use std::fs;
use std::path::{Path, PathBuf};

/// A control group; removed when dropped, if it was made here.
pub struct MemoryGroup {
    /// Its directory.
    pub dir: PathBuf,
    made: bool,
}

impl MemoryGroup {
    /// A group with that limit in bytes: `given`, which someone made for us (of either version), or a new one (version 2)
    /// below or beside the one that we are in.
    pub fn limited_to(bytes: u64, given: Option<&Path>) -> Result<MemoryGroup, String> {
        if let Some(dir) = given {
            let group = MemoryGroup { dir: dir.to_path_buf(), made: false };
            return group.limit(bytes).map(|()| group);
        }
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let own = own.lines().find_map(|line| line.strip_prefix("0::/")).ok_or("no control groups of version 2")?;
        let root = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new);
        let root = root.into_iter().find(|root| root.join("cgroup.controllers").exists());
        let own = root.ok_or("control groups of version 2 are not mounted")?.join(own);
        let mut problems = Vec::new();
        // A group that holds processes hands no controllers down, except the root: then beside it.
        let beside = own.parent().filter(|parent| parent.join("cgroup.procs").exists());
        for parent in std::iter::once(own.as_path()).chain(beside) {
            let controllers = fs::read_to_string(parent.join("cgroup.subtree_control")).unwrap_or_default();
            if !controllers.split_ascii_whitespace().any(|controller| controller == "memory") {
                problems.push(format!("{}: the memory controller is not switched on there", parent.display()));
                continue;
            }
            let dir = parent.join(format!("shardsplit-peers-{}", std::process::id()));
            match fs::create_dir(&dir) {
                Err(error) => problems.push(format!("{}: {error}", dir.display())),
                Ok(()) => {
                    let group = MemoryGroup { dir, made: true };
                    match group.limit(bytes) {
                        Ok(()) => return Ok(group),
                        Err(problem) => problems.push(problem),
                    }
                }
            }
        }
        Err(problems.join("; "))
    }

    fn limit(&self, bytes: u64) -> Result<(), String> {
        let file = ["memory.max", "memory.limit_in_bytes"].map(|name| self.dir.join(name));
        let file = file
            .into_iter()
            .find(|file| file.exists())
            .ok_or_else(|| format!("{}: no control group with the memory controller", self.dir.display()))?;
        // Swap would let it have more. Absent where there is none.
        let _ = fs::write(self.dir.join("memory.swap.max"), "0");
        fs::write(&file, bytes.to_string()).map_err(|error| format!("{}: {error}", file.display()))
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        if self.made {
            let _ = fs::remove_dir(&self.dir);
        }
    }
}
