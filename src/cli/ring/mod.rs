//! `shardsplit ring`: consistent-hash rings as files, and indexes that are routed by them.
//!
//! | file | what |
//! |---|---|
//! | `table` | reading and writing table files; nodes as people write them |
//! | `show` | one ring: nodes, shares drawn as bars |
//! | `change` | `new`, `add`, `remove`, `reweigh`: a table from a table |
//! | `compare` | two rings: shares, who gives what to whom, against the least possible and plain modulo |
//! | `moving` | `move`: an index taken from its ring to another |
//! | `plan` | `plan`: the same with documents and bytes of an index |

mod change;
mod compare;
mod moving;
mod plan;
mod show;
mod table;

use clap::{Args, Subcommand};
use shardsplit::error::Result;

use super::console::Console;
use super::exit::Exit;

/// Make, show, change and compare rings
///
/// A ring says which node has which keys: consistent hashing over Elasticsearch's hash. Where a TABLE is read, it is a
/// table file, or an index directory whose routing.json has one. Tables are never changed: every change makes a new file.
#[derive(Args, Debug)]
pub(crate) struct RingArgs {
    #[command(subcommand)]
    command: RingCommand,
}

#[derive(Subcommand, Debug)]
enum RingCommand {
    New(change::NewArgs),
    Show(show::ShowArgs),
    Add(change::AddArgs),
    Remove(change::RemoveArgs),
    Reweigh(change::ReweighArgs),
    Plan(plan::PlanArgs),
    Move(moving::MoveArgs),
}

/// Runs the command.
pub(crate) fn run(args: &RingArgs, console: &Console) -> Result<Exit> {
    match &args.command {
        RingCommand::New(args) => change::new(args, console),
        RingCommand::Show(args) => show::run(args, console),
        RingCommand::Add(args) => change::add(args, console),
        RingCommand::Remove(args) => change::remove(args, console),
        RingCommand::Reweigh(args) => change::reweigh(args, console),
        RingCommand::Plan(args) => plan::run(args, console),
        RingCommand::Move(args) => moving::run(args, console),
    }
}
