//! SIGINT, SIGTERM and SIGHUP stop a job at its next safe point.
//!
//! A signal only sets the cancel flag: the job notices, removes its staging and ends with
//! [`super::exit::Exit::Interrupted`]. Repeating the signal does not kill harder, because a half-removed staging
//! directory would have to be recovered by hand.

use std::sync::atomic::{AtomicU32, Ordering};

use shardsplit::progress::Cancel;

use super::console::Console;

/// A cancel flag that signals set. Where no handler can be installed signals keep their default effect: the process
/// dies, and `recover` removes what it staged.
pub(crate) fn cancel_on_signal(console: &Console) -> Cancel {
    let cancel = Cancel::new();
    let signals = AtomicU32::new(0);
    let handler = {
        let (cancel, notices) = (cancel.clone(), console.notices());
        move || {
            cancel.cancel();
            notices.say(match signals.fetch_add(1, Ordering::Relaxed) {
                0 => "stopping; what was staged is being removed, the source stays as it is",
                _ => "still stopping, please wait (kill -9 would leave staging behind for `shardsplit recover`)",
            });
        }
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        console.notices().say(&format!("signals stop this process at once: {error}"));
    }
    cancel
}

/// Makes a write beyond the limit on the size of files fail, as on a full disk. By default the signal that comes with it
/// ends the process. To be called before any thread is started.
#[cfg(unix)]
pub(crate) fn writing_too_much_is_an_error() {
    use nix::sys::signal::{SigSet, Signal};

    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    // If that fails the process ends as it does by default, and `recover` removes what it staged.
    let _ = signals.thread_block();
}

/// There is no such limit.
#[cfg(not(unix))]
pub(crate) fn writing_too_much_is_an_error() {}
