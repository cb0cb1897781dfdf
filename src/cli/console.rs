//! Where output goes: results to stdout, everything else to stderr.
//!
//! A reader that closes stdout early (`| head`) ends the output quietly and changes neither the work nor the exit
//! code: the children stand, whether or not anyone read the report.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use clap::error::ErrorKind as ClapKind;
use indicatif::{MultiProgress, ProgressDrawTarget};
use serde::Serialize;
use shardsplit::error::{Error, Result};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use super::exit::Exit;
use super::progress::Bars;
use super::{findings, human, json};

/// The two streams of the process.
pub(crate) struct Console {
    json: bool,
    quiet: bool,
    stderr: Stderr,
}

/// stderr, shared with bars: what is written clears them first and has them drawn again below.
#[derive(Clone)]
struct Stderr(MultiProgress);

impl Console {
    /// `json`: typed lines instead of text. `quiet`: no bars and no notes.
    pub(crate) fn new(json: bool, quiet: bool) -> Console {
        let visible = !quiet && io::stderr().is_terminal();
        let target = if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Console { json, quiet, stderr: Stderr(MultiProgress::with_draw_target(target)) }
    }

    /// Sends events of the library to stderr as `RUST_LOG` says; warnings and errors without it.
    pub(crate) fn start_log(&self) {
        let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
        // Fails only if a subscriber is set already, and this is the only place that sets one.
        let _ = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_ansi(false)
            .with_writer(self.stderr.clone())
            .try_init();
    }

    /// Bars for the stages of a job, drawn on a terminal only.
    pub(crate) fn bars(&self) -> Bars {
        Bars::new(self.stderr.0.clone())
    }

    /// For notes from other threads.
    pub(crate) fn notices(&self) -> Notices {
        Notices { quiet: self.quiet, stderr: self.stderr.clone() }
    }

    /// What a plan warns of, before it is spent.
    pub(crate) fn warn(&self, warnings: &[String]) {
        let notices = self.notices();
        warnings.iter().for_each(|warning| notices.say(&format!("warning: {warning}")));
    }

    /// The result of a command: its typed line with `--json`, else `text`.
    pub(crate) fn result<T: Serialize>(
        &self,
        kind: &'static str,
        value: &T,
        text: impl FnOnce() -> String,
    ) -> Result<()> {
        if self.json { self.json_line(json::line(kind, value)) } else { to_stdout(&text()) }
    }

    /// [`Console::result`] of a set that is published at `out`: whoever reads that it failed must not think that it is not.
    pub(crate) fn published<T: Serialize>(
        &self,
        kind: &'static str,
        value: &T,
        (out, verified): (&Path, bool),
        text: impl FnOnce() -> String,
    ) -> Result<()> {
        self.result(kind, value, text).map_err(|error| match error {
            Error::Io { source, .. } => Error::Unreported { path: out.to_path_buf(), verified, source },
            other => other,
        })
    }

    /// Typed lines that stand before the result, with `--json` only: text shows them within the result.
    pub(crate) fn detail<T: Serialize>(&self, kind: &'static str, value: &T) -> Result<()> {
        if self.json { self.json_line(json::line(kind, value)) } else { Ok(()) }
    }

    /// A result whose typed lines are [details](Console::detail): `text` without `--json`, nothing with it.
    pub(crate) fn text(&self, text: impl FnOnce() -> String) -> Result<()> {
        if self.json { Ok(()) } else { to_stdout(&text()) }
    }

    fn json_line(&self, line: serde_json::Result<String>) -> Result<()> {
        let line = line.map_err(|error| Error::io("encode a result for", "stdout")(error.into()))?;
        to_stdout(&format!("{line}\n"))
    }

    /// A failed run: one line on stderr, a typed line on stdout with `--json`, and what belongs to it.
    pub(crate) fn failure(&self, error: &Error) -> Exit {
        if let Error::Difference(report) = error {
            if self.json {
                for finding in &report.findings {
                    // The run has failed already; a stdout that cannot be written changes nothing about that.
                    let _ = self.detail("finding", finding);
                }
            } else {
                self.stderr.put(&findings::list(report));
            }
        }
        self.stderr.put(&format!("error: {}\n", human::printable(&error.one_line())));
        if self.json {
            let _ = self.json_line(json::error(error));
        }
        Exit::of(error)
    }

    /// A caught panic. Its message is on stderr already.
    pub(crate) fn defect(&self) -> Exit {
        let message = "this is a defect of shardsplit; the source is unchanged, `shardsplit recover` removes staging";
        self.stderr.put(&format!("error: {message}\n"));
        if self.json {
            let _ = self.json_line(json::plain_error(Exit::Failed, message));
        }
        Exit::Failed
    }
}

/// Says things beside the results.
#[derive(Clone)]
pub(crate) struct Notices {
    quiet: bool,
    stderr: Stderr,
}

impl Notices {
    /// One line on stderr, unless `--quiet`.
    pub(crate) fn say(&self, message: &str) {
        if !self.quiet {
            self.stderr.put(&format!("{}\n", human::printable(message)));
        }
    }
}

impl Stderr {
    fn put(&self, text: &str) {
        // Nobody is left to tell when stderr is gone.
        self.0.suspend(|| drop(io::stderr().lock().write_all(text.as_bytes())));
    }
}

impl io::Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.suspend(|| io::stderr().lock().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}

impl<'a> MakeWriter<'a> for Stderr {
    type Writer = Stderr;

    fn make_writer(&'a self) -> Stderr {
        self.clone()
    }
}

/// What clap has to say: help and version are results, everything else is wrong usage.
pub(crate) fn clap_message(error: &clap::Error, json: bool) -> Exit {
    let help = matches!(error.kind(), ClapKind::DisplayHelp | ClapKind::DisplayVersion);
    // A closed pipe is no failure, and there is no third stream to report another one on.
    let _ = error.print();
    if help {
        return Exit::Done;
    }
    if json {
        let message = error.to_string();
        let message = message.trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ");
        if let Ok(line) = json::plain_error(Exit::Usage, &message) {
            let _ = to_stdout(&format!("{line}\n"));
        }
    }
    Exit::Usage
}

fn to_stdout(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done.map_err(Error::io("write", "stdout")),
    }
}
