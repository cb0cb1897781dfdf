//! Children from a document's place among all live documents, segment by segment, each in the order of its documents.

use super::Placement;

/// Child of the live document that `rank` live ones stand before, of `live` in all; `None` if the place does not decide.
pub(super) fn child(placement: &Placement, rank: u64, live: u64) -> Option<u64> {
    match *placement {
        Placement::RoundRobin { children } => rank.checked_rem(u64::from(children)),
        Placement::Sequence { children } => {
            let children = u64::from(children);
            let (least, longer) = (live.checked_div(children)?, live.checked_rem(children)?);
            // The first `longer` runs have a document more.
            let beyond = longer * (least + 1);
            Some(match rank.checked_sub(beyond) {
                None => rank / (least + 1),
                // Without documents left there is no rank.
                Some(rest) => longer + rest.checked_div(least)?,
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_differ_by_one_document_and_turns_repeat() {
        let of = |placement: &Placement, live| {
            (0..live).map(|rank| child(placement, rank, live).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(of(&Placement::Sequence { children: 3 }, 8), [0, 0, 0, 1, 1, 1, 2, 2]);
        assert_eq!(of(&Placement::Sequence { children: 4 }, 2), [0, 1]);
        assert_eq!(of(&Placement::Sequence { children: 1 }, 3), [0, 0, 0]);
        assert_eq!(of(&Placement::RoundRobin { children: 3 }, 8), [0, 1, 2, 0, 1, 2, 0, 1]);
        assert_eq!(child(&Placement::Hash, 0, 1), None);
        assert_eq!(child(&Placement::Sequence { children: 0 }, 0, 1), None);
    }
}
