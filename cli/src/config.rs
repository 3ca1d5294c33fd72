//! `seine config`, and loading the settings that every command starts from.

use std::path::Path;

use seine_common::config::{Config, DEFAULT_FILE, DEFAULT_TOML};
use seine_common::filter::{Filter, FilterSettings, Filters};
use seine_common::url::CanonicalUrl;

use crate::End;
use crate::args::{Command, ConfigCommand};
use crate::failure::{Failure, Result};

/// Everything is read and checked before any file or port is opened.
pub fn load(command: &Command) -> Result<Config> {
    let file = match command {
        Command::Crawl(arguments) => arguments.config.as_deref(),
        Command::Serve(arguments) => arguments.config.as_deref(),
        Command::Node(arguments) => arguments.config.as_deref(),
        Command::Frontier(arguments) => arguments.command.place().config.as_deref(),
        Command::Config(ConfigCommand::Check { file, .. }) => match file {
            Some(file) => Some(file.as_path()),
            None if Path::new(DEFAULT_FILE).exists() => None,
            None => return Err(Failure::usage(format!("there is no {DEFAULT_FILE} here; name the file to check"))),
        },
        _ => None,
    };
    Config::load(file).map_err(Failure::usage)
}

pub fn print_default() -> Result<End> {
    say!("{}", DEFAULT_TOML.trim_end());
    Ok(End::Done)
}

/// Reached only when [`load`] found nothing wrong.
pub fn report_valid(config: &Config, url: Option<&str>, depth: u32) -> Result<End> {
    say!("the settings are valid");
    for settings in config.filters.iter().filter(|filter| !filter.is_open()) {
        describe(&Filter::compile(settings).map_err(Failure::usage)?, settings);
    }
    if let Some(url) = url {
        let url = CanonicalUrl::parse(url).map_err(Failure::usage)?;
        decide(config, &url, depth)?;
    }
    Ok(End::Done)
}

fn describe(filter: &Filter, settings: &FilterSettings) {
    say!("filter {}", filter.name());
    for (number, (phase, rule)) in filter.rules().enumerate() {
        say!("  rule {} ({}): {rule}", number + 1, phase.as_str());
    }
    say!("  otherwise {}", if settings.otherwise_deny { "deny" } else { "allow" });
    if let Some(most) = filter.max_links() {
        say!("  at most {most} links of a page");
    }
    if !settings.content_type.is_empty() {
        say!("  only {}", settings.content_type);
    }
}

/// What the two filters that crawls use say of a URL, as far as that is known without its page.
fn decide(config: &Config, url: &CanonicalUrl, depth: u32) -> Result<()> {
    let named = |key, name| config.filters.get(key, name).map_err(Failure::usage);
    let enumeration = named("enumeration", &config.crawl.enumeration)?;
    let generation = named("generation", &config.crawl.generation)?;
    let filters = Filters::compile(enumeration, generation).map_err(Failure::usage)?;
    let facts = filters.facts(url, depth);
    say!("{url} at depth {depth}");
    say!("  links: {}", filters.enumeration.decide(&facts));
    say!("  index: {}", filters.generation.decide(&facts));
    if filters.excludes(url, depth).is_some() {
        say!("  not fetched: it would be neither followed nor indexed");
    }
    Ok(())
}
