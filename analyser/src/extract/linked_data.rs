//! JSON-LD in a page: what it states about the page as a whole.
//!
//! Of several objects the first that states a thing counts, articles and products before everything else.

use serde_json::Value;

use super::hints::{self, Hints};
use super::metadata::{Facts, MAX_DESCRIPTION_BYTES, MAX_TITLE_BYTES};
use super::text::one_line;
use crate::dates::parse_date;

/// What is kept of all such scripts of a page.
const MAX_BYTES: usize = 512 << 10;
const MAX_SCRIPTS: usize = 64;
/// Objects looked at, those inside others included.
const MAX_OBJECTS: usize = 500;

/// The scripts as they stand in the page.
#[derive(Default)]
pub(crate) struct LinkedData {
    scripts: Vec<Vec<u8>>,
    bytes: usize,
}

impl LinkedData {
    pub fn begin(&mut self) {
        if self.scripts.len() < MAX_SCRIPTS {
            self.scripts.push(Vec::new());
        }
    }

    pub fn push(&mut self, piece: &[u8]) {
        self.bytes += piece.len();
        if let Some(script) = self.scripts.last_mut().filter(|_| self.bytes <= MAX_BYTES) {
            script.extend_from_slice(piece);
        }
    }

    pub fn scripts(&self) -> impl Iterator<Item = &[u8]> {
        self.scripts.iter().map(Vec::as_slice)
    }

    /// Adds to the facts what they lack.
    pub fn complete(&self, facts: &mut Facts) {
        let parsed: Vec<Value> = self.scripts().filter_map(|script| serde_json::from_slice(script).ok()).collect();
        let mut objects = Vec::new();
        for value in &parsed {
            collect(value, &mut objects);
        }
        objects.sort_by_key(|object| !is_the_page(&object["@type"]));
        for object in objects {
            state(object, facts);
        }
    }
}

/// All objects, outer ones first.
fn collect<'v>(value: &'v Value, objects: &mut Vec<&'v Value>) {
    if objects.len() == MAX_OBJECTS {
        return;
    }
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, objects)),
        Value::Object(fields) => {
            objects.push(value);
            for name in ["@graph", "mainEntity", "mainEntityOfPage"] {
                if let Some(inner) = fields.get(name) {
                    collect(inner, objects);
                }
            }
        }
        _ => {}
    }
}

fn is_the_page(kind: &Value) -> bool {
    let is = |name: &Value| {
        name.as_str().is_some_and(|name| {
            ["Article", "Posting", "Product", "QAPage", "Recipe", "Report", "Course", "Event"]
                .iter()
                .any(|end| name.ends_with(end))
        })
    };
    is(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(is))
}

fn state(object: &Value, facts: &mut Facts) {
    let date = |name: &str| object[name].as_str().and_then(parse_date).unwrap_or_default();
    let fill = |field: &mut String, value: &str, limit: usize| {
        if field.is_empty() {
            *field = one_line(value.as_bytes(), limit);
        }
    };
    if facts.published_at_ms == 0 {
        facts.published_at_ms =
            [date("datePublished"), date("dateCreated"), date("uploadDate")].into_iter().find(|d| *d != 0).unwrap_or(0);
    }
    if facts.modified_at_ms == 0 {
        facts.modified_at_ms = date("dateModified");
    }
    fill(&mut facts.author, &names(&object["author"]), MAX_TITLE_BYTES);
    fill(&mut facts.keywords, &names(&object["keywords"]), MAX_DESCRIPTION_BYTES);
    if is_the_page(&object["@type"]) {
        fill(
            &mut facts.title,
            object["headline"].as_str().or(object["name"].as_str()).unwrap_or_default(),
            MAX_TITLE_BYTES,
        );
        fill(&mut facts.description, object["description"].as_str().unwrap_or_default(), MAX_DESCRIPTION_BYTES);
    }
}

/// A name, an object that has one, or a list of either.
fn names(value: &Value) -> String {
    match value {
        Value::String(name) => name.clone(),
        Value::Object(fields) => fields.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
        Value::Array(values) => {
            let all: Vec<String> = values.iter().take(20).filter(|value| !value.is_array()).map(names).collect();
            all.iter().filter(|name| !name.is_empty()).cloned().collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    }
}

/// What the types that a script declares hint at, without taking it apart.
pub(crate) fn declared_types(script: &[u8]) -> Hints {
    const KEY: &[u8] = b"\"@type\"";
    let mut found = Hints::default();
    let mut rest = script;
    while let Some(at) = memchr::memmem::find(rest, KEY) {
        rest = &rest[at + KEY.len()..];
        let value = rest.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b':' | b'[' | b'"'));
        rest = &rest[value.unwrap_or(rest.len())..];
        let end = rest.iter().take(64).position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(0);
        found |= hints::of_names(&rest[..end]);
    }
    found
}
