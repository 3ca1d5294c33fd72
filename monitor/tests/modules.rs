//! The Monitor's modules stand in layers: each uses only those that are declared before it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The modules of the crate in the order of their declarations, without those for tests.
fn modules() -> Vec<String> {
    let root = fs::read_to_string(sources().join("lib.rs")).unwrap();
    let (code, _) = root.split_once("#[cfg(test)]").expect("what is for tests comes last");
    let declared =
        code.lines().filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'));
    declared.map(str::to_owned).collect()
}

/// All code of a module, without comments and tests.
fn code(module: &str) -> String {
    let mut files = vec![sources().join(format!("{module}.rs"))];
    let mut folders = vec![sources().join(module)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    let is_test = |file: &PathBuf| file.iter().any(|part| part.to_string_lossy().contains("tests"));
    let texts = files.iter().filter(|file| !is_test(file)).map(|file| {
        let text = fs::read_to_string(file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The modules that are named behind `crate::`, alone or in braces.
fn used(code: &str) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let names = match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap_or_default(),
            None => rest,
        };
        let is_name = |char: char| char.is_alphanumeric() || char == '_';
        let first = |name: &str| name.trim_start().split(|char| !is_name(char)).next().unwrap_or_default().to_owned();
        match rest.starts_with('{') {
            true => used.extend(names.split(',').map(first)),
            false => drop(used.insert(first(names))),
        }
    }
    used
}

#[test]
fn modules_use_only_those_that_are_declared_before_them() {
    let modules = modules();
    assert!(modules.len() > 10 && modules.iter().any(|module| module == "keeper"), "{modules:?}");
    for (layer, module) in modules.iter().enumerate() {
        let used = used(&code(module));
        let above: Vec<&String> = modules[layer + 1..].iter().filter(|other| used.contains(*other)).collect();
        assert!(above.is_empty(), "{module} uses {above:?}, which come after it in lib.rs");
    }
}

#[test]
fn a_use_is_found_however_it_is_written() {
    let found = used("use crate::keeper::Keeper;\nuse crate::{MonitorError, place};\nlet x = crate::rpc::y();");
    let expected = ["MonitorError", "keeper", "place", "rpc"];
    assert_eq!(found.iter().collect::<Vec<_>>(), expected);
}
