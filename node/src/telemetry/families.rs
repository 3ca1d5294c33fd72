//! Metrics that are sampled rather than counted: each time all series of a name are given at once.
//!
//! So a crawl or a log that is gone leaves no series behind, which gauges that are set one by one would.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;

static FAMILIES: Mutex<BTreeMap<&'static str, Family>> = Mutex::new(BTreeMap::new());

struct Family {
    kind: &'static str,
    help: &'static str,
    label: &'static str,
    /// By the value of the label.
    series: Vec<(String, f64)>,
}

/// The series of a gauge, by the values of its label.
pub fn set_gauges(name: &'static str, help: &'static str, label: &'static str, series: Vec<(String, f64)>) {
    set(name, Family { kind: "gauge", help, label, series });
}

/// A gauge without labels.
pub fn set_gauge(name: &'static str, help: &'static str, value: f64) {
    set_gauges(name, help, "", vec![(String::new(), value)]);
}

/// A counter without labels that somebody else counts.
pub fn set_counter(name: &'static str, help: &'static str, value: f64) {
    set(name, Family { kind: "counter", help, label: "", series: vec![(String::new(), value)] });
}

/// What nobody samples any more in this process.
pub fn forget(prefix: &str) {
    FAMILIES.lock().expect("nothing panics while holding this lock").retain(|name, _| !name.starts_with(prefix));
}

fn set(name: &'static str, family: Family) {
    FAMILIES.lock().expect("nothing panics while holding this lock").insert(name, family);
}

/// Appends all of them in the text format of Prometheus.
pub(super) fn render(out: &mut String) {
    for (name, family) in FAMILIES.lock().expect("nothing panics while holding this lock").iter() {
        family.render(name, out);
    }
}

impl Family {
    fn render(&self, name: &str, out: &mut String) {
        let Self { kind, help, label, series } = self;
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (of, value) in series {
            let _ = match label.is_empty() {
                true => writeln!(out, "{name} {value}"),
                false => writeln!(out, "{name}{{{label}=\"{}\"}} {value}", escaped(of)),
            };
        }
        out.push('\n');
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_given_again_is_gone() {
        let rendered = || {
            let mut text = String::new();
            render(&mut text);
            text
        };
        let set = |names: &[&str]| {
            let series = names.iter().map(|name| ((*name).to_owned(), 1.5)).collect();
            set_gauges("seine_test_things", "Things.", "thing", series);
        };
        set(&["one", "a \"b\\c"]);
        let text = rendered();
        assert!(text.contains("# TYPE seine_test_things gauge\nseine_test_things{thing=\"one\"} 1.5\n"), "{text}");
        assert!(text.contains("{thing=\"a \\\"b\\\\c\"} 1.5"), "{text}");
        set(&["two"]);
        let text = rendered();
        assert!(text.contains("two") && !text.contains("one"), "{text}");
    }
}
