//! Exact numbers of tokens per output and field.
//!
//! With frequencies a field's tokens are the sum of its term frequencies. Without (`IndexRecordOption::Basic`) a term that
//! a document repeats leaves no trace in its postings, and what the source counts beyond its postings has to be shared
//! out: exactly, where field norms are exact (fewer than 40 tokens a document), else by largest remainder in proportion
//! to the norms, so that the outputs and the deleted documents together still have what the source has.

use crate::write::norms::FieldLengths;

/// Tokens of output `output`, of a field without frequencies.
///
/// `counted`: documents in its posting lists; `surplus`: tokens that the source counts beyond its posting lists, `total` of
/// them in all. Exact norms tell only if they add up to that: a source that is itself a share of a larger one has the
/// tokens that it was given then.
pub(super) fn without_freqs(
    output: usize,
    counted: u64,
    surplus: u64,
    total: u64,
    lengths: Option<&FieldLengths>,
) -> u64 {
    let Some(lengths) = lengths else { return counted + if output == 0 { surplus } else { 0 } };
    if surplus == 0 {
        return counted;
    }
    if lengths.exact && lengths.outputs.iter().sum::<u64>() + lengths.dropped == total {
        return lengths.outputs.get(output).copied().unwrap_or(0).max(counted);
    }
    // Largest remainder over the outputs and, last, the dropped documents.
    let shares: Vec<u128> =
        lengths.outputs.iter().chain([&lengths.dropped]).map(|&tokens| u128::from(tokens)).collect();
    let whole: u128 = shares.iter().sum::<u128>().max(1);
    let floor = |share: u128| u128::from(surplus) * share / whole;
    let remainder = |share: u128| u128::from(surplus) * share % whole;
    let given: u128 = shares.iter().map(|&share| floor(share)).sum();
    let left = u128::from(surplus).saturating_sub(given);
    let Some(&own) = shares.get(output) else { return counted };
    let before = shares
        .iter()
        .enumerate()
        .filter(|&(other, &share)| {
            (remainder(share), std::cmp::Reverse(other)) > (remainder(own), std::cmp::Reverse(output))
        })
        .count() as u128;
    let extra = floor(own) + u128::from(before < left);
    counted + u64::try_from(extra).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(outputs: &[u64], dropped: u64, exact: bool) -> FieldLengths {
        FieldLengths { outputs: outputs.to_vec(), most: outputs.to_vec(), dropped, exact }
    }

    #[test]
    fn exact_norms_are_taken_as_they_are() {
        let lengths = lengths(&[12, 30], 8, true);
        assert_eq!(without_freqs(0, 10, 9, 50, Some(&lengths)), 12);
        assert_eq!(without_freqs(1, 25, 9, 50, Some(&lengths)), 30);
    }

    #[test]
    fn exact_norms_that_do_not_add_up_to_the_total_share_out_the_surplus() {
        let lengths = lengths(&[12, 30], 0, true);
        let totals = [10, 25]
            .iter()
            .enumerate()
            .map(|(output, &counted)| without_freqs(output, counted, 14, 49, Some(&lengths)));
        assert_eq!(totals.collect::<Vec<_>>(), [14, 35]);
    }

    #[test]
    fn lossy_norms_share_out_the_whole_surplus() {
        for surplus in 0..50 {
            let lengths = lengths(&[100, 250, 3, 77], 41, false);
            let counted = [90, 240, 2, 60];
            let total: u64 =
                (0..4).map(|output| without_freqs(output, counted[output], surplus, 0, Some(&lengths))).sum();
            let dropped = without_freqs(4, 0, surplus, 0, Some(&lengths));
            assert_eq!(total + dropped, counted.iter().sum::<u64>() + surplus, "surplus {surplus}");
        }
    }

    #[test]
    fn without_surplus_the_postings_tell() {
        assert_eq!(without_freqs(0, 7, 0, 7, Some(&lengths(&[1000], 0, false))), 7);
    }
}
