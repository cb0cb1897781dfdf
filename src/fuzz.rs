//! Entrances for fuzzing: every parser of ours as a function of untrusted bytes, for the targets in `tests/fuzz`.
//!
//! Input: any bytes. Each function returns, whatever they are, and makes no more room than they can fill. Where two
//! parsers read the same format, or ours and tantivy's, both must agree about what both accept. Built with the feature
//! `fuzzing` alone; promises nothing to anybody else.

#![expect(clippy::expect_used, reason = "a target tells what it found by failing")]

pub use crate::job::fuzz::plan;
pub use crate::publish::fuzz::{manifests, routing};
pub use crate::source::fuzz::{columns, deletes, dictionary, documents, fields, footer, meta, sidecar, store, tables};

use crate::verify::fuzz as judge;
use crate::write::fuzz as author;
use tantivy::schema::IndexRecordOption;

/// Most documents of a list.
const MOST_DOCS: u16 = 1 << 12;

/// A posting list and the positions of its term: `u16 LE documents ‖ u8 what is recorded ‖ u16 LE length of the posting
/// list ‖ posting list ‖ positions`. The writers' decoder and the judge's must not read different things.
pub fn lists(bytes: &[u8]) {
    let Some((head, rest)) = bytes.split_first_chunk::<5>() else { return };
    let [docs_low, docs_high, record, len_low, len_high] = *head;
    let doc_freq = u32::from(u16::from_le_bytes([docs_low, docs_high]) % MOST_DOCS);
    let record = match record % 3 {
        0 => IndexRecordOption::Basic,
        1 => IndexRecordOption::WithFreqs,
        _ => IndexRecordOption::WithFreqsAndPositions,
    };
    let (list, positions) = rest.split_at(usize::from(u16::from_le_bytes([len_low, len_high])).min(rest.len()));
    let read = author::postings(list, doc_freq, record);
    if let (Some((docs, freqs)), true) = (&read, doc_freq < 128) {
        let judged = judge::short_list(list, doc_freq, record.has_freq());
        let (other_docs, other_freqs) = judged.expect("a list that the writers accept is one to the judge");
        assert_eq!((docs, freqs), (&other_docs, &other_freqs), "two readers of one list");
    }
    let freqs = read.map(|(_, freqs)| freqs).unwrap_or_default();
    // No more than a file of that size can have.
    let freqs: Vec<u32> = freqs.into_iter().map(|freq| freq.min(1 << 16)).collect();
    if let (Some(deltas), Some(judged)) = (author::positions(positions, &freqs), judge::positions(positions, &freqs)) {
        assert_eq!(deltas, judged, "two readers of the same positions");
    }
}
