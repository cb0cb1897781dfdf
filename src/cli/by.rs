//! `--by`: how documents are placed without a key, in the words of the command line.
//!
//! | text | [`Placement`] |
//! |---|---|
//! | `value:FIELD=V,V,...` | by value |
//! | `range:FIELD=CUT,CUT,...` | by range |
//! | `query:QUERY`, once per child | by query |
//! | `round-robin`, `sequence` | by position, with `--into` |
//!
//! A comma or backslash within a value has a backslash before it.

use clap::Args;
use shardsplit::error::{Error, Result};
use shardsplit::partition::Placement;

/// How documents are placed without a key.
#[derive(Args, Debug)]
pub(crate) struct ByArgs {
    /// Split without a key, instead of by routing; afterwards no routing says where a document is
    ///
    /// value:FIELD=V,V,...: a child for each value, then one for all others. range:FIELD=CUT,CUT,...: cut points of numbers
    /// or dates, a value on a cut lies above it. query:QUERY, given once per child: the first query that matches decides,
    /// then a child for documents that match none. round-robin and sequence, with --into: in turn, or equal runs in the
    /// order of segments and documents. Values and ranges read the column of a fast field: one pass over it. Queries cost
    /// what they cost; every clause names its field. Documents without a value are refused, unless --missing-key places
    /// them.
    #[arg(long, value_name = "RULE", help_heading = "Routing", value_parser = rule)]
    by: Vec<Rule>,
}

/// One `--by`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    Value(String, Vec<String>),
    Range(String, Vec<String>),
    Query(String),
    RoundRobin,
    Sequence,
}

impl ByArgs {
    /// What the flags ask for; `None` without them.
    pub(crate) fn placement(&self, into: Option<u32>) -> Result<Option<Placement>> {
        let children =
            || into.ok_or_else(|| Error::Usage("--into is missing: say how many children there shall be".to_owned()));
        let placement = match self.by.as_slice() {
            [] => return Ok(None),
            [Rule::Value(field, values)] => Placement::Value { field: field.clone(), values: values.clone() },
            [Rule::Range(field, cuts)] => Placement::Range { field: field.clone(), cuts: cuts.clone() },
            [Rule::RoundRobin] => Placement::RoundRobin { children: children()? },
            [Rule::Sequence] => Placement::Sequence { children: children()? },
            rules => {
                let queries = rules.iter().map(|rule| match rule {
                    Rule::Query(query) => Ok(query.clone()),
                    _ => Err(Error::Usage("several --by go together only if all of them are queries".to_owned())),
                });
                Placement::Query { queries: queries.collect::<Result<_>>()? }
            }
        };
        let makes = placement.number_of_shards()?;
        match into {
            Some(into) if into != makes => Err(Error::Usage(format!(
                "--into {into} contradicts --by, which makes {makes} children; leave --into away"
            ))),
            _ => Ok(Some(placement)),
        }
    }
}

fn rule(text: &str) -> Result<Rule, String> {
    match text {
        "round-robin" => return Ok(Rule::RoundRobin),
        "sequence" => return Ok(Rule::Sequence),
        _ => {}
    }
    let unknown = || "expected value:FIELD=..., range:FIELD=..., query:QUERY, round-robin or sequence".to_owned();
    let (kind, rest) = text.split_once(':').ok_or_else(unknown)?;
    if kind == "query" {
        return if rest.trim().is_empty() {
            Err("the query is empty".to_owned())
        } else {
            Ok(Rule::Query(rest.to_owned()))
        };
    }
    let listed = || -> Result<(String, Vec<String>), String> {
        let (field, list) = rest.split_once('=').ok_or_else(|| format!("expected {kind}:FIELD=..., found no ="))?;
        if field.is_empty() || list.is_empty() {
            return Err(format!("expected {kind}:FIELD=..., with a field and at least one value"));
        }
        Ok((field.to_owned(), split_list(list)?))
    };
    match kind {
        "value" => listed().map(|(field, values)| Rule::Value(field, values)),
        "range" => listed().map(|(field, cuts)| Rule::Range(field, cuts)),
        _ => Err(unknown()),
    }
}

/// Parts between commas; `\,` and `\\` are characters.
fn split_list(list: &str) -> Result<Vec<String>, String> {
    let (mut parts, mut part, mut chars) = (Vec::new(), String::new(), list.chars());
    while let Some(next) = chars.next() {
        match next {
            ',' => parts.push(std::mem::take(&mut part)),
            '\\' => match chars.next() {
                Some(escaped @ (',' | '\\')) => part.push(escaped),
                _ => return Err("a backslash stands before a comma or another backslash".to_owned()),
            },
            other => part.push(other),
        }
    }
    parts.push(part);
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str], into: Option<u32>) -> Result<Option<Placement>, String> {
        let by = texts.iter().map(|text| rule(text)).collect::<Result<_, _>>()?;
        ByArgs { by }.placement(into).map_err(|error| error.to_string())
    }

    #[test]
    fn rules_are_read_with_their_values() {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        assert_eq!(of(&[], Some(3)), Ok(None));
        let value = Placement::Value { field: "a".to_owned(), values: texts(&["x", "y,z", "\\"]) };
        assert_eq!(of(&["value:a=x,y\\,z,\\\\"], None), Ok(Some(value)));
        let range = Placement::Range { field: "a.b".to_owned(), cuts: texts(&["-1", "2.5"]) };
        assert_eq!(of(&["range:a.b=-1,2.5"], Some(3)), Ok(Some(range)));
        let query = Placement::Query { queries: texts(&["a:b,c", "d:e"]) };
        assert_eq!(of(&["query:a:b,c", "query:d:e"], None), Ok(Some(query)));
        assert_eq!(of(&["round-robin"], Some(4)), Ok(Some(Placement::RoundRobin { children: 4 })));
        assert_eq!(of(&["sequence"], Some(1)), Ok(Some(Placement::Sequence { children: 1 })));
    }

    #[test]
    fn rules_that_are_none_or_do_not_go_together_are_refused_in_words() {
        for (texts, into, words) in [
            (&["team"][..], None, "expected value:FIELD"),
            (&["team:a"], None, "expected value:FIELD"),
            (&["value:team"], None, "found no ="),
            (&["value:=a"], None, "with a field"),
            (&["range:year="], None, "at least one value"),
            (&["value:team=a\\b"], None, "backslash"),
            (&["query: "], None, "empty"),
            (&["round-robin"], None, "--into is missing"),
            (&["sequence"], Some(0), "0 children"),
            (&["value:team=a"], Some(3), "makes 2 children"),
            (&["query:a:b", "sequence"], Some(2), "all of them are queries"),
        ] {
            let problem = of(texts, into).unwrap_err();
            assert!(problem.contains(words), "{texts:?}: {problem}");
        }
    }
}
