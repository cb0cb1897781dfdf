//! A rewrite reads each plane of the source once, however many children there are.

use std::path::Path;

use crate::common::fixture::Fixture;
use shardsplit::job::Job;
use shardsplit::partition::SegmentMode;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::write::SourceReads;
use tantivy::store::Compressor;
use tantivy::{DocSet, Index, TERMINATED};

const SEGMENTS: u32 = 3;
const DOCS: u32 = 300;

/// Many posting lists over a block; one stored document per block.
fn fixture() -> Fixture {
    Fixture { compressor: Compressor::None, blocksize: 1, ..Fixture::everything(SEGMENTS, DOCS).delete_every(17) }
}

fn reads(source: &Path, children: u32, segments: SegmentMode) -> SourceReads {
    let out = tempfile::tempdir().unwrap();
    let mut job = Job::new(source, out.path().join("out"), children, "id");
    job.segments = segments;
    let report = job.run(&Silent, &Cancel::new()).unwrap();
    report.reads.expect("a rewrite says what it read")
}

/// Blocks of posting lists that the source has, by tantivy's own readers.
fn posting_blocks(source: &Path) -> u64 {
    let index = Index::open_in_dir(source).unwrap();
    let mut blocks = 0;
    for segment in index.searchable_segments().unwrap() {
        let reader = tantivy::SegmentReader::open(&segment).unwrap();
        for (field, entry) in index.schema().fields().filter(|(_, entry)| entry.is_indexed()) {
            let inverted = reader.inverted_index(field).unwrap();
            let option = entry.field_type().get_index_record_option().unwrap();
            let mut terms = inverted.terms().stream().unwrap();
            while terms.advance() {
                let mut postings = inverted.read_postings_from_terminfo(terms.value(), option).unwrap();
                let mut docs = 0u64;
                while postings.doc() != TERMINATED {
                    docs += 1;
                    postings.advance();
                }
                blocks += docs.div_ceil(128);
            }
        }
    }
    blocks
}

#[test]
fn what_is_read_does_not_grow_with_the_number_of_children() {
    let dir = tempfile::tempdir().unwrap();
    fixture().build(dir.path());
    for segments in [SegmentMode::One, SegmentMode::Keep] {
        let two = reads(dir.path(), 2, segments);
        assert_eq!(two.posting_blocks, posting_blocks(dir.path()), "{segments:?}: every block of postings once");
        assert_eq!(two.store_blocks, u64::from(SEGMENTS * DOCS), "{segments:?}: every block of the stores once");
        assert!(two.column_terms > 0 && two.column_values > 0, "{segments:?}: {two:?}");
        for children in [1, 16, 40] {
            assert_eq!(reads(dir.path(), children, segments), two, "{segments:?}, {children} children");
        }
    }
}
