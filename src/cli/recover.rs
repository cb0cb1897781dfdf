//! `shardsplit recover`: finish or remove what a killed run left.

use std::path::PathBuf;

use clap::Args;
use shardsplit::Result;

use super::console::Console;
use super::exit::Exit;

/// Finish or remove what a killed or crashed split left beside --out
///
/// A set that was complete and verified is published; anything else is removed, by its manifest. Files that no
/// manifest names are reported and left alone, and so is the staging of a run that is still alive.
#[derive(Args, Debug)]
pub(crate) struct RecoverArgs {
    /// The --out directory of the split that did not finish
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: &RecoverArgs, console: &Console) -> Result<Exit> {
    let _ = (&args.out, console);
    Err(shardsplit::Error::Usage("not built yet".into()))
}
