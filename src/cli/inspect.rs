//! `shardsplit inspect`: what an index is made of.

use clap::Args;
use shardsplit::Result;

use super::args::IndexArgs;
use super::console::Console;
use super::exit::Exit;

/// Show what an index is made of, and which fields can serve as --key
///
/// Segments with live and deleted documents and the size of each component, fields with what they keep, and the plane
/// each usable key field would be read from. Runs the same checks as `split` and refuses the same indexes. Costs the
/// opening of every segment; documents are not read.
#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    index: IndexArgs,
}

/// Runs the command.
pub(crate) fn run(args: &InspectArgs, console: &Console) -> Result<Exit> {
    let _ = (args.index.lock(), console);
    Err(shardsplit::Error::Usage("not built yet".into()))
}
