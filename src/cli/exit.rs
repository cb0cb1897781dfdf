//! Exit codes.

use std::process::ExitCode;

use shardsplit::error::{Error, ErrorKind};

/// How the process ends. The numbers are a contract with scripts; they are listed under `--help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done, and verified as far as was asked.
    Done = 0,
    /// Failed on the way.
    Failed = 1,
    /// The request cannot be right.
    Usage = 2,
    /// Verification found a difference.
    Difference = 3,
    /// The source is unreadable or was refused.
    Source = 4,
    /// The target is taken.
    Target = 5,
    /// Stopped on request: 128 + SIGINT, as shells count.
    Interrupted = 130,
}

impl Exit {
    /// The class of `error` as exit code.
    pub(crate) fn of(error: &Error) -> Exit {
        match error.kind() {
            ErrorKind::Usage => Exit::Usage,
            ErrorKind::Difference => Exit::Difference,
            ErrorKind::Source => Exit::Source,
            ErrorKind::Target => Exit::Target,
            ErrorKind::Interrupted => Exit::Interrupted,
            // ErrorKind may grow: a class without a code of its own has failed.
            ErrorKind::Failed | _ => Exit::Failed,
        }
    }

    /// The number.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    /// The word for it in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Exit::Done => "done",
            Exit::Failed => "failed",
            Exit::Usage => "usage",
            Exit::Difference => "difference",
            Exit::Source => "source",
            Exit::Target => "target",
            Exit::Interrupted => "interrupted",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_of_failure_has_its_own_code() {
        let path = std::path::PathBuf::from("x");
        let codes = [
            Exit::of(&Error::io("open", "x")(std::io::Error::other("e"))),
            Exit::of(&Error::Usage("u".into())),
            Exit::of(&Error::NotAnIndex { path: path.clone(), problem: "p".into() }),
            Exit::of(&Error::TargetExists { path }),
            Exit::of(&Error::Interrupted),
        ]
        .map(Exit::code);
        assert_eq!(codes, [1, 2, 4, 5, 130]);
    }
}
