//! Exact numbers of tokens per output and field.
//!
//! With frequencies a field's tokens are the sum of its term frequencies. Without (`IndexRecordOption::Basic`) a term that
//! a document repeats leaves no trace in its postings, and what the source counts beyond its postings has to be shared
//! out: exactly, where field norms are exact (fewer than 40 tokens a document) and say what the source counts, else by
//! largest remainder in proportion to the norms, so that the outputs and the deleted documents together still have what
//! the source has. (A shard that was itself shared out can count more or less than its exact norms say.)

use crate::write::norms::FieldLengths;

/// Tokens of output `output`, of a field without frequencies.
///
/// `counted`: documents in its posting lists; `tokens`: what the source counts, and `surplus`: how many of these beyond its
/// posting lists.
pub(super) fn without_freqs(
    output: usize,
    counted: u64,
    (tokens, surplus): (u64, u64),
    lengths: Option<&FieldLengths>,
) -> u64 {
    let Some(lengths) = lengths else { return counted.saturating_add(if output == 0 { surplus } else { 0 }) };
    if surplus == 0 {
        return counted;
    }
    if lengths.exact && lengths.outputs.iter().sum::<u64>() + lengths.dropped == tokens {
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
    counted.saturating_add(u64::try_from(extra).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(outputs: &[u64], dropped: u64, exact: bool) -> FieldLengths {
        FieldLengths { outputs: outputs.to_vec(), most: outputs.to_vec(), dropped, exact }
    }

    #[test]
    fn totals_at_the_end_of_64_bits_do_not_wrap() {
        let all = u64::MAX;
        assert_eq!(without_freqs(0, 10, (all, all), None), all);
        assert_eq!(without_freqs(0, 10, (all, all), Some(&lengths(&[7], 0, false))), all);
        assert_eq!(without_freqs(1, 10, (all, all), Some(&lengths(&[7, 0], 0, false))), 10);
    }

    #[test]
    fn exact_norms_are_taken_as_they_are() {
        let lengths = lengths(&[12, 30], 8, true);
        assert_eq!(without_freqs(0, 10, (50, 9), Some(&lengths)), 12);
        assert_eq!(without_freqs(1, 25, (50, 9), Some(&lengths)), 30);
    }

    #[test]
    fn what_a_shared_out_source_counts_is_kept_though_its_exact_norms_say_otherwise() {
        for dropped in [0, 8] {
            let lengths = lengths(&[12, 30], dropped, true);
            let of = |output, counted| without_freqs(output, counted, (70, 35), Some(&lengths));
            assert_eq!(of(0, 10) + of(1, 25) + of(2, 0), 70, "{dropped}");
        }
    }

    #[test]
    fn lossy_norms_share_out_the_whole_surplus() {
        for surplus in 0..50 {
            let lengths = lengths(&[100, 250, 3, 77], 41, false);
            let counted = [90, 240, 2, 60];
            let total: u64 =
                (0..4).map(|output| without_freqs(output, counted[output], (0, surplus), Some(&lengths))).sum();
            let dropped = without_freqs(4, 0, (0, surplus), Some(&lengths));
            assert_eq!(total + dropped, counted.iter().sum::<u64>() + surplus, "surplus {surplus}");
        }
    }

    #[test]
    fn without_surplus_the_postings_tell() {
        assert_eq!(without_freqs(0, 7, (7, 0), Some(&lengths(&[1000], 0, false))), 7);
    }
}
