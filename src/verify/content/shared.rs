//! Segments that children share with the source: hard links of its files, or copies equal byte by byte.

use crate::source::{Component, Segment, Source};
use crate::verify::files::{Child, file_id};

/// Per segment of `child`, the source segment whose files it has.
pub(super) fn segments(source: &Source, child: &Child) -> Vec<Option<usize>> {
    let Some(index) = child.index.as_ref().filter(|_| !child.damaged) else { return Vec::new() };
    let same = |segment: &Segment| {
        source.segments().iter().position(|original| {
            original.id() == segment.id()
                && original.max_doc() == segment.max_doc()
                && Component::ALL.iter().all(|component| same_file(original, segment, *component))
        })
    };
    index.segments().iter().map(same).collect()
}

fn same_file(original: &Segment, segment: &Segment, component: Component) -> bool {
    file_id(&original.file(component)) == file_id(&segment.file(component))
        || original.body(component) == segment.body(component)
}
