//! Segments that children share with the source: hard links of its files, or copies equal byte by byte.

use std::collections::BTreeMap;

use crate::source::{Component, FileId, Segment, Source};
use crate::verify::files::Child;

/// Segments of the source, found by their files or their ids. Both may belong to several segments: shards that were
/// linked to one parent have the same.
pub(super) struct Originals<'a> {
    source: &'a Source,
    /// By the identity of the doc store.
    by_file: BTreeMap<&'a FileId, Vec<usize>>,
    by_id: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> Originals<'a> {
    pub(super) fn of(source: &'a Source) -> Originals<'a> {
        let (mut by_file, mut by_id) = (BTreeMap::<_, Vec<usize>>::new(), BTreeMap::<_, Vec<usize>>::new());
        for (index, segment) in source.segments().iter().enumerate() {
            if let Some(id) = segment.file_id(Component::Store) {
                by_file.entry(id).or_default().push(index);
            }
            by_id.entry(segment.id()).or_default().push(index);
        }
        Originals { source, by_file, by_id }
    }

    /// Per segment of `child`, the source segment whose files it has.
    pub(super) fn segments(&self, child: &Child) -> Vec<Option<usize>> {
        let Some(index) = child.index.as_ref().filter(|_| !child.damaged) else { return Vec::new() };
        index.segments().iter().map(|segment| self.find(segment)).collect()
    }

    fn find(&self, segment: &Segment) -> Option<usize> {
        // Where shards are merged, a link may have another name than its original.
        let linked = segment.file_id(Component::Store).and_then(|id| self.by_file.get(id));
        let named = self.by_id.get(segment.id());
        let mut candidates = linked.into_iter().chain(named).flatten().copied();
        candidates.find(|&index| {
            self.source.segments().get(index).is_some_and(|original| {
                original.max_doc() == segment.max_doc()
                    && Component::ALL.iter().all(|component| same_file(original, segment, *component))
            })
        })
    }
}

fn same_file(original: &Segment, segment: &Segment, component: Component) -> bool {
    original.file_id(component) == segment.file_id(component) || original.body(component) == segment.body(component)
}
