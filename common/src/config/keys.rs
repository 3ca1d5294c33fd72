//! Tables of settings: which keys exist, layering one table over another, and reading the environment.

use std::ffi::OsString;

use toml::{Table, Value};

use super::{ConfigError, DEFAULT_TOML, PASSWORD_VARIABLE};
use crate::secret::Secret;

const PREFIX: &str = "SEINE_";
/// The section whose keys are those of each table in it, under a name of the owner's choice.
const FILTERS: &str = "filters";

pub fn parse(origin: &str, text: &str) -> Result<Table, ConfigError> {
    text.parse().map_err(|error| ConfigError::Syntax { origin: origin.to_owned(), error: Box::new(error) })
}

/// Every section and key, those that are commented out in the defaults included.
pub fn all() -> Vec<(String, String)> {
    let mut section = String::new();
    let mut keys = Vec::new();
    for line in DEFAULT_TOML.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.to_owned();
        } else if let Some((key, _)) = line.trim_start_matches("# ").split_once(" = ")
            && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        {
            keys.push((section.clone(), key.to_owned()));
        }
    }
    keys
}

/// Refuses the first key that does not exist.
pub fn check(origin: &str, table: &Table) -> Result<(), ConfigError> {
    let known = all();
    for (section, value) in table {
        if !known.iter().any(|(known, _)| known == section) {
            let names = known.iter().map(|(known, _)| known.clone());
            return Err(unknown(origin, section.clone(), names));
        }
        let Value::Table(keys) = value else {
            return Err(unknown(origin, section.clone(), std::iter::once(format!("[{section}]"))));
        };
        if section == FILTERS {
            check_filters(origin, keys, &known)?;
            continue;
        }
        for key in keys.keys() {
            if (section.as_str(), key.as_str()) == ("frontier", "password") {
                return Err(ConfigError::Password { origin: origin.to_owned() });
            }
            if !known.contains(&(section.clone(), key.clone())) {
                let names = known.iter().map(|(section, key)| format!("{section}.{key}"));
                return Err(unknown(origin, format!("{section}.{key}"), names));
            }
        }
    }
    Ok(())
}

fn check_filters(origin: &str, filters: &Table, known: &[(String, String)]) -> Result<(), ConfigError> {
    let known = || known.iter().filter(|(section, _)| section == FILTERS).map(|(_, key)| key);
    for (name, value) in filters {
        let Value::Table(keys) = value else {
            return Err(unknown(origin, format!("{FILTERS}.{name}"), std::iter::once(format!("[{FILTERS}.{name}]"))));
        };
        if let Some(key) = keys.keys().find(|key| !known().any(|known| known == *key)) {
            let names = known().map(|known| format!("{FILTERS}.{name}.{known}"));
            return Err(unknown(origin, format!("{FILTERS}.{name}.{key}"), names));
        }
    }
    Ok(())
}

fn unknown(origin: &str, key: String, known: impl Iterator<Item = String>) -> ConfigError {
    let nearest = known.min_by_key(|known| strsim::damerau_levenshtein(known, &key));
    let advice = nearest.map_or_else(String::new, |nearest| format!("did you mean {nearest}?"));
    ConfigError::UnknownKey { origin: origin.to_owned(), key, advice }
}

/// Sections that say what a crawl is or how a command talks; the others are about the process that does the work. What a
/// search page is told is no concern of a crawl.
const NOT_OF_A_PROCESS: [&str; 6] = ["crawl", "refresh", FILTERS, "log", "telemetry", "server"];

/// Keys of a table that are about the process that fetches and stores.
pub fn set_for_process(table: &Table) -> Vec<String> {
    let of_process = table.iter().filter(|(section, _)| !NOT_OF_A_PROCESS.contains(&section.as_str()));
    let named = |(section, keys): (&String, &Value)| -> Vec<String> {
        let keys = keys.as_table().into_iter().flat_map(Table::keys);
        keys.map(|key| format!("{section}.{key}")).collect()
    };
    of_process.flat_map(named).collect()
}

pub fn merge(below: &mut Table, above: Table) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => merge(below, above),
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}

/// Those of the environment's variables that are ours, settings or not. Others may hold whatever they like; ours must be
/// text.
pub fn own_variables(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Vec<(String, String)>, ConfigError> {
    let named = variables.into_iter().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let own = named.filter(|(name, _)| name.starts_with(PREFIX));
    own.map(|(name, value)| match value.into_string() {
        Ok(value) => Ok((name, value)),
        Err(value) => Err(ConfigError::NotText { name, value: value.to_string_lossy().into_owned() }),
    })
    .collect()
}

/// The frontier's password, and the variables that are read as settings. An empty one is none.
pub fn without_password(
    variables: impl IntoIterator<Item = (String, String)>,
) -> (Option<Secret>, Vec<(String, String)>) {
    let (passwords, others): (Vec<_>, _) = variables.into_iter().partition(|(name, _)| name == PASSWORD_VARIABLE);
    let password = passwords.into_iter().map(|(_, text)| text).find(|text| !text.is_empty());
    (password.map(Secret::new), others)
}

/// `SEINE_CRAWL_DELAY=2` as a table. Variables of no section are somebody else's.
pub fn from_environment(variables: impl IntoIterator<Item = (String, String)>) -> Result<Table, ConfigError> {
    let mut known = all();
    known.retain(|(section, _)| section != FILTERS);
    let name = |section: &str, key: &str| format!("{PREFIX}{section}_{key}").to_ascii_uppercase();
    let mut table = Table::new();
    for (variable, text) in variables {
        let section =
            known.iter().find(|(section, _)| variable.starts_with(&name(section, ""))).map(|(section, _)| section);
        let Some(section) = section else { continue };
        let Some((_, key)) = known.iter().find(|(section, key)| name(section, key) == variable) else {
            let names = known.iter().map(|(section, key)| name(section, key));
            return Err(unknown("the environment", variable, names));
        };
        // Numbers, lists and true/false are written as in TOML, texts without quotes.
        let value = format!("v = {text}").parse::<Table>().ok().and_then(|mut table| table.remove("v"));
        let value = value.unwrap_or(Value::String(text));
        let entry = table.entry(section.clone()).or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(keys) = entry {
            keys.insert(key.clone(), value);
        }
    }
    Ok(table)
}
