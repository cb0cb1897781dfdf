//! Types of fields that documents can be placed by, and how their values become numbers.

use tantivy::columnar::ColumnType;
use tantivy::schema::FieldType;
use tantivy::time::format_description::well_known::Rfc3339;
use tantivy::{DateTime, f64_to_u64, i64_to_u64, u64_to_f64};

/// The tokenizer that leaves values as they are.
const RAW: &str = "raw";

/// How values become numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    U64,
    I64,
    F64,
    Bool,
    Date,
}

impl Kind {
    pub(super) fn of(kind: &FieldType) -> Result<Kind, &'static str> {
        let (kind, fast) = match kind {
            FieldType::Str(options) => match options.get_fast_field_tokenizer_name() {
                Some(RAW) => (Kind::Text, true),
                Some(_) => return Err("has a column of words: its text is tokenised, and a child needs whole values"),
                None => (Kind::Text, false),
            },
            FieldType::U64(options) => (Kind::U64, options.is_fast()),
            FieldType::I64(options) => (Kind::I64, options.is_fast()),
            FieldType::F64(options) => (Kind::F64, options.is_fast()),
            FieldType::Bool(options) => (Kind::Bool, options.is_fast()),
            FieldType::Date(options) => (Kind::Date, options.is_fast()),
            _ => return Err("is of a type that documents cannot be placed by: text, numbers, booleans and dates can"),
        };
        if fast { Ok(kind) } else { Err("has no column (it is not a fast field), and placing reads columns") }
    }

    pub(super) fn column(self) -> ColumnType {
        match self {
            Kind::Text => ColumnType::Str,
            Kind::U64 => ColumnType::U64,
            Kind::I64 => ColumnType::I64,
            Kind::F64 => ColumnType::F64,
            Kind::Bool => ColumnType::Bool,
            Kind::Date => ColumnType::DateTime,
        }
    }

    pub(super) fn has_ranges(self) -> bool {
        !matches!(self, Kind::Text | Kind::Bool)
    }

    /// A listed number in the form that columns have.
    pub(super) fn number(self, text: &str) -> Option<u64> {
        match self {
            Kind::Text => None,
            Kind::U64 => text.parse().ok(),
            Kind::I64 => text.parse::<i64>().ok().map(i64_to_u64),
            Kind::F64 => text.parse::<f64>().ok().map(f64_to_u64).and_then(float),
            Kind::Bool => text.parse::<bool>().ok().map(u64::from),
            Kind::Date => date(text).map(|date| i64_to_u64(date.into_timestamp_nanos())),
        }
    }

    pub(super) fn expects(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::U64 => "a number from 0 to 18446744073709551615",
            Kind::I64 => "a whole number of 64 bits",
            Kind::F64 => "a number",
            Kind::Bool => "true or false",
            Kind::Date => "a date like 2024-05-01 or 2024-05-01T12:00:00Z, between 1677 and 2262",
        }
    }
}

/// Both zeros as one; `None` for what is no number.
pub(super) fn float(bits: u64) -> Option<u64> {
    let value = u64_to_f64(bits);
    if value.is_nan() { None } else { Some(if value == 0.0 { f64_to_u64(0.0) } else { bits }) }
}

fn date(text: &str) -> Option<DateTime> {
    let parse = |text: &str| tantivy::time::OffsetDateTime::parse(text, &Rfc3339).ok();
    let day = || if text.contains(['T', 't', ' ']) { None } else { parse(&format!("{text}T00:00:00Z")) };
    DateTime::try_from_utc(parse(text).or_else(day)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days_or_moments_and_nothing_else() {
        let nanos = |text: &str| date(text).map(DateTime::into_timestamp_nanos);
        assert_eq!(nanos("1970-01-02"), Some(86_400_000_000_000));
        assert_eq!(nanos("1970-01-01T01:00:00+01:00"), Some(0));
        assert_eq!(nanos("1970-01-01T00:00:00.5Z"), Some(500_000_000));
        for wrong in ["", "1970", "1970-13-01", "1970-01-01 00:00", "3000-01-01", "yesterday"] {
            assert_eq!(nanos(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn both_zeros_are_one_number_and_nan_is_none() {
        assert_eq!(Kind::F64.number("-0"), Kind::F64.number("0.0"));
        assert!(Kind::F64.number("-1e-300") < Kind::F64.number("0"));
        assert_eq!(Kind::F64.number("nan"), None);
        assert!(Kind::F64.number("-inf") < Kind::F64.number("inf"));
    }
}
