//! From one number of shards of a whole index to another: split, merge, clone.
//!
//! Input: how an index routes ([`IndexRouting`]), and how many shards are wanted. Output: a [`Resize`]: how the new index
//! routes, and for every set of shards that depend on each other (one shard and its children, or the shards that become
//! one) a [`SplitRouting`]. Legal is what Elasticsearch's `_split`, `_shrink` and `_clone` allow: a split goes to a
//! multiple that divides number_of_routing_shards, a merge to a proper divisor, and number_of_routing_shards stays, unless
//! the index has one shard: then a split chooses it anew from the target (`MetadataCreateIndexService`).
//!
//! Invariant: every shard of the old index is a source of exactly one part, and every shard of the new one a child of
//! exactly one.

use serde::Serialize;

use super::split::divisors;
use super::{MAX_CHILDREN, RouteError, RoutingFunction, SplitRouting, SplitSpec, default_number_of_routing_shards};

/// How the documents of a whole index are routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct IndexRouting {
    /// The routing function.
    pub function: RoutingFunction,
    /// Shards.
    pub number_of_shards: u32,
    /// Parts that the hash space is cut into; `None` for plain modulo, which has none.
    pub number_of_routing_shards: Option<u32>,
    /// Over how many shards one routing value spreads.
    pub routing_partition_size: u32,
}

impl IndexRouting {
    /// Checks that the numbers fit together.
    ///
    /// # Errors
    /// [`RouteError`].
    pub fn check(&self) -> Result<(), RouteError> {
        bounded(u64::from(self.number_of_shards))?;
        SplitRouting::new(SplitSpec { number_of_routing_shards: self.routing_shards(), ..self.spec(1, 1) }).map(drop)
    }

    /// A split or merge of shard 0; number_of_routing_shards as it is now.
    fn spec(&self, from: u32, into: u32) -> SplitSpec {
        SplitSpec {
            function: self.function,
            from,
            into,
            source_shards: self.number_of_shards,
            source_shard: 0,
            number_of_routing_shards: self.number_of_routing_shards,
            routing_partition_size: self.routing_partition_size,
        }
    }

    /// number_of_routing_shards, or Elasticsearch's default where there is none; `None` for plain modulo.
    fn routing_shards(&self) -> Option<u32> {
        match self.function {
            RoutingFunction::Elasticsearch => Some(
                self.number_of_routing_shards
                    .unwrap_or_else(|| default_number_of_routing_shards(self.number_of_shards)),
            ),
            RoutingFunction::ElasticsearchModulo => None,
        }
    }
}

/// What is done to a whole index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Every shard becomes several (Elasticsearch's `_split`).
    Split,
    /// Several shards become one (Elasticsearch's `_shrink`).
    Merge,
    /// Every shard becomes one (Elasticsearch's `_clone`).
    Clone,
}

impl Operation {
    /// Lower-case name, as of the command.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Operation::Split => "split",
            Operation::Merge => "merge",
            Operation::Clone => "clone",
        }
    }
}

/// A checked change of the number of shards of a whole index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resize {
    operation: Operation,
    before: IndexRouting,
    after: IndexRouting,
    parts: Vec<SplitRouting>,
}

impl Resize {
    /// Every shard becomes `into` shards; with 1 this is a clone. `number_of_routing_shards` can be chosen for an index
    /// of one shard only; `None` keeps it there if it can, as it does everywhere else.
    ///
    /// # Errors
    /// [`RouteError`]: what does not fit, why, and which numbers would.
    pub fn split(before: IndexRouting, into: u32, number_of_routing_shards: Option<u32>) -> Result<Resize, RouteError> {
        if into == 1 && number_of_routing_shards.is_none_or(|asked| Some(asked) == before.number_of_routing_shards) {
            return Resize::cloned(before);
        }
        let current = before.routing_shards();
        let fixed = before.number_of_shards > 1 || before.function == RoutingFunction::ElasticsearchModulo;
        let number_of_routing_shards = match number_of_routing_shards {
            Some(asked) if fixed && Some(asked) != current => {
                let number_of_shards = before.number_of_shards;
                return Err(RouteError::FixedRoutingShards { number_of_shards, asked, current });
            }
            Some(asked) => Some(asked),
            None if fixed => current,
            None => None,
        };
        Resize::new(Operation::Split, before, SplitSpec { number_of_routing_shards, ..before.spec(1, into) })
    }

    /// Shards go together, so that `into` are left.
    ///
    /// # Errors
    /// [`RouteError::Merge`] unless `into` is a proper divisor of the number of shards; others if its own numbers do not
    /// fit together.
    pub fn merge(before: IndexRouting, into: u32) -> Result<Resize, RouteError> {
        before.check()?;
        let number_of_shards = before.number_of_shards;
        if into == 0 || into >= number_of_shards || !number_of_shards.is_multiple_of(into) {
            let mut legal = divisors(number_of_shards);
            legal.retain(|&shards| shards < number_of_shards);
            return Err(RouteError::Merge { number_of_shards, into, legal });
        }
        let number_of_routing_shards = before.routing_shards();
        let spec = SplitSpec { number_of_routing_shards, ..before.spec(number_of_shards / into, 1) };
        Resize::new(Operation::Merge, before, spec)
    }

