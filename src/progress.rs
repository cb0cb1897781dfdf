//! How long-running stages report and how they are stopped.
//!
//! The library counts; whoever embeds it decides what to show. All methods may be called from several threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use crate::error::{Error, Result};

/// A stage of a job, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Pre-flight: files mapped, footers and versions checked.
    Open,
    /// Keys read, hashed and routed; unit: documents.
    Route,
    /// Children written or linked; unit: source bytes.
    Write,
    /// Children read back and compared; units: bytes of their files, then documents of both sides.
    Verify,
    /// Children made visible.
    Publish,
}

impl Stage {
    /// Lower-case name, as in JSON reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Stage::Open => "open",
            Stage::Route => "route",
            Stage::Write => "write",
            Stage::Verify => "verify",
            Stage::Publish => "publish",
        }
    }
}

/// An amount of work: documents, bytes, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Work {
    /// Documents.
    pub docs: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Work {
    /// So many documents.
    #[must_use]
    pub fn docs(docs: u64) -> Work {
        Work { docs, bytes: 0 }
    }

    /// So many bytes.
    #[must_use]
    pub fn bytes(bytes: u64) -> Work {
        Work { docs: 0, bytes }
    }
}

/// Receives the progress of a job. Every method has an empty default.
pub trait Progress: Sync {
    /// `stage` begins and expects to do `total`.
    fn begin(&self, stage: Stage, total: Work) {
        let _ = (stage, total);
    }

    /// `stage` has done `done` more.
    fn advance(&self, stage: Stage, done: Work) {
        let _ = (stage, done);
    }

    /// `stage` is over.
    fn end(&self, stage: Stage) {
        let _ = stage;
    }
}

/// Reports to nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}

/// Stops a job from another thread or a signal handler.
///
/// Clones share the flag. Stages look at it at least once per few megabytes of work and then fail with
/// [`Error::Interrupted`]; staging is removed as after any other failure.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag that is not set.
    #[must_use]
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Asks the job to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`Cancel::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// `Err(Error::Interrupted)` once the job was asked to stop.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Interrupted) } else { Ok(()) }
    }
}
