//! Lines to standard error, as text or as JSON, with a level for each tier that can be changed while the process runs.

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, OnceLock};

use seine_common::config::{LogConfig, LogFormat, log_directives};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::Layer;
use tracing_subscriber::{EnvFilter, Registry, fmt, reload};

use super::BoxedLayer;

/// Goes before what the settings say: levels by tier, or anything in the syntax of `RUST_LOG`.
const VARIABLE: &str = "SEINE_LOG";

static OF_PROCESS: OnceLock<LogLevels> = OnceLock::new();

/// The levels of this process's logs. Clones are the same.
#[derive(Clone)]
pub struct LogLevels {
    filter: reload::Handle<EnvFilter, Registry>,
    current: Arc<Mutex<String>>,
}

/// The levels of this process; `None` before logs are started.
pub fn log_levels() -> Option<LogLevels> {
    OF_PROCESS.get().cloned()
}

impl LogLevels {
    /// From now on these hold, such as `warn,collector=debug`. The error says what is wrong with them.
    pub fn set(&self, levels: &str) -> Result<(), String> {
        let directives = log_directives(levels)?;
        let filter = EnvFilter::try_new(&directives).map_err(|error| error.to_string())?;
        let mut current = self.current.lock().expect("nothing panics while holding this lock");
        self.filter.reload(filter).map_err(|error| format!("logs have ended: {error}"))?;
        levels.clone_into(&mut current);
        drop(current);
        tracing::info!(levels, "log levels changed");
        Ok(())
    }

    /// As they were set last.
    pub fn current(&self) -> String {
        self.current.lock().expect("nothing panics while holding this lock").clone()
    }
}

/// What writes lines, and what is to be told about its settings once it does.
pub(super) fn start(config: &LogConfig) -> (BoxedLayer, Option<String>) {
    let asked = std::env::var(VARIABLE).ok().filter(|asked| !asked.is_empty());
    let (filter, levels, complaint) = first_filter(asked.as_deref(), &config.levels);
    let colours = wants_colours(std::io::stderr().is_terminal(), std::env::var_os("NO_COLOR").as_deref());
    let (layer, levels) = lines(config.format, filter, levels, std::io::stderr, colours);
    // In tests, several may be started in one process; the first is the one that writes.
    let _ = OF_PROCESS.set(levels);
    (layer, complaint)
}

/// The filter to begin with, what it was made of, and what was wrong with what was asked for.
fn first_filter(asked: Option<&str>, settings: &str) -> (EnvFilter, String, Option<String>) {
    let filter = |levels: &str| {
        let directives = log_directives(levels)?;
        EnvFilter::try_new(directives).map_err(|error| error.to_string())
    };
    let mut complaint = None;
    if let Some(asked) = asked {
        match filter(asked).or_else(|_| EnvFilter::try_new(asked).map_err(|error| error.to_string())) {
            Ok(filter) => return (filter, asked.to_owned(), None),
            Err(error) => complaint = Some(format!("{VARIABLE} is not used: {asked:?} cannot be read: {error}")),
        }
    }
    match filter(settings) {
        Ok(filter) => (filter, settings.to_owned(), complaint),
        Err(error) => (EnvFilter::new("warn"), "warn".to_owned(), complaint.or(Some(error))),
    }
}

fn lines<W>(format: LogFormat, filter: EnvFilter, levels: String, to: W, colours: bool) -> (BoxedLayer, LogLevels)
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let (filter, handle) = reload::Layer::new(filter);
    let layer = match format {
        LogFormat::Text => fmt::layer().with_writer(to).with_ansi(colours).with_filter(filter).boxed(),
        LogFormat::Json => {
            fmt::layer().json().flatten_event(true).with_writer(to).with_ansi(false).with_filter(filter).boxed()
        }
    };
    (layer, LogLevels { filter: handle, current: Arc::new(Mutex::new(levels)) })
}

/// Only people at a terminal see colours, unless they set `NO_COLOR` to anything.
fn wants_colours(is_terminal: bool, no_color: Option<&OsStr>) -> bool {
    is_terminal && no_color.is_none_or(OsStr::is_empty)
}

#[cfg(test)]
mod tests {
    use std::io;

    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Paper {
        fn take(&self) -> String {
            String::from_utf8(std::mem::take(&mut self.0.lock().unwrap())).unwrap()
        }
    }

    fn write_on(paper: &Paper, format: LogFormat, levels: &str) -> (impl tracing::Subscriber + use<>, LogLevels) {
        let (filter, levels, _) = first_filter(None, levels);
        let paper = paper.clone();
        let (layer, levels) = lines(format, filter, levels, move || paper.clone(), false);
        (tracing_subscriber::registry().with(vec![layer]), levels)
    }

    fn speak() {
        tracing::debug!(target: "seine_collector::fetch", "asked");
        tracing::debug!(target: "seine_indexer", "committed");
        tracing::warn!(target: "seine_analyser::filesaver::commit", url = "http://a.example/", "lost");
    }

    #[test]
    fn levels_hold_for_their_tier_and_change_while_it_runs() {
        let paper = Paper::default();
        let (subscriber, levels) = write_on(&paper, LogFormat::Text, "warn");
        tracing::subscriber::with_default(subscriber, || {
            speak();
            let text = paper.take();
            assert!(text.contains("lost") && !text.contains("asked"), "{text}");
            levels.set("error,collector=debug").unwrap();
            speak();
            let text = paper.take();
            assert!(text.contains("asked") && !text.contains("lost") && !text.contains("committed"), "{text}");
            let refusal = levels.set("error,fetcher=debug").unwrap_err();
            assert!(refusal.contains("\"fetcher\""), "{refusal}");
            assert_eq!(levels.current(), "error,collector=debug", "a mistake changes nothing");
            levels.set("debug,filesaver=error").unwrap();
            speak();
            let text = paper.take();
            assert!(text.contains("asked") && text.contains("committed") && !text.contains("lost"), "{text}");
        });
    }

    #[test]
    fn json_is_an_object_a_line() {
        let paper = Paper::default();
        let (subscriber, _) = write_on(&paper, LogFormat::Json, "warn");
        tracing::subscriber::with_default(subscriber, speak);
        let text = paper.take();
        let line: serde_json::Value = serde_json::from_str(text.trim_end()).unwrap();
        assert_eq!((&line["level"], &line["message"]), (&"WARN".into(), &"lost".into()), "{text}");
        assert_eq!(line["url"], "http://a.example/", "{text}");
    }

    #[test]
    fn the_environment_goes_first_in_either_syntax_unless_it_cannot_be_read() {
        let first = |asked: &str| {
            let (filter, levels, complaint) = first_filter(Some(asked), "warn");
            (filter.to_string(), levels, complaint)
        };
        let (filter, levels, _) = first("collector=debug");
        assert_eq!((filter.contains("seine_collector=debug"), &*levels), (true, "collector=debug"), "{filter}");
        let (filter, ..) = first("info,hyper=trace");
        assert!(filter.contains("hyper=trace"), "{filter}");
        let (filter, levels, complaint) = first("seine=[[");
        assert_eq!((&*filter, &*levels), ("warn", "warn"));
        assert!(complaint.is_some_and(|complaint| complaint.contains("seine=[[")));
    }

    #[test]
    fn colours_are_for_terminals_whose_owner_wants_them() {
        assert!(wants_colours(true, None) && wants_colours(true, Some(OsStr::new(""))));
        assert!(!wants_colours(true, Some(OsStr::new("1"))));
        assert!(!wants_colours(false, None));
    }
}