    /// Every shard becomes one.
    ///
    /// # Errors
    /// [`RouteError`] if the index's own numbers do not fit together.
    pub fn cloned(before: IndexRouting) -> Result<Resize, RouteError> {
        let number_of_routing_shards = before.routing_shards();
        Resize::new(Operation::Clone, before, SplitSpec { number_of_routing_shards, ..before.spec(1, 1) })
    }

    /// What leads from one index to the other.
    ///
    /// # Errors
    /// [`RouteError::Unrelated`] if nothing does.
    pub fn between(before: IndexRouting, after: IndexRouting) -> Result<Resize, RouteError> {
        let (shards, wanted) = (before.number_of_shards, after.number_of_shards);
        let unrelated = |problem| RouteError::Unrelated { before: shards, after: wanted, problem };
        if before.function != after.function {
            return Err(unrelated("their routing functions differ"));
        }
        if before.routing_partition_size != after.routing_partition_size {
            return Err(unrelated("their routing_partition_size differs"));
        }
        if shards == 0 || wanted == 0 || !(shards.is_multiple_of(wanted) || wanted.is_multiple_of(shards)) {
            return Err(unrelated("neither number of shards is a multiple of the other"));
        }
        let resize = if wanted > shards {
            let chosen = (shards == 1).then_some(after.number_of_routing_shards).flatten();
            Resize::split(before, wanted / shards, chosen)?
        } else if wanted < shards {
            Resize::merge(before, wanted)?
        } else {
            Resize::cloned(before)?
        };
        if resize.after.number_of_routing_shards == after.routing_shards() {
            Ok(resize)
        } else {
            Err(unrelated("number_of_routing_shards is not the same"))
        }
    }

    /// `spec`: of the first part.
    fn new(operation: Operation, before: IndexRouting, spec: SplitSpec) -> Result<Resize, RouteError> {
        let shards = before.number_of_shards;
        bounded(u64::from(shards))?;
        bounded(u64::from(shards) * u64::from(spec.into.max(1)))?;
        let first = SplitRouting::new(spec)?;
        let after = IndexRouting {
            number_of_shards: first.after().number_of_shards(),
            number_of_routing_shards: first.number_of_routing_shards(),
            ..before
        };
        let number_of_parts = shards / spec.from;
        let step = match spec.function {
            RoutingFunction::Elasticsearch => spec.from,
            RoutingFunction::ElasticsearchModulo => 1,
        };
        let mut parts = Vec::with_capacity(number_of_parts as usize);
        parts.push(first);
        for part in 1..number_of_parts {
            parts.push(SplitRouting::new(SplitSpec { source_shard: part * step, ..spec })?);
        }
        let before = IndexRouting { number_of_routing_shards: before.routing_shards(), ..before };
        Ok(Resize { operation, before, after, parts })
    }

    /// What is done.
    #[must_use]
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// Routing of the index as it is.
    #[must_use]
    pub fn before(&self) -> &IndexRouting {
        &self.before
    }

    /// Routing of the index as it will be.
    #[must_use]
    pub fn after(&self) -> &IndexRouting {
        &self.after
    }

    /// The parts, ascending by their first source shard.
    #[must_use]
    pub fn parts(&self) -> &[SplitRouting] {
        &self.parts
    }
}

