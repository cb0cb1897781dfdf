//! Where panics of tantivy on damaged bytes become errors.
//!
//! tantivy asserts and slices while it reads; on bytes that only a checksum could have shown to be wrong, that is a
//! panic. Every stage that reads source or child bytes through tantivy puts its outermost call in here, so that the
//! panic ends that job with an error that names the file, and not the embedding process. What this cannot catch: an
//! allocation that the allocator refuses, against which [`super::claims`] stands, and `panic = "abort"`.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::error::{Error, Result};

thread_local! {
    /// Guards that this thread is inside of.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// Whether a panic on this thread would be caught and become an error, so that a panic hook need not report it.
#[must_use]
pub fn panics_become_errors() -> bool {
    INSIDE.get() > 0
}

/// Runs `read`; a panic becomes [`Error::Panic`] with `path` and `what` (a noun phrase: `the term dictionary of id`).
///
/// Values that `read` was changing when it panicked must not be used afterwards: let it return what it builds.
pub(crate) fn guard<T>(path: impl AsRef<Path>, what: impl Into<String>, read: impl FnOnce() -> Result<T>) -> Result<T> {
    // Unwind safety: nothing that the closure captured is looked at again, since every caller gives up on an error.
    INSIDE.set(INSIDE.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(read));
    INSIDE.set(INSIDE.get().saturating_sub(1));
    result.unwrap_or_else(|payload| {
        let message = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic without a message".to_owned());
        Err(Error::Panic { path: path.as_ref().to_path_buf(), what: what.into(), message })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_that_names_file_and_message() {
        let bytes = [1u8, 2];
        let end = std::hint::black_box(3);
        let result: Result<u8> = guard("index/a.term", "the dictionary of id", || Ok(bytes[..end][0]));
        let error = result.unwrap_err();
        assert!(matches!(&error, Error::Panic { path, .. } if path == Path::new("index/a.term")), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("index/a.term") && text.contains("the dictionary of id"), "{text}");
        assert!(text.contains("out of range"), "{text}");
    }

    #[test]
    fn a_thread_is_inside_only_while_it_reads() {
        assert!(!panics_become_errors());
        let nested = || guard("a", "c", || Ok(panics_become_errors()));
        assert!(guard("a", "b", || Ok(nested()? && panics_become_errors())).unwrap());
        assert!(guard("a", "b", || -> Result<()> { panic!("on purpose") }).is_err());
        assert!(!panics_become_errors());
    }

    #[test]
    fn results_pass_through_unchanged() {
        assert_eq!(guard("a", "b", || Ok(7)).ok(), Some(7));
        let refused: Result<()> = guard("a", "b", || Err(Error::Usage("no".to_owned())));
        assert!(matches!(refused, Err(Error::Usage(text)) if text == "no"));
    }
}
