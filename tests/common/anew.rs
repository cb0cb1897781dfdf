//! Children against indexes of the same documents that tantivy's writer makes from nothing.
//!
//! The source plays no part in this: what reading it hides on both sides shows here.

use std::path::Path;

use super::content::Content;
use super::documents;
use super::fixture::{Batch, Fixture};
use super::oracle::content_differences;
use super::routing::{self, Routing};
use super::schema::Kind;

/// What differs between one-segment `children` of `fixture` and newly made ones; `dir` is for the latter.
pub fn differences(fixture: &Fixture, routing: &Routing, children: &[(u32, Content)], dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    // A tie-breaker is drawn anew for every document.
    if fixture.fields.iter().any(|field| field.kind == Kind::TieBreaker) {
        return found;
    }
    let live = fixture.live();
    for (shard, child) in children {
        let belongs = |number: &u32| {
            let id = documents::id(*number, fixture.key);
            let value = documents::routing(*number, fixture.routing);
            routing::shard(&routing.split, value.as_deref().unwrap_or(&id), &id) == *shard
        };
        let add = live.iter().copied().filter(belongs).collect();
        let anew = Fixture { batches: vec![Batch { add, delete: Vec::new() }], merge: 0, ..fixture.clone() };
        let anew_dir = dir.join(format!("anew-{shard}"));
        anew.build(&anew_dir);
        let anew = Content::read(&anew_dir, &routing.fields());
        found.extend(content_differences(&format!("child {shard}, indexed anew"), child, &anew));
    }
    // Merged segments stand elsewhere among the others, and equal sort keys leave the order open.
    found.retain(|found| !found.contains("order differs"));
    // Uniting the number columns of a JSON path may have widened them; their values were compared above.
    found.retain(|found| !found.contains("\\u{1}"));
    found
}
