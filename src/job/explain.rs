//! Explaining a plan.

use std::path::Path;

use tantivy::TantivyDocument;
use tantivy::columnar::DynamicColumn;
use tantivy::schema::OwnedValue;

use super::Prepared;
use crate::error::{Error, Result};
use crate::partition::{DocAddress, MAX_DOCS_PER_SEGMENT};
use crate::plan::Method;
use crate::plan::explain::{Explanation, KeyCounts, MethodBytes, count_keys, histogram, look};
use crate::publish::Layout;
use crate::route::{choices, routing_hash};
use crate::source::{Component, Segment, check_terms, guard};

/// Fewer different hashes per child than this make uneven children likely.
const FEW: u64 = 20;

impl Prepared {
    /// Says what the plan rests on: legal numbers of children, how keys are spread, disk by method. Writes nothing.
    ///
    /// # Errors
    /// What reading term dictionaries or the heaviest documents gives.
    pub fn explain(&self) -> Result<Explanation> {
        let (part, plan) = (&self.part, &self.plan);
        let routed = plan.placement.is_hash();
        let each = |see: &mut dyn FnMut(usize, u32, i32)| part.for_each_hash(see);
        let mut keys = None;
        if routed {
            let (mut counts, first) = count_keys(&each, plan.children.len());
            self.name(&mut counts, &first)?;
            keys = Some(counts);
        }
        let largest = plan.children.iter().map(|child| child.docs).max().unwrap_or(0);
        let place = look(part.source.dir(), Layout::new(&self.job.out)?.parent());
        let disk = [Method::Rewrite, Method::Link]
            .into_iter()
            .map(|method| Ok(MethodBytes { method, peak_bytes: part.predict_method(method)? }));
        let mut explanation = Explanation {
            choices: routed.then(|| choices(plan.routing)),
            histogram: routed.then(|| histogram(part.routing.after(), &each)),
            keys,
            imbalance: ratio(largest * plan.children.len() as u64, plan.census.live),
            disk: disk.collect::<Result<_>>()?,
            place,
            most_docs_per_segment: self.options.max_docs_per_segment,
            largest_child: largest,
            warnings: Vec::new(),
        };
        explanation.warnings = self.warnings(&explanation);
        Ok(explanation)
    }

    /// Where the heaviest hashes are, and what their first document says.
    fn name(&self, counts: &mut KeyCounts, first: &[Option<(usize, u32)>]) -> Result<()> {
        let source = &self.part.source;
        for (heavy, first) in counts.heaviest.iter_mut().zip(first) {
            let Some((segment, doc)) = first.and_then(|(index, doc)| Some((source.segments().get(index)?, doc))) else {
                continue;
            };
            heavy.first = Some(DocAddress::of(segment, doc));
            for field in [self.plan.routing_field.as_deref(), Some(self.plan.key.as_str())].into_iter().flatten() {
                let value = guard(segment.path(), "a key", || value(segment, field, doc))?;
                // With partitions the hash has an offset, and the value alone does not give it.
                let fits = |value: &String| routing_hash(value) == heavy.hash || self.part.routing.is_partitioned();
                if heavy.value.is_none() {
                    heavy.value = value.filter(fits);
                }
            }
        }
        Ok(())
    }

    fn warnings(&self, explanation: &Explanation) -> Vec<String> {
        let mut warnings = Vec::new();
        let children = self.plan.children.len() as u64;
        if let Some(keys) = &explanation.keys {
            let distinct = keys.distinct_hashes;
            if children > 1 && keys.documents > 0 && distinct < FEW * children && distinct < keys.documents {
                warnings.push(format!(
                    "there are only {distinct} different routing values for {children} children: documents of one value stay \
                     together, so children will differ"
                ));
            }
            if keys.least_imbalance > 1.0 {
                warnings.push(format!(
                    "the heaviest routing value makes some child at least {:.2} times as large as the mean, however keys are \
                     routed",
                    keys.least_imbalance
                ));
            }
        }
        let peak = self.plan.peak_disk_bytes;
        if let Some(free) = explanation.place.free_bytes.filter(|&free| free < peak) {
            warnings.push(format!("{free} bytes are free where the children will be, and {peak} are needed"));
        }
        if self.plan.method == Method::Link && explanation.place.same_file_system == Some(false) {
            warnings.push(
                "source and target are on different file systems: nothing can be linked, files are copied".to_owned(),
            );
        }
        if self.plan.method == Method::Rewrite && explanation.largest_child > u64::from(MAX_DOCS_PER_SEGMENT) {
            warnings.push(format!(
                "the largest child has {} documents, a segment at most {MAX_DOCS_PER_SEGMENT}: it gets several",
                explanation.largest_child
            ));
        }
        warnings
    }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// A document's value in `field`, where a column or the doc store has it.
fn value(segment: &Segment, field: &str, doc: u32) -> Result<Option<String>> {
    let path = segment.file(Component::FastFields);
    for handle in segment.column_handles(field) {
        let read = |error| Error::io("read a column of", &path)(error);
        let text = match handle.open().map_err(read)? {
            DynamicColumn::Str(column) => {
                check_terms(&path, field, column.dictionary())?;
                let (mut text, ord) = (String::new(), column.term_ords(doc).next());
                match ord {
                    Some(ord) => column.ord_to_str(ord, &mut text).map_err(read)?.then_some(text),
                    None => None,
                }
            }
            DynamicColumn::U64(column) => column.first(doc).map(|number| number.to_string()),
            DynamicColumn::I64(column) => column.first(doc).map(|number| number.to_string()),
            _ => None,
        };
        if text.is_some() {
            return Ok(text);
        }
    }
    let schema = segment.reader().schema();
    let Ok(id) = schema.get_field(field) else { return Ok(None) };
    if !schema.get_field_entry(id).is_stored() {
        return Ok(None);
    }
    stored(segment, doc, &segment.file(Component::Store)).map(|document| {
        document.get_first(id).and_then(|value| match OwnedValue::from(value) {
            OwnedValue::Str(text) => Some(text),
            OwnedValue::U64(number) => Some(number.to_string()),
            OwnedValue::I64(number) => Some(number.to_string()),
            _ => None,
        })
    })
}

fn stored(segment: &Segment, doc: u32, path: &Path) -> Result<TantivyDocument> {
    let store = segment.reader().get_store_reader(1).map_err(Error::io("read", path))?;
    store.get(doc).map_err(Error::tantivy(format!("document {doc}"), path))
}
