//! The child of each document, as data.
//!
//! Memory: 2 bytes per document of the source.

/// Marks a document that goes to no child: deleted, or none of those at hand.
pub const NO_CHILD: u16 = u16::MAX;

/// Per segment and document, the index of its child.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assignment {
    num_children: usize,
    segments: Vec<Vec<u16>>,
}

impl Assignment {
    /// `segments`: per source segment, per document, a child index below `num_children`, or [`NO_CHILD`].
    #[must_use]
    pub fn new(num_children: usize, segments: Vec<Vec<u16>>) -> Assignment {
        Assignment { num_children, segments }
    }

    /// Number of children.
    #[must_use]
    pub fn num_children(&self) -> usize {
        self.num_children
    }

    /// Child indexes of the documents of a segment.
    #[must_use]
    pub fn segment(&self, segment: usize) -> &[u16] {
        self.segments.get(segment).map_or(&[], Vec::as_slice)
    }

    /// Takes the documents out that `out` says of, by segment and child. They are in the second, and in it alone; of segments
    /// without any it has no entries.
    #[must_use]
    pub fn divide(mut self, out: impl Fn(usize, usize) -> bool) -> (Assignment, Assignment) {
        let mut taken = Vec::with_capacity(self.segments.len());
        for (segment, docs) in self.segments.iter_mut().enumerate() {
            let goes: Vec<bool> = (0..self.num_children).map(|child| out(segment, child)).collect();
            let any = docs.iter().any(|&child| goes.get(usize::from(child)).is_some_and(|&goes| goes));
            let mut theirs = if any { vec![NO_CHILD; docs.len()] } else { Vec::new() };
            for (child, their) in docs.iter_mut().zip(&mut theirs) {
                if goes.get(usize::from(*child)).is_some_and(|&goes| goes) {
                    *their = std::mem::replace(child, NO_CHILD);
                }
            }
            taken.push(theirs);
        }
        let taken = Assignment { num_children: self.num_children, segments: taken };
        (self, taken)
    }

    /// Children that get documents of a segment, ascending.
    #[must_use]
    pub fn children_of(&self, segment: usize) -> Vec<usize> {
        let mut gets = vec![false; self.num_children];
        for &child in self.segment(segment) {
            if let Some(gets) = gets.get_mut(usize::from(child)) {
                *gets = true;
            }
        }
        gets.iter().enumerate().filter(|(_, gets)| **gets).map(|(child, _)| child).collect()
    }

    /// Documents that go to some child.
    #[must_use]
    pub fn num_assigned(&self) -> u64 {
        self.segments.iter().flatten().filter(|&&child| usize::from(child) < self.num_children).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_out_of_an_assignment_is_in_the_other_part_and_nothing_else() {
        let whole = Assignment::new(3, vec![vec![0, 1, NO_CHILD, 2, 1], vec![2, 2], vec![], vec![1, 1]]);
        let (stay, taken) = whole.divide(|segment, child| (segment + child) % 3 != 1);
        let none = NO_CHILD;
        assert_eq!(stay, Assignment::new(3, vec![vec![none, 1, none, none, 1], vec![none; 2], vec![], vec![1, 1]]));
        assert_eq!(taken, Assignment::new(3, vec![vec![0, none, none, 2, none], vec![2, 2], vec![], vec![]]));
        assert_eq!((stay.children_of(0), taken.children_of(0), taken.children_of(1)), (vec![1], vec![0, 2], vec![2]));
        assert_eq!((stay.children_of(2), taken.children_of(9)), (vec![], vec![]));
    }
}
