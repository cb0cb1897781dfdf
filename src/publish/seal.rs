//! From written segments to a sealed set: index files and manifest of each child, then the set manifest that is the seal.

use std::sync::PoisonError;

use super::layout::{MANAGED, MANIFEST, META, ROUTING};
use super::manifest::{
    ChildManifest, ChildSegment, ChildSource, FORMAT, RoutingRecord, SetChild, SetManifest, SetPart, tool,
};
use super::manifest_file::to_bytes;
use super::record::PartRecord;
use super::staging::Staging;
use super::unrouted_file::UnroutedFile;
use crate::error::{Error, Result};
use crate::partition::Placement;
use crate::source::Meta;
use crate::verify::VerifyLevel;
use crate::write::{WrittenFile, WrittenSegment, managed_json, meta_json};

/// What verification of the staged children showed.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// How much was verified.
    pub level: VerifyLevel,
    /// Content digest of all sources together.
    pub digest: Option<String>,
    /// Content digests of the sources by part; may be empty.
    pub parts: Vec<Option<String>>,
    /// Content digests by child index; may be empty.
    pub children: Vec<Option<String>>,
}

impl Staging {
    /// Completes a child: writes `.managed.json`, the child manifest, and `meta.json` last. `segments` are those of
    /// this child, in the order in which `meta.json` shall name them; the index of the child that they name is that within
    /// its part.
    ///
    /// # Errors
    /// [`Error::Census`] if they do not hold as many documents as the census says; [`Error::Manifest`] if they belong
    /// to another child; [`Error::Io`].
    pub fn add_index_files(&self, child: usize, source: &Meta, segments: &[WrittenSegment]) -> Result<()> {
        let (shard, dir) = self.child(child)?;
        let refuse = |problem: String| Error::Manifest { path: dir.join(MANIFEST), problem };
        let Some((part, place)) = self.record.part_of(child) else {
            return Err(refuse(format!("no part has child {child}")));
        };
        if let Some(other) = segments.iter().find(|segment| segment.child != place) {
            return Err(refuse(format!("segment {} belongs to child {}, not {place}", other.id, other.child)));
        }
        let docs = segments.iter().map(|segment| u64::from(segment.num_docs())).sum();
        let expected = part.census.children.get(place).copied().unwrap_or(0);
        if docs != expected {
            return Err(Error::Census { path: dir, live: expected, children: docs });
        }
        let (meta, managed) = (meta_json(source, segments)?, managed_json(segments)?);
        let mut files: Vec<WrittenFile> = segments.iter().flat_map(|segment| segment.all_files().cloned()).collect();
        files.extend([written(META, &meta), written(MANAGED, &managed)]);
        files.sort();
        let manifest = ChildManifest {
            format: FORMAT,
            tool: tool(),
            shard,
            docs,
            routing: routing_of(&self.record.routing, part),
            method: self.record.method,
            sources: part.sources.iter().map(ChildSource::from).collect(),
            segments: segments.iter().map(ChildSegment::from).collect(),
            files,
        };
        let manifest = to_bytes(&dir.join(MANIFEST), &manifest)?;
        self.write_file(&dir.join(MANAGED), &managed)?;
        self.write_file(&dir.join(MANIFEST), &manifest)?;
        // ORDER: without meta.json the directory is no index, so half a child cannot be opened by accident.
        self.write_file(&dir.join(META), &meta)?;
        let entry = SetChild { shard, docs, digest: None, manifest: written(MANIFEST, &manifest) };
        if let Some(finished) = self.finished.lock().unwrap_or_else(PoisonError::into_inner).get_mut(child) {
            *finished = Some(entry);
        }
        Ok(())
    }

    /// Makes all children durable and seals the set: after a crash from here on `recover` publishes it.
    ///
    /// # Errors
    /// [`Error::Manifest`] if a child was not completed; [`Error::Io`].
    pub fn seal(&mut self, proof: &Proof) -> Result<()> {
        let dir = self.layout.children();
        let finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut children = Vec::with_capacity(finished.len());
        for (index, finished) in finished.into_iter().enumerate() {
            let Some(mut child) = finished else {
                let problem = format!("child {index} was not completed");
                return Err(Error::Manifest { path: dir.join(MANIFEST), problem });
            };
            child.digest = proof.children.get(index).cloned().flatten();
            children.push(child);
        }
        children.sort_by_key(|child| child.shard);
        let routing_file = match &self.record.routing.placement {
            Placement::Hash => self.record.routing_file.to_bytes(&dir.join(ROUTING))?,
            placement => UnroutedFile::new(children.len(), placement).to_bytes(&dir.join(ROUTING))?,
        };
        self.write_file(&dir.join(ROUTING), &routing_file)?;
        self.sync_files()?;
        for child in &children {
            self.sync_dir(&self.layout.staged_child(child.shard))?;
        }
        self.sync_dir(&dir)?;
        self.sync_dir(self.layout.staging())?;
        // ORDER: every file, and the way to it, is durable before the seal says so.
        let manifest = SetManifest {
            format: FORMAT,
            tool: tool(),
            operation: self.record.operation,
            routing: self.record.routing.clone(),
            method: self.record.method,
            segments: self.record.segments,
            verified: proof.level,
            docs: children.iter().map(|child| child.docs).sum(),
            digest: proof.digest.clone(),
            parts: self
                .record
                .parts
                .iter()
                .enumerate()
                .map(|(index, part)| set_part(part, proof.parts.get(index)))
                .collect(),
            routing_file: written(ROUTING, &routing_file),
            children,
        };
        self.write_whole(&dir, MANIFEST, &to_bytes(&dir.join(MANIFEST), &manifest)?)?;
        // CRASH: the seal may or may not have lasted; either is whole, and `recover` removes or publishes accordingly.
        self.sync_dir(&dir)?;
        self.sealed = true;
        Ok(())
    }
}

/// The record of routing, as it is for one part.
pub(super) fn routing_of(routing: &RoutingRecord, part: &PartRecord) -> RoutingRecord {
    // Tables are as large as the index has shards: once is enough.
    let mut routing = RoutingRecord { tables: None, ..routing.clone() };
    if let Some(first) = part.sources.first() {
        routing.split.source_shard = first.shard;
    }
    routing
}

fn set_part(part: &PartRecord, digest: Option<&Option<String>>) -> SetPart {
    SetPart {
        sources: part.sources.clone(),
        children: part.children.iter().map(|child| child.shard).collect(),
        census: part.census.clone(),
        digest: digest.cloned().flatten(),
    }
}

pub(super) fn written(name: &str, bytes: &[u8]) -> WrittenFile {
    WrittenFile { name: name.to_owned(), len: bytes.len() as u64, crc32: crc32fast::hash(bytes), linked: false }
}
