//! Medians, ratios, and the critical path.

use serde::Serialize;

use crate::measure::Cost;

/// Where the middle lies, and the ends.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

impl Spread {
    /// `None` of nothing.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Spread> {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let median = (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0;
        Some(Spread { median, min, max })
    }

    /// Of one figure of some runs.
    pub fn over(costs: &[Cost], figure: impl Fn(&Cost) -> f64) -> Option<Spread> {
        Spread::of(costs.iter().map(figure))
    }

    /// Of the quotients round by round: both sides met the same machine.
    pub fn ratio(above: &[Cost], below: &[Cost], figure: impl Fn(&Cost) -> f64) -> Option<Spread> {
        Spread::of(above.iter().zip(below).map(|(above, below)| figure(above) / figure(below)))
    }
}

/// A stage of the rewrite with one thread and with several.
#[derive(Clone, Debug, Serialize)]
pub struct StagePath {
    pub name: String,
    /// Wall seconds with one thread.
    pub one: f64,
    /// Wall seconds with several.
    pub several: f64,
    /// The part of `one` that more threads do not shorten, by Amdahl's law.
    pub serial: f64,
}

/// What keeps the rewrite from being faster with more threads.
#[derive(Clone, Debug, Serialize)]
pub struct CriticalPath {
    /// How many several are.
    pub threads: usize,
    pub stages: Vec<StagePath>,
    /// Wall seconds with one thread.
    pub one: f64,
    /// Wall seconds with several.
    pub several: f64,
    /// Share of `one`.
    pub serial: f64,
    /// Wall seconds that 16 threads would take on 16 cores.
    pub at_16: f64,
}

impl CriticalPath {
    /// From runs with one thread and runs with `threads`: medians. `None` if either was not measured.
    pub fn of(one: &[Cost], several: &[Cost], threads: usize) -> Option<CriticalPath> {
        let mut stages: Vec<StagePath> = Vec::new();
        for stage in &one.first()?.stages {
            let wall =
                |cost: &Cost| cost.stages.iter().filter(|own| own.name == stage.name).map(|own| own.wall).sum::<f64>();
            stages.push(StagePath::of(&stage.name, one, several, threads, wall)?);
        }
        // Planning, mapping documents: what no stage counts.
        stages.push(StagePath::of("between", one, several, threads, between)?);
        let sum = |figure: fn(&StagePath) -> f64| stages.iter().map(figure).sum::<f64>();
        let total = sum(|stage| stage.one);
        let serial = sum(|stage| stage.one * stage.serial);
        Some(CriticalPath {
            threads,
            one: total,
            several: sum(|stage| stage.several),
            serial: serial / total,
            at_16: serial + (total - serial) / 16.0,
            stages,
        })
    }
}

impl StagePath {
    fn of(
        name: &str,
        one: &[Cost],
        several: &[Cost],
        threads: usize,
        wall: impl Fn(&Cost) -> f64,
    ) -> Option<StagePath> {
        let one = Spread::over(one, &wall)?.median;
        let several = Spread::over(several, &wall)?.median;
        // several = one * (serial + (1 - serial) / threads)
        let ideal = 1.0 / threads as f64;
        let serial = if one > 0.0 { ((several / one - ideal) / (1.0 - ideal)).clamp(0.0, 1.0) } else { 0.0 };
        Some(StagePath { name: name.to_owned(), one, several, serial })
    }
}

/// Wall seconds that no stage counts.
pub fn between(cost: &Cost) -> f64 {
    (cost.wall - cost.stages.iter().map(|stage| stage.wall).sum::<f64>()).max(0.0)
}
