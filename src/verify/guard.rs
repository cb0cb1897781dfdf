//! Turning panics of readers into errors.
//!
//! tantivy's readers trust their files and may panic on damaged ones; a judge must survive what it judges.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use crate::error::{Error, Result};

/// Runs `read`; a panic becomes [`Error::Panic`] with the file that `file` names at that time.
pub(super) fn guard<T>(
    file: impl FnOnce() -> PathBuf,
    what: impl Into<String>,
    read: impl FnOnce() -> Result<T>,
) -> Result<T> {
    // Whatever the closure was adding to is thrown away or reported as unreadable, never used as if it were whole.
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(result) => result,
        Err(panic) => {
            let message = panic
                .downcast_ref::<&str>()
                .map(|message| (*message).to_owned())
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "no message".to_owned());
            Err(Error::Panic { path: file(), what: what.into(), message })
        }
    }
}

/// An error and its causes in one line.
pub(super) fn one_line(error: &Error) -> String {
    let mut line = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let text = error.to_string();
        if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
        cause = error.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_that_names_the_file() {
        let result: Result<()> = guard(|| PathBuf::from("a.store"), "the doc store", || panic!("index {} lost", 3));
        match result {
            Err(Error::Panic { path, what, message }) => {
                assert_eq!(path, PathBuf::from("a.store"));
                assert_eq!(what, "the doc store");
                assert_eq!(message, "index 3 lost");
            }
            other => panic!("{other:?}"),
        }
    }
}
