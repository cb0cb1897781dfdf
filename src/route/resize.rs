//! From one number of shards of a whole index to another: split, merge, clone.
//!
//! Input: how an index routes ([`IndexRouting`]), and how many shards are wanted. Output: a [`Resize`]: how the new index
//! routes, and for every set of shards that depend on each other (one shard and its children, or the shards that become
//! one) a [`SplitRouting`]. Legal is what Elasticsearch's `_split`, `_shrink` and `_clone` allow: a split goes to a
//! multiple that divides number_of_routing_shards, a merge to a proper divisor, and number_of_routing_shards stays, unless
//! the index has one shard: then a split chooses it anew from the target (`MetadataCreateIndexService`).
//!
//! Under a table the same is done shard by shard: a split cuts every shard evenly, a merge joins neighbours, and the tables
//! of both indexes say what leads from one to the other.
//!
//! Invariant: every shard of the old index is a source of exactly one part, and every shard of the new one a child of
//! exactly one.

mod by_table;

use std::sync::Arc;

use serde::Serialize;

use super::legal::divisors;
use super::{
    Elasticsearch, ElasticsearchModulo, HashTable, MAX_CHILDREN, RouteError, Router, RoutingFunction, RoutingTable,
    ShardNumber, SplitRouting, SplitSpec, default_number_of_routing_shards,
};

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
    /// Of an index that is routed by `table`.
    #[must_use]
    pub fn of_table(table: &RoutingTable, routing_partition_size: u32) -> IndexRouting {
        IndexRouting {
            function: table.function(),
            number_of_shards: table.number_of_shards(),
            number_of_routing_shards: table.slots(),
            routing_partition_size,
        }
    }

    /// From hash to shard.
    ///
    /// # Errors
    /// [`RouteError`] if the numbers do not fit together; [`RouteError::TableNeeded`].
    pub fn router(&self) -> Result<Router, RouteError> {
        Ok(match self.function {
            RoutingFunction::Elasticsearch => {
                let routing_shards = self.routing_shards().unwrap_or(self.number_of_shards);
                Router::Elasticsearch(Elasticsearch::new(self.number_of_shards, routing_shards)?)
            }
            RoutingFunction::ElasticsearchModulo => Router::Modulo(ElasticsearchModulo::new(self.number_of_shards)?),
            function => return Err(RouteError::TableNeeded { function: function.name() }),
        })
    }

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
            _ => None,
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
    /// Documents move between shards, from one table to another.
    Move,
}

impl Operation {
    /// Lower-case name, as of the command.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Operation::Split => "split",
            Operation::Merge => "merge",
            Operation::Clone => "clone",
            Operation::Move => "move",
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
    tables: Option<(Arc<RoutingTable>, Arc<RoutingTable>)>,
}

impl Resize {
    /// Every shard becomes `into` shards; with 1 this is a clone. `number_of_routing_shards` can be chosen for an index
    /// of one shard only; `None` there is Elasticsearch's default for the new number of shards. Elsewhere it stays.
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
            RoutingFunction::ElasticsearchModulo => 1,
            _ => spec.from,
        };
        let mut parts = Vec::with_capacity(number_of_parts as usize);
        parts.push(first);
        for part in 1..number_of_parts {
            parts.push(SplitRouting::new(SplitSpec { source_shard: part * step, ..spec })?);
        }
        let before = IndexRouting { number_of_routing_shards: before.routing_shards(), ..before };
        Ok(Resize { operation, before, after, parts, tables: None })
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

    /// The table of the index as it will be, if it is routed by one.
    #[must_use]
    pub fn table_after(&self) -> Option<&Arc<RoutingTable>> {
        self.tables.as_ref().map(|(_, after)| after)
    }

    /// Shards of the index as it is, ascending.
    #[must_use]
    pub fn shards_before(&self) -> Vec<ShardNumber> {
        match &self.tables {
            Some((before, _)) => HashTable::shards(&**before),
            None => (0..self.before.number_of_shards).collect(),
        }
    }

    /// Shards of the index as it will be, ascending.
    #[must_use]
    pub fn shards_after(&self) -> Vec<ShardNumber> {
        match &self.tables {
            Some((_, after)) => HashTable::shards(&**after),
            None => (0..self.after.number_of_shards).collect(),
        }
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
mod tests;
