//! Bars with documents, bytes and the time left, one line per stage, on a terminal only.
//!
//! Where stderr is no terminal the bars are hidden, and `RUST_LOG=info` gives a line per stage instead. Counting costs
//! two atomic additions and a look at the draw clock per call.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressState, ProgressStyle};
use shardsplit::progress::{Progress, Stage, Work};

use super::human;

/// The bars of one job.
pub(crate) struct Bars {
    multi: MultiProgress,
    running: RwLock<Vec<Running>>,
}

/// A stage that runs.
struct Running {
    stage: Stage,
    began: Instant,
    total: Work,
    done: Arc<Done>,
    bar: ProgressBar,
}

/// What a stage has done; read by whoever draws.
#[derive(Default)]
struct Done {
    docs: AtomicU64,
    bytes: AtomicU64,
}

impl Bars {
    /// Bars drawn through `multi`, which knows whether there is a terminal.
    pub(crate) fn new(multi: MultiProgress) -> Bars {
        Bars { multi, running: RwLock::new(Vec::new()) }
    }

    fn take(&self, stage: Stage) -> Option<Running> {
        let mut running = self.running.write().unwrap_or_else(PoisonError::into_inner);
        let index = running.iter().position(|running| running.stage == stage)?;
        Some(running.swap_remove(index))
    }
}

impl Progress for Bars {
    fn begin(&self, stage: Stage, total: Work) {
        self.end(stage);
        tracing::info!(stage = stage.name(), docs = total.docs, bytes = total.bytes, "stage begins");
        let done = Arc::new(Done::default());
        let length = length(total, total);
        let bar = if length == 0 { ProgressBar::new_spinner() } else { ProgressBar::new(length) };
        let bar = self.multi.add(bar);
        bar.set_style(style(total, Arc::clone(&done)));
        bar.set_prefix(stage.name());
        // Keeps the time moving while a stage is inside one long step.
        bar.enable_steady_tick(Duration::from_millis(250));
        let running = Running { stage, began: Instant::now(), total, done, bar };
        self.running.write().unwrap_or_else(PoisonError::into_inner).push(running);
    }

    fn advance(&self, stage: Stage, work: Work) {
        let running = self.running.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = running.iter().find(|running| running.stage == stage) {
            running.done.docs.fetch_add(work.docs, Ordering::Relaxed);
            running.done.bytes.fetch_add(work.bytes, Ordering::Relaxed);
            running.bar.inc(length(work, running.total));
        }
    }

    fn end(&self, stage: Stage) {
        if let Some(running) = self.take(stage) {
            running.bar.finish_and_clear();
            let seconds = running.began.elapsed().as_secs_f64();
            tracing::info!(stage = stage.name(), seconds, "stage is over");
        }
    }
}

impl Drop for Bars {
    /// A job that fails leaves its stage open: its bar must not stay on the screen above the error.
    fn drop(&mut self) {
        for running in self.running.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            running.bar.finish_and_clear();
        }
    }
}

/// What the bar is as long as, or how far it is: documents where they are counted, for a stage that counts both reads
/// files first, which is quick, and then documents.
fn length(work: Work, total: Work) -> u64 {
    if total.docs > 0 { work.docs } else { work.bytes }
}

fn style(total: Work, done: Arc<Done>) -> ProgressStyle {
    let template = if length(total, total) == 0 {
        "{prefix:>8} {spinner} {elapsed}"
    } else {
        "{prefix:>8} [{bar:30}] {amount}, ETA {left}"
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style
        .progress_chars("=> ")
        .tick_chars("|/-\\ ")
        .with_key("amount", move |_: &ProgressState, out: &mut dyn Write| put(out, &amount(total, &done)))
        .with_key("left", |state: &ProgressState, out: &mut dyn Write| put(out, &left(state)))
}

fn put(out: &mut dyn Write, text: &str) {
    // A bar that lacks a part is no reason to stop a job.
    let _ = out.write_str(text);
}

/// The time left; `-` before there is anything to reckon it from.
fn left(state: &ProgressState) -> String {
    match (state.pos(), state.eta()) {
        (0, _) => "-".to_owned(),
        (_, eta) if eta.as_secs() < 60 => format!("{} s", eta.as_secs()),
        (_, eta) => human::seconds(eta.as_secs_f64()),
    }
}

/// `12,000/50,000 documents, 1.20 MB/5.00 MB`, as far as the totals are known.
fn amount(total: Work, done: &Done) -> String {
    let mut parts = Vec::new();
    if total.docs > 0 {
        let docs = done.docs.load(Ordering::Relaxed);
        parts.push(format!("{}/{} documents", human::count(docs), human::count(total.docs)));
    }
    if total.bytes > 0 {
        let bytes = done.bytes.load(Ordering::Relaxed);
        parts.push(format!("{}/{}", human::bytes(bytes), human::bytes(total.bytes)));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use indicatif::ProgressDrawTarget;

    use super::*;

    #[test]
    fn documents_and_bytes_are_shown_as_far_as_totals_are_known() {
        let done = Done::default();
        done.docs.store(1200, Ordering::Relaxed);
        done.bytes.store(2500, Ordering::Relaxed);
        assert_eq!(amount(Work::docs(5000), &done), "1,200/5,000 documents");
        let both = amount(Work { docs: 5000, bytes: 10_000 }, &done);
        assert_eq!(both, "1,200/5,000 documents, 2.50 kB/10.00 kB");
    }

    #[test]
    fn stages_count_apart_and_from_several_threads() {
        let bars = Bars::new(MultiProgress::with_draw_target(ProgressDrawTarget::hidden()));
        bars.begin(Stage::Write, Work::bytes(1000));
        bars.begin(Stage::Verify, Work::docs(10));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| bars.advance(Stage::Write, Work::bytes(100)));
            }
        });
        bars.advance(Stage::Verify, Work::docs(3));
        let position = |stage| bars.take(stage).map(|running| running.bar.position());
        assert_eq!(position(Stage::Write), Some(400));
        assert_eq!(position(Stage::Verify), Some(3));
        assert_eq!(position(Stage::Write), None);
    }
}
