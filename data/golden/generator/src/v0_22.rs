//! tantivy 0.22: index format 6.

#![allow(deprecated, reason = "this release announces that the next one will not sort indexes")]

pub use tantivy_0_22 as tantivy;

#[path = "index.rs"]
pub mod index;
#[path = "values_owned.rs"]
mod values;

use tantivy::index::SegmentComponent;
use tantivy::schema::{Field, JsonObjectOptions, OwnedValue, SchemaBuilder, TantivyDocument, TextOptions};
use tantivy::{IndexSettings, IndexSortByField, Order};
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

fn add_value(doc: &mut TantivyDocument, field: Field, value: OwnedValue) {
    doc.add_field_value(field, value);
}

fn owned(value: &OwnedValue) -> OwnedValue {
    value.clone()
}

fn sort_by(settings: &mut IndexSettings, field: &str, descending: bool) {
    let order = if descending { Order::Desc } else { Order::Asc };
    settings.sort_by_field = Some(IndexSortByField { field: field.to_owned(), order });
}

fn add_tie_breaker(_: &mut SchemaBuilder, name: &str) {
    panic!("tantivy 0.22 has no {name}");
}
