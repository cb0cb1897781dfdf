//! Numbers of live documents: over all children as many as the source has, in each as many as routing says.

use super::files::Child;
use super::finding::{Finding, FindingKind};
use crate::partition::Census;
use crate::source::Source;

/// Compares numbers. `expected`: the census of routing the source, and per child its index there.
pub(super) fn check(
    source: &Source,
    children: &[Child],
    expected: Option<(&Census, &[Option<usize>])>,
    findings: &mut Vec<Finding>,
) {
    let docs = |child: &Child| child.index.as_ref().map(|index| index.num_docs());
    if let Some((census, indexes)) = expected {
        for (child, index) in children.iter().zip(indexes) {
            let wanted = index.and_then(|index| census.children.get(index)).copied();
            let (Some(found), Some(wanted)) = (docs(child), wanted) else { continue };
            if found != wanted {
                findings.push(
                    Finding::error(
                        FindingKind::Census,
                        format!("has {found} live documents, routing of the source gives it {wanted}"),
                    )
                    .in_child(child.shard)
                    .in_file(&child.path)
                    .count(found.abs_diff(wanted)),
                );
            }
        }
    }
    // With a child that cannot be opened the sum says nothing new.
    let Some(sum) = children.iter().map(docs).sum::<Option<u64>>() else { return };
    let live = source.num_docs();
    if sum != live {
        let message = format!("the children have {sum} live documents together, the source has {live}");
        findings.push(Finding::error(FindingKind::Census, message).count(sum.abs_diff(live)));
    }
}
