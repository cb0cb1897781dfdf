//! Which fields can be keys, and where a segment has them.

use tantivy::DocId;
use tantivy::schema::{Field, FieldType, Schema};

use super::{KeyPlane, KeySpec, column};
use crate::error::{Error, Result};
use crate::route::{RoutingHash, routing_hash};
use crate::source::{Segment, Source};

/// The tokenizer that makes one term of a value, unchanged. Its name is part of tantivy's format: a column or a term
/// dictionary made with any other tokenizer may hold something else than the value.
const RAW: &str = "raw";

/// How values of a field become strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::partition) enum KeyKind {
    /// As they are.
    Text,
    /// u64, in decimal.
    Unsigned,
    /// i64, in decimal.
    Signed,
}

/// A field that can give exact keys.
#[derive(Clone, Debug)]
pub(in crate::partition) struct KeyField {
    pub(in crate::partition) name: String,
    pub(in crate::partition) field: Field,
    pub(in crate::partition) kind: KeyKind,
    /// Its column holds the values unchanged.
    column: bool,
    /// Its terms are the values unchanged.
    terms: bool,
    /// Its values are stored.
    pub(in crate::partition) stored: bool,
    /// How its strings become hashes.
    pub(in crate::partition) hash: KeyHash,
}

/// From a key to a hash of 32 bits.
pub(in crate::partition) type KeyHash = fn(&str) -> RoutingHash;

/// The fields of a [`KeySpec`], resolved.
#[derive(Clone, Debug)]
pub(in crate::partition) struct KeyFields {
    pub(in crate::partition) id: KeyField,
    pub(in crate::partition) routing: Option<KeyField>,
}

impl KeyFields {
    /// # Errors
    /// [`Error::Field`] if a field does not exist or cannot give exact keys.
    pub(in crate::partition) fn resolve(source: &Source, spec: &KeySpec, hash: KeyHash) -> Result<KeyFields> {
        let resolve = |name: &str| KeyField::resolve(&source.schema(), name, hash);
        Ok(KeyFields { id: resolve(&spec.key)?, routing: spec.routing_field.as_deref().map(resolve).transpose()? })
    }
}

impl KeyField {
    fn resolve(schema: &Schema, name: &str, hash: KeyHash) -> Result<KeyField> {
        let found = match schema.get_field(name) {
            Ok(field) => KeyField::of(schema, field).map(|field| KeyField { hash, ..field }),
            Err(_) => Err("does not exist"),
        };
        found.map_err(|problem| Error::Field {
            field: name.to_owned(),
            problem: problem.to_owned(),
            usable: usable(schema).map(|field| field.name).collect(),
        })
    }

    /// A field of `schema`, or why it cannot give exact keys.
    fn of(schema: &Schema, field: Field) -> Result<KeyField, &'static str> {
        let entry = schema.get_field_entry(field);
        let numbers = |options: &tantivy::schema::NumericOptions| (options.is_fast(), options.is_indexed());
        let (kind, (column, terms)) = match entry.field_type() {
            FieldType::Str(options) => {
                let column = options.get_fast_field_tokenizer_name() == Some(RAW);
                let terms = options.get_indexing_options().is_some_and(|indexing| indexing.tokenizer() == RAW);
                (KeyKind::Text, (column, terms))
            }
            FieldType::U64(options) => (KeyKind::Unsigned, numbers(options)),
            FieldType::I64(options) => (KeyKind::Signed, numbers(options)),
            other => return Err(no_string(other)),
        };
        let stored = entry.is_stored();
        if column || terms || stored {
            let (name, hash) = (entry.name().to_owned(), routing_hash as KeyHash);
            return Ok(KeyField { name, field, kind, column, terms, stored, hash });
        }
        Err(match (kind, entry.is_indexed() || entry.is_fast()) {
            (KeyKind::Text, true) => {
                "is tokenised and not stored, so its exact value is nowhere; a key must be stored, indexed with the raw \
                 tokenizer, or fast without a tokenizer"
            }
            _ => "is neither fast nor indexed nor stored",
        })
    }

    /// Where `segment` has the field: the cheapest plane that exists. A segment without any has no value in it.
    pub(in crate::partition) fn plane(&self, segment: &Segment) -> Result<KeyPlane> {
        if self.column && column::handle(segment, self).is_some() {
            return Ok(KeyPlane::Column);
        }
        if self.terms && segment.terms(self.field)?.is_some() {
            return Ok(KeyPlane::Terms);
        }
        Ok(self.nominal(!self.stored))
    }

    /// That a document's text is longer than what the column keeps, and stands nowhere else.
    pub(super) fn cut_in(&self, segment: &Segment, doc: DocId) -> Error {
        let others = usable(segment.reader().schema()).filter(|field| field.stored && field.name != self.name);
        Error::Field {
            field: self.name.clone(),
            problem: format!(
                "is too long in segment {} document {doc}: columns keep 65,535 bytes of a text, and the field is not stored",
                segment.id()
            ),
            usable: others.map(|field| field.name).collect(),
        }
    }

    /// The cheapest plane that the schema promises; with `planes` false, only the store counts.
    fn nominal(&self, planes: bool) -> KeyPlane {
        match (self.column && planes, self.terms && planes) {
            (true, _) => KeyPlane::Column,
            (_, true) => KeyPlane::Terms,
            _ => KeyPlane::Store,
        }
    }
}

/// Why values of a type are no keys.
fn no_string(kind: &FieldType) -> &'static str {
    match kind {
        FieldType::F64(_) => "holds floating-point numbers, which have no single decimal string to hash",
        FieldType::Date(_) => "holds dates, which have no single string to hash",
        FieldType::IpAddr(_) => "holds IP addresses, which have no single string to hash",
        FieldType::Bytes(_) => "holds bytes, and a key is a string",
        FieldType::Bool(_) => "holds booleans, which identify nothing",
        FieldType::Facet(_) => "holds facets, which identify nothing",
        FieldType::JsonObject(_) => "holds JSON objects; a key must be a field of its own",
        _ => "is of a type that holds no strings",
    }
}

fn usable(schema: &Schema) -> impl Iterator<Item = KeyField> + '_ {
    schema.fields().filter_map(|(field, _)| KeyField::of(schema, field).ok())
}

/// Fields that can serve as key, in the order of the schema, with the plane that would be read: the most expensive
/// one, where segments differ.
///
/// # Errors
/// [`Error::Io`] or [`Error::Corrupt`] if a segment's columns or term dictionaries cannot be opened.
pub fn usable_key_fields(source: &Source) -> Result<Vec<(String, KeyPlane)>> {
    usable(&source.schema())
        .map(|field| {
            let mut plane = None;
            for segment in source.segments() {
                plane = plane.max(Some(field.plane(segment)?));
            }
            let plane = plane.unwrap_or_else(|| field.nominal(true));
            Ok((field.name, plane))
        })
        .collect()
}
