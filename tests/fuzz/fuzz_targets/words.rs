//! What the command line spells out: `--by`, ranges of hashes.
#![no_main]

use clap::Parser;
use shardsplit::route::solr::HashRange;

#[path = "../../../src/cli/by.rs"]
mod by;

#[derive(Parser)]
struct Words {
    #[command(flatten)]
    by: by::ByArgs,
    #[arg(long)]
    into: Option<u32>,
}

libfuzzer_sys::fuzz_target!(init: shardsplit_fuzz::start(), |text: &str| {
    shardsplit_fuzz::bounded(shardsplit_fuzz::SMALL, text.len(), || {
        if let Ok(range) = text.parse::<HashRange>() {
            assert_eq!(range.to_string().parse(), Ok(range));
        }
        let rules = text.split('\n').map(|rule| format!("--by={rule}"));
        let args = ["words".to_owned(), "--into=3".to_owned()].into_iter().chain(rules);
        let Ok(words) = Words::try_parse_from(args) else { return };
        if let Ok(Some(placement)) = words.by.placement(words.into) {
            assert_eq!(placement.number_of_shards().ok(), Some(3));
            (0..3).for_each(|child| drop(placement.label(child)));
        }
    });
});
