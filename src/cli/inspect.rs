//! `shardsplit inspect`: what an index is made of.

use std::fmt::Write;

use clap::Args;
use shardsplit::error::{Error, Result};
use shardsplit::inspect::{ComponentBytes, FieldInspection, Inspection, inspect};
use shardsplit::publish::IndexDirectory;
use shardsplit::source::{Source, StoreCodec};

use super::args::IndexArgs;
use super::console::Console;
use super::exit::Exit;
use super::human::{self, Align, Table};
use super::plan;

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
    if let Some(directory) = IndexDirectory::open(&args.index.index)? {
        let (path, shards) = (directory.path().display(), directory.routing().routing().number_of_shards);
        return Err(Error::Usage(format!(
            "{path} is an index directory of {shards} shards: name one of them, such as {}",
            directory.shard(0).display()
        )));
    }
    let source = Source::open(&args.index.index, args.index.lock())?;
    let inspection = inspect(&source)?;
    console.result("inspect", &inspection, || text(&inspection))?;
    Ok(Exit::Done)
}

fn text(index: &Inspection) -> String {
    let mut text = format!(
        "index {}: {}, {} deleted, {}, {}\n\n",
        human::printable(&index.dir.display().to_string()),
        human::documents(index.totals.live),
        human::count(index.totals.deleted),
        human::counted(index.totals.segments, "segment", "segments"),
        human::bytes(index.totals.bytes.total()),
    );
    text.push_str(&facts(index));
    let _ = write!(text, "\n{}\n{}", segments(index), fields(index));
    for note in &index.notes {
        let _ = writeln!(text, "note: {}", human::printable(note));
    }
    text
}

fn facts(index: &Inspection) -> String {
    let mut table = Table::new([("", Align::Left), ("", Align::Left)]);
    let writers: Vec<String> = index.written_by.iter().map(ToString::to_string).collect();
    table.row(["written by".to_owned(), if writers.is_empty() { "-".to_owned() } else { writers.join(", ") }]);
    table.row(["opstamp".to_owned(), index.opstamp.to_string()]);
    if let Some(payload) = &index.payload {
        table.row(["payload".to_owned(), payload.clone()]);
    }
    let settings = &index.settings;
    let blocks = human::count(settings.docstore_blocksize);
    table.row(["doc store".to_owned(), format!("{}, blocks of {blocks} bytes", settings.docstore_compression)]);
    if let Some(field) = &settings.sort_by_field {
        let order = if settings.sort_descending { "descending" } else { "ascending" };
        table.row(["sorted by".to_owned(), format!("{field}, {order}")]);
    }
    let keys: Vec<String> =
        index.key_fields.iter().map(|key| format!("{} (from {})", key.field, plan::plane_name(key.plane))).collect();
    table.row(["usable as --key".to_owned(), if keys.is_empty() { "no field".to_owned() } else { keys.join(", ") }]);
    table.render()
}

fn segments(index: &Inspection) -> String {
    let mut table = Table::new([
        ("segment", Align::Left),
        ("documents", Align::Right),
        ("deleted", Align::Right),
        ("size", Align::Right),
        ("terms", Align::Right),
        ("postings", Align::Right),
        ("positions", Align::Right),
        ("norms", Align::Right),
        ("columns", Align::Right),
        ("store", Align::Right),
        ("codec", Align::Left),
    ]);
    let mut row = |name: &str, live: u64, deleted: u64, bytes: &ComponentBytes, codec: &str| {
        let [terms, postings, positions, norms, columns] = planes(bytes);
        let (size, store) = (human::bytes(bytes.total()), human::bytes(bytes.store));
        let (live, deleted) = (human::count(live), human::count(deleted));
        let codec = codec.to_owned();
        table.row([name.to_owned(), live, deleted, size, terms, postings, positions, norms, columns, store, codec]);
    };
    for segment in &index.segments {
        let codec = match segment.store.codec {
            StoreCodec::None => "none",
            StoreCodec::Lz4 => "lz4",
            StoreCodec::Zstd => "zstd",
        };
        row(&segment.id, segment.live.into(), segment.deleted.into(), &segment.bytes, codec);
    }
    row("total", index.totals.live, index.totals.deleted, &index.totals.bytes, "");
    table.render()
}

fn fields(index: &Inspection) -> String {
    let mut table = Table::new([
        ("field", Align::Left),
        ("type", Align::Left),
        ("postings record", Align::Left),
        ("tokenizer", Align::Left),
        ("keeps", Align::Left),
        ("terms", Align::Right),
        ("postings", Align::Right),
        ("positions", Align::Right),
        ("norms", Align::Right),
        ("columns", Align::Right),
    ]);
    let dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
    for field in &index.fields {
        let [terms, postings, positions, norms, columns] = planes(&field.bytes);
        let (record, tokenizer) = (dash(field.record), dash(field.tokenizer.as_deref()));
        let (name, kind, keeps) = (field.name.clone(), field.kind.clone(), keeps(field));
        table.row([name, kind, record, tokenizer, keeps, terms, postings, positions, norms, columns]);
    }
    table.render()
}

/// The planes that are kept by field.
fn planes(bytes: &ComponentBytes) -> [String; 5] {
    [bytes.terms, bytes.postings, bytes.positions, bytes.norms, bytes.columns].map(human::bytes)
}

/// `stored, fast`.
fn keeps(field: &FieldInspection) -> String {
    let kept = [("stored", field.stored), ("fast", field.fast), ("norms", field.norms)];
    let kept: Vec<&str> = kept.into_iter().filter_map(|(name, kept)| kept.then_some(name)).collect();
    if kept.is_empty() { "-".to_owned() } else { kept.join(", ") }
}
