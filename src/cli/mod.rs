//! The command line: picks the words, the bars and the exit codes for what the library counts.
//!
//! Input: the process arguments, and SIGINT, SIGTERM or SIGHUP as a wish to stop. Output: results on stdout (text, or
//! one typed JSON object per line), everything else on stderr, and an exit code. Nothing here knows how to split: each
//! command turns its arguments into one call of the library and renders what comes back.
//!
//! | file | what |
//! |---|---|
//! | `args`, `writing` | the command and the flags that several commands share |
//! | `by` | how documents are placed without a key |
//! | `explain` | what a plan rests on |
//! | `saved` | plans that are written down and run later |
//! | `plan`, `split`, `verify`, `recover`, `inspect`, `index_hashes`, `check_routing` | one command each: its flags, its call, its text |
//! | `index` | `merge` and `clone`, and what `plan` and `split` do with an index directory |
//! | `ring` | rings as files: shown, changed, compared; an index taken from one to another |
//! | `route` | where a key is |
//! | `routers` | routing by tables: which one, and where a shard is cut |
//! | `console` | where output goes: stdout, stderr, closed pipes |
//! | `human`, `json` | aligned tables and units; typed lines |
//! | `findings` | what verification found |
//! | `progress` | bars on a terminal |
//! | `interrupt` | signals |
//! | `exit` | exit codes |

mod args;
mod by;
mod check_routing;
mod console;
mod exit;
mod explain;
mod findings;
mod human;
mod index;
mod index_hashes;
mod inspect;
mod interrupt;
mod json;
mod plan;
mod progress;
mod recover;
mod ring;
mod route;
mod routers;
mod saved;
mod split;
mod verify;
mod writing;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use args::Command;
use console::Console;
use exit::Exit;
use shardsplit::limits;
use shardsplit::source::panics_become_errors;

/// Runs the command that `args` (the program's name first) asks for.
pub(crate) fn main(args: Vec<OsString>) -> ExitCode {
    limits::raise_open_files();
    interrupt::writing_too_much_is_an_error();
    let cli = match args::parse(&args) {
        Ok(cli) => cli,
        Err(error) => return console::clap_message(&error, args::wants_json(&args)).into(),
    };
    let console = Console::new(cli.output.json, cli.output.quiet);
    console.start_log();
    // A panic is a defect, but still a failed run: callers are promised one of the documented exit codes.
    // tantivy's panics on damaged bytes become errors with file and cause; the panic itself would only confuse.
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panics_become_errors() {
            report(panic);
        }
    }));
    let outcome = catch_unwind(AssertUnwindSafe(|| run(&cli.command, &console)));
    match outcome {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(error)) => console.failure(&error).into(),
        Err(_) => console.defect().into(),
    }
}

fn run(command: &Command, console: &Console) -> shardsplit::Result<Exit> {
    match command {
        Command::Plan(args) => plan::run(args, console),
        Command::Split(args) => split::run(args, console),
        Command::Merge(args) => index::run_merge(args, console),
        Command::Clone(args) => index::run_clone(args, console),
        Command::Verify(args) => verify::run(args, console),
        Command::Recover(args) => recover::run(args, console),
        Command::Inspect(args) => inspect::run(args, console),
        Command::IndexHashes(args) => index_hashes::run(args, console),
        Command::CheckRouting(args) => check_routing::run(args, console),
        Command::Route(args) => route::run(args, console),
        Command::Ring(args) => ring::run(args, console),
    }
}
