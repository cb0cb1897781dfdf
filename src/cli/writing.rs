//! Flags of how children are written: those of `plan`, `split`, `merge` and `clone`.

use clap::{Args, ValueEnum};
use shardsplit::job::IndexJob;
use shardsplit::partition::{MAX_DOCS_PER_SEGMENT, SegmentMode};
use shardsplit::plan::Method;
use shardsplit::verify::VerifyLevel;

use super::args::ThreadArgs;

/// How children are written.
#[derive(Args, Debug)]
pub(crate) struct WritingArgs {
    /// How children are made [default: rewrite]
    #[arg(long, value_name = "METHOD", help_heading = "Writing")]
    method: Option<MethodArg>,
    /// Segments of children (rewrite only; linked children keep the source's) [default: one]
    #[arg(long, value_name = "LAYOUT", help_heading = "Writing")]
    segments: Option<SegmentsArg>,
    /// Most documents per child segment (rewrite only); more segments, smaller merges later
    #[arg(long, value_name = "N", help_heading = "Writing", default_value_t = MAX_DOCS_PER_SEGMENT, hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_DOCS_PER_SEGMENT)))]
    max_docs_per_segment: u32,
    /// How much is verified before the children are published [default: full]
    #[arg(long, value_name = "LEVEL", help_heading = "Writing")]
    verify: Option<VerifyArg>,
    /// Of an index directory: shards that are worked on side by side, which share the threads; memory grows with it
    /// [default: 1]
    #[arg(long, value_name = "N", help_heading = "Writing")]
    pub(crate) parallel: Option<usize>,
    #[command(flatten)]
    threads: ThreadArgs,
}

impl WritingArgs {
    /// The method that was named, else `usual`.
    pub(crate) fn method(&self, usual: Method) -> Method {
        self.method.map_or(usual, MethodArg::method)
    }

    /// `job` with what these flags say.
    pub(crate) fn over(&self, job: IndexJob) -> IndexJob {
        IndexJob {
            method: self.method.map_or_else(Method::default, MethodArg::method),
            segments: self.segments.map_or_else(SegmentMode::default, SegmentsArg::mode),
            max_docs_per_segment: self.max_docs_per_segment,
            verify: self.verify.map_or_else(VerifyLevel::default, VerifyArg::level),
            threads: self.threads.threads,
            parallel: self.parallel.unwrap_or(1),
            ..job
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum MethodArg {
    /// Write children of final size in one pass over the source; deleted documents vanish
    Rewrite,
    /// Hard-link the source's files into every child and hide the other children's documents: near-instant and almost
    /// no disk space, but disk space comes back only when children merge. Copies where links are impossible
    Link,
}

impl MethodArg {
    fn method(self) -> Method {
        match self {
            MethodArg::Rewrite => Method::Rewrite,
            MethodArg::Link => Method::Link,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SegmentsArg {
    /// One segment per child: fastest to search
    One,
    /// One child segment per source segment: least work, keeps old and new documents apart
    Keep,
}

impl SegmentsArg {
    fn mode(self) -> SegmentMode {
        match self {
            SegmentsArg::One => SegmentMode::One,
            SegmentsArg::Keep => SegmentMode::Keep,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum VerifyArg {
    /// Read source and children back and compare every stored byte, posting, column value and norm
    Full,
    /// Check that files are whole and documents add up; content is not compared
    Counts,
    /// Trust the writer
    None,
}

impl VerifyArg {
    fn level(self) -> VerifyLevel {
        match self {
            VerifyArg::Full => VerifyLevel::Full,
            VerifyArg::Counts => VerifyLevel::Counts,
            VerifyArg::None => VerifyLevel::None,
        }
    }
}
