//! How a table stands in JSON: runs of neighbouring slots with one shard, so that a table of a million slots is as
//! short as its shards are few.
//!
//! ```json
//! {"format": 1, "slots": 8, "runs": [{"first": 0, "last": 3, "shard": 0}, {"first": 4, "last": 7, "shard": 1}]}
//! ```
//!
//! Both ends are included. A run says where it begins though the one before implies it: a line that was lost or edited is
//! noticed. Claims are checked before anything of their size is allocated.

use serde::{Deserialize, Serialize};

use super::table::MAX_SLOTS;
use super::{SlotError, SlotTable};
use crate::route::ShardNumber;

/// Format of the JSON that is written and read.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Form {
    format: u32,
    slots: u32,
    runs: Vec<Run>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    first: u32,
    last: u32,
    shard: ShardNumber,
}

impl From<SlotTable> for Form {
    fn from(table: SlotTable) -> Form {
        let mut runs: Vec<Run> = Vec::new();
        for (slot, &shard) in (0..).zip(table.owners()) {
            match runs.last_mut() {
                Some(run) if run.shard == shard => run.last = slot,
                _ => runs.push(Run { first: slot, last: slot, shard }),
            }
        }
        Form { format: FORMAT, slots: table.slots(), runs }
    }
}

impl TryFrom<Form> for SlotTable {
    type Error = SlotError;

    fn try_from(form: Form) -> Result<SlotTable, SlotError> {
        let Form { format, slots, runs } = form;
        if format != FORMAT {
            return Err(SlotError::Format { found: format, expected: FORMAT });
        }
        if !(1..=MAX_SLOTS).contains(&slots) {
            return Err(SlotError::Slots { slots: u64::from(slots) });
        }
        let mut expected = 0;
        for &Run { first, last, .. } in &runs {
            if first != expected || last < first {
                return Err(SlotError::Run { first, last, expected });
            }
            if last >= slots {
                return Err(SlotError::Length { found: last.saturating_add(1), expected: slots });
            }
            expected = last + 1;
        }
        if expected != slots {
            return Err(SlotError::Length { found: expected, expected: slots });
        }
        let mut owners = Vec::with_capacity(slots as usize);
        for run in runs {
            owners.resize(run.last as usize + 1, run.shard);
        }
        SlotTable::new(owners)
    }
}
