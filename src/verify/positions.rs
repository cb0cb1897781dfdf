//! Placement by position, counted once more: the source is walked as one would deal cards, without the formula that placed.
//!
//! What the children hold is compared with this assignment by content and order.

use super::finding::{Finding, FindingKind};
use crate::partition::{Assignment, NO_CHILD, Placement};
use crate::source::Source;

/// A finding if `assignment` is not what `placement` says of the live documents of `source`; `None` for placements that
/// are not by position.
pub(super) fn check(source: &Source, placement: &Placement, assignment: &Assignment) -> Option<Finding> {
    let mut deal = Deal::of(placement, source.num_docs())?;
    let mut wrong = 0;
    for (index, segment) in source.segments().iter().enumerate() {
        for (doc, &child) in (0u32..).zip(assignment.segment(index)) {
            let expected = if segment.is_alive(doc) { deal.next() } else { None };
            wrong += u64::from(expected != (child != NO_CHILD).then_some(child));
        }
    }
    (wrong > 0).then(|| {
        let message = format!("{wrong} documents of the source were not placed {placement}");
        Finding::error(FindingKind::Stray, message).count(wrong)
    })
}

/// Deals children to documents, one after the other.
enum Deal {
    /// Who is next, and how many there are.
    Turns { next: u16, children: u16 },
    /// Who gets documents, how many more, how many are left for those after it, and who they are.
    Runs { child: u16, more: u64, left: u64, after: u64 },
}

impl Deal {
    fn of(placement: &Placement, live: u64) -> Option<Deal> {
        match *placement {
            Placement::RoundRobin { children } => {
                Some(Deal::Turns { next: 0, children: u16::try_from(children).ok()? })
            }
            Placement::Sequence { children } => {
                let children = u64::from(children);
                let more = live.div_ceil(children.max(1));
                Some(Deal::Runs { child: 0, more, left: live - more, after: children.saturating_sub(1) })
            }
            _ => None,
        }
    }

    fn next(&mut self) -> Option<u16> {
        match self {
            Deal::Turns { next, children } => {
                let child = *next;
                *next = if child + 1 < *children { child + 1 } else { 0 };
                Some(child)
            }
            Deal::Runs { child, more, left, after } => {
                // What is left is shared by those that come, the first of them getting the larger part.
                while *more == 0 {
                    if *after == 0 {
                        return None;
                    }
                    *more = left.div_ceil(*after);
                    *left -= *more;
                    *after -= 1;
                    *child += 1;
                }
                *more -= 1;
                Some(*child)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_and_runs_are_dealt_to_the_last_document() {
        let deal = |placement: Placement, live: u64| {
            let mut deal = Deal::of(&placement, live).unwrap();
            (0..live).map(|_| deal.next().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(deal(Placement::RoundRobin { children: 3 }, 5), [0, 1, 2, 0, 1]);
        assert_eq!(deal(Placement::Sequence { children: 3 }, 8), [0, 0, 0, 1, 1, 1, 2, 2]);
        assert_eq!(deal(Placement::Sequence { children: 5 }, 7), [0, 0, 1, 1, 2, 3, 4]);
        assert_eq!(deal(Placement::Sequence { children: 4 }, 2), [0, 1]);
        assert_eq!(deal(Placement::Sequence { children: 1 }, 2), [0, 0]);
        assert!(Deal::of(&Placement::Hash, 1).is_none());
    }
}
