//! Values as 64-bit words: choosing the codec and writing them, streamed.
//!
//! Format (tantivy-columnar 0.27, `src/column_values/u64_based/mod.rs`): a codec byte, then what the codec writes. The
//! codec is the one whose estimate is smallest, the first one named where several are. The codecs themselves are
//! tantivy's; only the choice is made here, because tantivy's own entry point wants a trait that cannot be named.
//!
//! Cost: every value is read once, or twice where they are more than [`KEPT`]. Memory: those, 4 MiB, and a block of 512
//! values per codec.

use std::io::{self, Write};
use std::num::NonZeroU64;

use tantivy::columnar::column_values::{CodecType, ColumnStats};

use crate::error::{Error, Result};
use crate::progress::Cancel;

/// Codecs tantivy considers for numbers and ordinals.
pub(super) const NUMBERS: [CodecType; 2] = [CodecType::Bitpacked, CodecType::BlockwiseLinear];
/// Codecs tantivy considers for the start offsets of multivalued columns.
pub(super) const OFFSETS: [CodecType; 2] = [CodecType::Bitpacked, CodecType::Linear];

/// So many values are kept from the first pass for the second.
const KEPT: usize = 1 << 19;

/// How often a pass looks whether it was cancelled, in values.
const CANCEL_EVERY: u64 = 1 << 16;

/// Writes the values that `values` iterates over; it may be called twice and must give the same values both times.
pub(super) fn write<I: Iterator<Item = u64>>(
    values: impl Fn() -> I,
    codecs: &[CodecType],
    cancel: &Cancel,
    name: &str,
    out: &mut dyn Write,
) -> Result<()> {
    let mut stats = Stats::default();
    let mut kept = Vec::new();
    let mut estimators: Vec<_> = codecs.iter().map(|codec| (*codec, codec.estimator())).collect();
    // From within, which chains of iterators do faster than step by step.
    values().try_for_each(|value| {
        if stats.count.is_multiple_of(CANCEL_EVERY) {
            cancel.check()?;
        }
        stats.collect(value);
        if kept.len() < KEPT {
            kept.push(value);
        }
        for (_, estimator) in &mut estimators {
            estimator.collect(value);
        }
        Ok::<_, Error>(())
    })?;
    for (_, estimator) in &mut estimators {
        estimator.finalize();
    }
    let all_kept = kept.len() as u64 == stats.count;
    let stats = stats.finish().map_err(Error::io("write", name))?;
    let best = estimators
        .into_iter()
        .filter_map(|(codec, estimator)| Some((estimator.estimate(&stats)?, codec, estimator)))
        .min_by_key(|(bytes, _, _)| *bytes);
    let Some((_, codec, encoder)) = best else {
        // Bit packing fits everything, and both lists of codecs have it.
        return Err(Error::io("write", name)(io::Error::other("no codec fits the values")));
    };
    out.write_all(&[codec as u8]).map_err(Error::io("write", name))?;
    let written = if all_kept {
        encoder.serialize(&stats, &mut kept.into_iter(), out)
    } else {
        drop(kept);
        encoder.serialize(&stats, &mut values(), out)
    };
    written.map_err(Error::io("write", name))
}

/// Least, greatest and number of the values, and the greatest common divisor of their distances.
#[derive(Default)]
struct Stats {
    count: u64,
    first: u64,
    min: u64,
    max: u64,
    /// 0 until two different values were seen.
    gcd: u64,
}

impl Stats {
    fn collect(&mut self, value: u64) {
        if self.count == 0 {
            (self.first, self.min, self.max) = (value, value, value);
        }
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        if self.gcd != 1 {
            self.gcd = gcd(value.abs_diff(self.first), self.gcd);
        }
    }

    fn finish(self) -> io::Result<ColumnStats> {
        let num_rows = u32::try_from(self.count).map_err(io::Error::other)?;
        let gcd = NonZeroU64::new(self.gcd).unwrap_or(NonZeroU64::MIN);
        Ok(ColumnStats { gcd, min_value: self.min, max_value: self.max, num_rows })
    }
}

/// Greatest common divisor; 0 divides into everything.
fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tantivy::columnar::column_values::serialize_u64_based_column_values;

    use super::*;

    fn ours(values: &[u64], codecs: &[CodecType]) -> Vec<u8> {
        let mut out = Vec::new();
        write(|| values.iter().copied(), codecs, &Cancel::new(), "test", &mut out).unwrap();
        out
    }

    fn theirs(values: &[u64], codecs: &[CodecType]) -> Vec<u8> {
        let mut out = Vec::new();
        serialize_u64_based_column_values(&values, codecs, &mut out).unwrap();
        out
    }

    #[test]
    fn values_are_written_as_tantivy_writes_them() {
        let series: [Vec<u64>; 8] = [
            vec![],
            vec![7],
            vec![7; 700],
            (0..2_000).map(|n| n * 1_000 + 3).collect(),
            (0..2_000).rev().map(|n| n * n).collect(),
            (0..2_000).map(|n| 1_700_000_000_000_000_000 + (n * 7919 % 50_000) * 1_000_000_000).collect(),
            vec![0, u64::MAX],
            (0..3_000).map(|n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect(),
        ];
        for values in &series {
            assert_eq!(ours(values, &NUMBERS), theirs(values, &NUMBERS), "{:?}", values.get(..3));
            assert_eq!(ours(values, &OFFSETS), theirs(values, &OFFSETS), "{:?}", values.get(..3));
        }
    }

    #[test]
    fn values_beyond_those_that_are_kept_are_read_again() {
        for len in [KEPT as u64 - 1, KEPT as u64, KEPT as u64 + 1] {
            let (passes, values) = (std::cell::Cell::new(0), || (0..len).map(|n| n * 7 % 1_000));
            let mut out = Vec::new();
            let counted = || {
                passes.set(passes.get() + 1);
                values()
            };
            write(counted, &NUMBERS, &Cancel::new(), "test", &mut out).unwrap();
            assert_eq!(passes.get(), 1 + u32::from(len > KEPT as u64));
            assert!(out == theirs(&values().collect::<Vec<_>>(), &NUMBERS), "{len} values");
        }
    }

    #[test]
    fn a_cancelled_pass_stops() {
        let cancel = Cancel::new();
        cancel.cancel();
        let error = write(|| 0..9u64, &NUMBERS, &cancel, "test", &mut Vec::new()).unwrap_err();
        assert!(matches!(error, Error::Interrupted));
    }

    proptest! {
        #[test]
        fn any_values_are_written_as_tantivy_writes_them(
            base in any::<u64>(), step in 1u64..5_000, steps in prop::collection::vec(0u64..300, 0..1_500)
        ) {
            let values: Vec<u64> = steps.iter().map(|n| base.wrapping_add(n * step)).collect();
            prop_assert_eq!(ours(&values, &NUMBERS), theirs(&values, &NUMBERS));
        }
    }
}