fn bounded(number_of_shards: u64) -> Result<(), RouteError> {
    if number_of_shards <= u64::from(MAX_CHILDREN) { Ok(()) } else { Err(RouteError::WholeIndex { number_of_shards }) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const FUNCTIONS: [RoutingFunction; 2] = [RoutingFunction::Elasticsearch, RoutingFunction::ElasticsearchModulo];

    fn index(function: RoutingFunction, number_of_shards: u32, routing_shards: u32) -> IndexRouting {
        let number_of_routing_shards = (function == RoutingFunction::Elasticsearch).then_some(routing_shards);
        IndexRouting { function, number_of_shards, number_of_routing_shards, routing_partition_size: 1 }
    }

    fn numbers(resize: &Resize) -> Vec<(Vec<u32>, Vec<u32>)> {
        resize.parts().iter().map(|part| (part.sources().to_vec(), part.children().to_vec())).collect()
    }

    #[test]
    fn shards_go_together_as_they_came_apart() {
        let [scaled, modulo] =
            FUNCTIONS.map(|function| numbers(&Resize::split(index(function, 2, 12), 3, None).unwrap()));
        assert_eq!(scaled, [(vec![0], vec![0, 1, 2]), (vec![1], vec![3, 4, 5])]);
        assert_eq!(modulo, [(vec![0], vec![0, 2, 4]), (vec![1], vec![1, 3, 5])]);
        for (function, split) in FUNCTIONS.into_iter().zip([scaled, modulo]) {
            let merged = numbers(&Resize::merge(index(function, 6, 12), 2).unwrap());
            let inverse: Vec<_> = split.into_iter().map(|(sources, children)| (children, sources)).collect();
            assert_eq!(merged, inverse, "{function:?}");
        }
    }

    #[test]
    fn a_merge_sends_every_hash_where_the_smaller_index_looks_for_it() {
        for function in FUNCTIONS {
            for (shards, into) in [(6, 2), (6, 3), (6, 1), (4, 2), (12, 4)] {
                let resize = Resize::merge(index(function, shards, 24), into).unwrap();
                let mut seen = BTreeSet::new();
                for hash in (i32::MIN..=i32::MAX).step_by(7_919_003) {
                    for part in resize.parts() {
                        let (old, new) = (part.before().shard(hash, 0), part.after().shard(hash, 0));
                        match part.child_of(hash, 0) {
                            Ok(0) => assert_eq!(part.children(), [new]),
                            Err(owner) => assert!(owner == old && !part.sources().contains(&old)),
                            other => panic!("{other:?}"),
                        }
                        let from: Vec<_> = (0..part.sources().len()).map(|at| part.child_from(at, hash, 0)).collect();
                        for (source, found) in part.sources().iter().zip(from) {
                            assert_eq!(found, if *source == old { Ok(0) } else { Err(old) });
                        }
                        seen.insert((old, new));
                    }
                }
                assert_eq!(seen.len(), shards as usize, "each shard goes into exactly one: {seen:?}");
            }
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused_with_those_that_do() {
        let twelve = index(RoutingFunction::Elasticsearch, 6, 12);
        let refused = |result: Result<Resize, RouteError>| result.unwrap_err().to_string();
        assert!(refused(Resize::merge(twelve, 4)).ends_with("possible: 1, 2, 3"));
        assert!(matches!(Resize::merge(twelve, 6), Err(RouteError::Merge { .. })), "that is a clone");
        assert!(matches!(Resize::merge(twelve, 0), Err(RouteError::Merge { .. })));
        assert!(refused(Resize::merge(index(RoutingFunction::Elasticsearch, 1, 12), 1)).contains("nothing to merge"));
        assert!(refused(Resize::split(twelve, 3, None)).ends_with("possible: 1, 2"));
        assert!(matches!(Resize::split(twelve, 2, Some(24)), Err(RouteError::FixedRoutingShards { .. })));
        assert!(Resize::split(twelve, 2, Some(12)).is_ok());
        let modulo = index(RoutingFunction::ElasticsearchModulo, 6, 0);
        assert!(matches!(Resize::split(modulo, 2, Some(12)), Err(RouteError::FixedRoutingShards { .. })));
        assert!(matches!(Resize::split(modulo, 65_534, None), Err(RouteError::WholeIndex { .. })));
        let wrong = SplitSpec { from: 2, source_shards: 6, source_shard: 3, ..SplitSpec::new(1) };
        assert!(matches!(SplitRouting::new(wrong), Err(RouteError::FirstSource { first: 2, .. })));
        assert!(matches!(SplitRouting::new(SplitSpec { into: 2, ..wrong }), Err(RouteError::Sources { .. })));
    }

    #[test]
    fn an_index_of_one_shard_chooses_its_routing_shards_anew_and_others_keep_theirs() {
        let one = index(RoutingFunction::Elasticsearch, 1, 1024);
        let after = |resize: Result<Resize, RouteError>| resize.unwrap().after().number_of_routing_shards;
        assert_eq!(after(Resize::split(one, 3, None)), Some(768));
        assert_eq!(after(Resize::split(one, 3, Some(30))), Some(30));
        assert_eq!(after(Resize::cloned(one)), Some(1024));
        let six = index(RoutingFunction::Elasticsearch, 6, 12);
        assert_eq!(after(Resize::split(six, 2, None)), Some(12));
        assert_eq!(after(Resize::merge(six, 1)), Some(12));
    }

    #[test]
    fn what_leads_from_one_index_to_another_is_found_or_refused() {
        for function in FUNCTIONS {
            let of = |shards| index(function, shards, 24);
            for (before, after, operation) in
                [(2, 6, Operation::Split), (6, 2, Operation::Merge), (6, 6, Operation::Clone), (1, 6, Operation::Split)]
            {
                let resize = Resize::between(of(before), of(after)).unwrap();
                assert_eq!((resize.operation(), resize.after()), (operation, &of(after)));
            }
            assert!(Resize::between(of(4), of(6)).is_err());
            let partitioned = IndexRouting { routing_partition_size: 2, ..of(4) };
            assert!(Resize::between(of(2), partitioned).is_err());
        }
        let [scaled, modulo] = FUNCTIONS.map(|function| index(function, 2, 24));
        assert!(Resize::between(scaled, modulo).is_err());
        let other = index(RoutingFunction::Elasticsearch, 4, 48);
        assert!(Resize::between(scaled, other).is_err());
    }
}
