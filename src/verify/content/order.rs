//! Whether segments of a sorted index are sorted.

use tantivy::columnar::Column;
use tantivy::{Order, TantivyError};

use crate::error::{Error, Result};
use crate::source::{Component, Segment, Source, guard};
use crate::verify::VerifyJob;
use crate::verify::files::Child;
use crate::verify::finding::{Finding, FindingKind, Grade};

/// Whether documents of several source segments may alternate in a child, because the index is sorted.
pub(in crate::verify) fn interleaves(source: &Source) -> bool {
    let live = source.segments().iter().filter(|segment| segment.num_docs() > 0).count();
    live > 1 && source.index().settings().sort_by_field.is_some()
}

/// For a child of a sorted index whose documents are not in source order: are they sorted?
pub(super) fn check(job: &VerifyJob<'_>, child: &Child, findings: &mut Vec<Finding>) {
    let Some(index) = child.index.as_ref().filter(|_| interleaves(job.source)) else { return };
    // What an older writer left unsorted cannot be asked of a child.
    let source_sorted = job.source.segments().iter().all(|segment| matches!(unsorted(job.source, segment), Ok(None)));
    if !source_sorted {
        let message = "the source's own segments are not sorted as its settings say, so order was not checked";
        findings.push(Finding::new(Grade::Note, FindingKind::Skipped, message).in_child(child.shard));
        return;
    }
    for segment in index.segments() {
        let finding = match unsorted(index, segment) {
            Ok(None) => continue,
            Ok(Some(doc)) => {
                Finding::error(FindingKind::Reordered, format!("documents are not sorted, first at {doc}"))
            }
            Err(error) => Finding::error(FindingKind::Unreadable, error.to_string()),
        };
        findings.push(finding.in_child(child.shard).in_file(segment.file(Component::FastFields)));
    }
}

/// The first document that comes before the one in front of it in sort order. Documents without a value are first
/// when ascending, last when descending.
fn unsorted(index: &Source, segment: &Segment) -> Result<Option<u32>> {
    let Some(sort) = index.index().settings().sort_by_field.clone() else { return Ok(None) };
    let path = segment.file(Component::FastFields);
    guard(&path, "the column of the sort field", || {
        let column: Option<Column<u64>> = segment
            .reader()
            .fast_fields()
            .u64_lenient(&sort.field)
            .map_err(Error::tantivy::<TantivyError>("the sort field", &path))?
            .map(|(column, _)| column);
        let Some(column) = column else { return Ok(None) };
        let mut previous = None;
        for doc in 0..segment.max_doc() {
            let key = column.first(doc);
            if let Some(previous) = previous {
                let sorted = if sort.order == Order::Asc { previous <= key } else { previous >= key };
                if !sorted {
                    return Ok(Some(doc));
                }
            }
            previous = Some(key);
        }
        Ok(None)
    })
}
