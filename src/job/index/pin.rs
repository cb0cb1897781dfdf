//! What was planned with, so that it can be recognised when its turn to be written comes.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::publish::SourceLineage;
use crate::source::Source;

/// The `meta.json` of every directory of a source, as length and checksum. Segment files are pinned by their lineage:
/// length, and the checksum in the footer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::job) struct Pin(Vec<(u64, u32)>);

impl Pin {
    pub(in crate::job) fn of(source: &Source) -> Pin {
        Pin(source.metas().iter().map(|meta| (meta.bytes().len() as u64, crc32fast::hash(meta.bytes()))).collect())
    }

    /// Whether the directory with this index has another `meta.json`.
    pub(in crate::job) fn differs(&self, other: &Pin, at: usize) -> bool {
        self.0.get(at) != other.0.get(at)
    }

    /// Fails if `source`, which was opened again, is not what `self` and `planned` were made from.
    pub(in crate::job) fn check(&self, source: &Source, planned: &[SourceLineage]) -> Result<()> {
        let shards: Vec<u32> = planned.iter().map(|lineage| lineage.shard).collect();
        let found = SourceLineage::of(source, &shards)?;
        let now = Pin::of(source);
        let pins = self.0.iter().zip(&now.0);
        for (((dir, planned), found), (before, after)) in source.dirs().iter().zip(planned).zip(&found).zip(pins) {
            let problem = if let Some(problem) = difference(planned, found) {
                problem
            } else if before != after {
                "its meta.json was rewritten".to_owned()
            } else {
                continue;
            };
            return Err(Error::SourceChanged { path: dir.clone(), problem });
        }
        Ok(())
    }
}

/// The first difference in words.
pub(in crate::job) fn difference(planned: &SourceLineage, found: &SourceLineage) -> Option<String> {
    if planned.opstamp != found.opstamp {
        return Some(format!("its opstamp was {} and is {}", planned.opstamp, found.opstamp));
    }
    let ids = |lineage: &SourceLineage| lineage.segments.iter().map(|segment| segment.id.clone()).collect::<Vec<_>>();
    if ids(planned) != ids(found) {
        return Some(format!("its segments were {} and are {}", ids(planned).join(", "), ids(found).join(", ")));
    }
    let mut pairs = planned.segments.iter().zip(&found.segments).filter(|(before, after)| before != after);
    pairs.next().map(|(before, after)| {
        let file = before.files.iter().zip(&after.files).find(|(before, after)| before != after);
        match file {
            Some((file, _)) => format!("{} has another length or checksum than it had", file.name),
            None => format!("segment {} had {} live documents and has {}", before.id, before.num_docs, after.num_docs),
        }
    })
}
