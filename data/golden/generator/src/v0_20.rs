//! tantivy 0.20: index format 5, the first release with columns, the last with brotli and snappy.

pub use tantivy_0_20 as tantivy;

#[path = "index.rs"]
pub mod index;
#[path = "values_map.rs"]
mod values;

use tantivy::schema::{JsonObjectOptions, SchemaBuilder, TextOptions};
use tantivy::{IndexSettings, IndexSortByField, Order, SegmentComponent};
use values::{document, stored};

fn fast_fields_component() -> SegmentComponent {
    SegmentComponent::FastFields
}

fn fast_text(options: TextOptions, tokenizer: Option<&'static str>) -> TextOptions {
    if tokenizer.is_some() { options.set_fast(tokenizer) } else { options }
}

fn fast_json(options: JsonObjectOptions, tokenizer: Option<&'static str>) -> JsonObjectOptions {
    if tokenizer.is_some() { options.set_fast(tokenizer) } else { options }
}

fn sort_by(settings: &mut IndexSettings, field: &str, descending: bool) {
    let order = if descending { Order::Desc } else { Order::Asc };
    settings.sort_by_field = Some(IndexSortByField { field: field.to_owned(), order });
}

fn add_tie_breaker(_: &mut SchemaBuilder, name: &str) {
    panic!("tantivy 0.20 has no {name}");
}
