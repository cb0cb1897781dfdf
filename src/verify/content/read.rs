//! Reading whole segments, unit by unit, on several threads.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::sums::SegmentSums;
use super::unit::{self, Detail, Fault, Part, Tokens, Unit, View};
use crate::error::{Error, Result};
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::threads;

/// How to read.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    /// Worker threads; 0: one per core.
    pub(crate) threads: usize,
    /// Told about documents of [`Stage::Verify`].
    pub(crate) progress: &'a dyn Progress,
    /// Looked at between units and within.
    pub(crate) cancel: &'a Cancel,
}

/// What a segment holds.
pub(crate) struct Content {
    /// Its documents.
    pub(crate) sums: SegmentSums,
    /// Tokens by field id.
    pub(crate) tokens: BTreeMap<u32, Tokens>,
    /// Documents with a norm above 0, deleted ones too, by field id.
    pub(crate) docs_with_field: BTreeMap<u32, u64>,
    /// What contradicts itself.
    pub(crate) faults: Vec<Fault>,
    /// What could not be read. If anything, the sums are worthless.
    pub(crate) failures: Vec<Error>,
}

/// Reads `only` a part, or everything, of the segments in `views`.
pub(crate) fn segments(
    views: &[View<'_>],
    only: Option<&Part>,
    detail: Detail,
    reading: Reading<'_>,
) -> Result<Vec<Content>> {
    let mut contents: Vec<Content> = views
        .iter()
        .map(|view| Content {
            sums: SegmentSums::new(view.segment.max_doc()),
            tokens: BTreeMap::new(),
            docs_with_field: BTreeMap::new(),
            faults: Vec::new(),
            failures: Vec::new(),
        })
        .collect();
    let mut units: Vec<Unit> = Vec::new();
    for (index, (view, content)) in views.iter().zip(&mut contents).enumerate() {
        match unit::plan(view, index, only, detail) {
            Ok(mut planned) => units.append(&mut planned),
            Err(error) => content.failures.push(error),
        }
    }
    // Long units first, so that no thread is left alone with one at the end. Threads keep to segments: their sums stay
    // in the cache, and nobody waits for a stripe.
    units.sort_by_key(|unit| (unit.segment, std::cmp::Reverse(unit.bytes)));

    let meter = Meter::new(views, &units, only.is_none().then_some(reading.progress));
    let outcomes = threads::each_by_group(
        &units,
        |unit| unit.segment,
        reading.threads,
        |unit| {
            reading.cancel.check()?;
            let (Some(view), Some(content)) = (views.get(unit.segment), contents.get(unit.segment)) else {
                return Ok(unit::Outcome::default());
            };
            let outcome = unit::read(unit, view, &content.sums, reading.cancel)?;
            meter.advance(unit.bytes);
            Ok(outcome)
        },
    )?;

    for (unit, outcome) in units.iter().zip(outcomes) {
        let Some(content) = contents.get_mut(unit.segment) else { continue };
        content.failures.extend(outcome.failed);
        for fault in outcome.faults {
            match content.faults.iter_mut().find(|known| (known.kind, known.component) == (fault.kind, fault.component))
            {
                Some(known) => known.count += fault.count,
                None => content.faults.push(fault),
            }
        }
        if let (Part::Postings(field, _), Some(tokens)) = (&unit.part, outcome.tokens) {
            let sum = content.tokens.entry(field.field_id()).or_default();
            sum.stored = tokens.stored;
            sum.all += tokens.all;
            sum.live += tokens.live;
            sum.terms += tokens.terms;
            sum.postings += tokens.postings;
        }
        if let (Part::Norms(field), Some(docs)) = (&unit.part, outcome.docs_with_field) {
            content.docs_with_field.insert(field.field_id(), docs);
        }
    }
    Ok(contents)
}

/// Turns bytes read into documents done.
struct Meter<'a> {
    progress: Option<&'a dyn Progress>,
    docs: u64,
    bytes: u64,
    done: Mutex<(u64, u64)>,
}

impl<'a> Meter<'a> {
    fn new(views: &[View<'_>], units: &[Unit], progress: Option<&'a dyn Progress>) -> Meter<'a> {
        let docs = views.iter().map(|view| u64::from(view.segment.num_docs())).sum();
        // One byte more per unit, so that units of none advance too.
        let bytes = units.iter().map(|unit| unit.bytes + 1).sum();
        Meter { progress, docs, bytes, done: Mutex::new((0, 0)) }
    }

    fn advance(&self, bytes: u64) {
        let Some(progress) = self.progress else { return };
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.0 += bytes + 1;
        let reached = u128::from(self.docs) * u128::from(done.0) / u128::from(self.bytes.max(1));
        let reached = u64::try_from(reached).unwrap_or(self.docs);
        let step = reached.saturating_sub(done.1);
        done.1 = reached;
        drop(done);
        progress.advance(Stage::Verify, Work::docs(step));
    }
}
