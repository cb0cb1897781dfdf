//! tantivy 0.27: index format 7, with index sort again, and tie-breakers.

pub use tantivy_0_27 as tantivy;

#[path = "index.rs"]
pub mod index;
#[path = "values_owned.rs"]
mod values;

use tantivy::index::SegmentComponent;
use tantivy::schema::{Field, JsonObjectOptions, OwnedValue, SchemaBuilder, TantivyDocument, TextOptions, Value};
use tantivy::{IndexSettings, IndexSortByField, Order};
use values::{document, stored};

fn fast_fields_component() -> SegmentComponent {
    SegmentComponent::FastFields
}

fn fast_text(options: TextOptions, tokenizer: Option<&'static str>) -> TextOptions {
    match tokenizer {
        Some(tokenizer) => options.set_fast(tokenizer),
        None => options,
    }
}

fn fast_json(options: JsonObjectOptions, tokenizer: Option<&'static str>) -> JsonObjectOptions {
    match tokenizer {
        Some(tokenizer) => options.set_fast(tokenizer),
        None => options,
    }
}

fn add_value(doc: &mut TantivyDocument, field: Field, value: OwnedValue) {
    doc.add_field_value(field, &value);
}

fn owned<'a>(value: impl Value<'a>) -> OwnedValue {
    OwnedValue::from(value.as_value())
}

fn sort_by(settings: &mut IndexSettings, field: &str, descending: bool) {
    let order = if descending { Order::Desc } else { Order::Asc };
    settings.sort_by_field = Some(IndexSortByField { field: field.to_owned(), order });
}

fn add_tie_breaker(builder: &mut SchemaBuilder, name: &str) {
    builder.add_tie_breaker_field(name);
}
