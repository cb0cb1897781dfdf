//! Which numbers of children a shard can have, and why not others.

use serde::Serialize;

use super::{MAX_CHILDREN, RouteError, SplitRouting, SplitSpec};

/// Largest number of children that is listed.
const LISTED: u32 = 1024;
/// Numbers up to this one are explained where they are not legal.
const EXPLAINED: u32 = 12;

/// Numbers of children that are legal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choices {
    /// Whether all up to [`MAX_CHILDREN`] are.
    pub any: bool,
    /// Those up to 1,024, ascending; empty if all are.
    pub legal: Vec<u32>,
    /// Small numbers that are not, with the reason.
    pub refused: Vec<Refused>,
}

/// A number of children that is not legal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// The number.
    pub into: u32,
    /// Why.
    pub why: String,
}

/// The numbers of children that a split like `spec` can have; its own plays no part.
#[must_use]
pub fn choices(spec: SplitSpec) -> Choices {
    let check = |into: u32| -> Result<SplitRouting, RouteError> { SplitRouting::new(SplitSpec { into, ..spec }) };
    let legal: Vec<u32> = (1..=LISTED).filter(|&into| check(into).is_ok()).collect();
    let refused = (1..=EXPLAINED).filter_map(|into| Some(Refused { into, why: check(into).err()?.to_string() }));
    let any = legal.len() == LISTED as usize && check(MAX_CHILDREN).is_ok();
    Choices { any, refused: refused.collect(), legal: if any { Vec::new() } else { legal } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::RoutingFunction;

    #[test]
    fn a_lone_shard_can_have_any_number_and_others_divisors_of_what_is_left() {
        let lone = choices(SplitSpec::new(7));
        assert!(lone.any && lone.legal.is_empty() && lone.refused.is_empty());
        let given = choices(SplitSpec { number_of_routing_shards: Some(12), ..SplitSpec::new(1) });
        assert_eq!(given.legal, [1, 2, 3, 4, 6, 12]);
        assert_eq!(given.refused.iter().map(|refused| refused.into).collect::<Vec<_>>(), [5, 7, 8, 9, 10, 11]);
        assert!(given.refused.iter().all(|refused| refused.why.contains("12")), "{:?}", given.refused);
        let third = choices(SplitSpec { source_shards: 3, ..SplitSpec::new(1) });
        // 3 shards have 768 routing shards.
        assert_eq!(third.legal, [1, 2, 4, 8, 16, 32, 64, 128, 256]);
        let function = RoutingFunction::ElasticsearchModulo;
        assert!(choices(SplitSpec { function, ..SplitSpec::new(1) }).any);
    }
}
