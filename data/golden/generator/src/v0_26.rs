//! tantivy 0.26: index format 7.

pub use tantivy_0_26 as tantivy;

#[path = "index.rs"]
pub mod index;
#[path = "values_owned.rs"]
mod values;

use tantivy::IndexSettings;
use tantivy::index::SegmentComponent;
use tantivy::schema::{Field, JsonObjectOptions, OwnedValue, SchemaBuilder, TantivyDocument, TextOptions, Value};
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
    doc.add_field_value(field, &value);
}

fn owned<'a>(value: impl Value<'a>) -> OwnedValue {
    OwnedValue::from(value.as_value())
}

fn sort_by(_: &mut IndexSettings, field: &str, _: bool) {
    panic!("tantivy 0.26 does not sort an index by {field}");
}

fn add_tie_breaker(_: &mut SchemaBuilder, name: &str) {
    panic!("tantivy 0.26 has no {name}");
}
