//! `seine config`, and loading the settings that every command starts from.

use std::path::Path;

use seine_common::config::{Config, DEFAULT_FILE, DEFAULT_TOML};

use crate::End;
use crate::args::{Command, ConfigCommand};
use crate::failure::{Failure, Result};

/// Everything is read and checked before any file or port is opened.
pub fn load(command: &Command) -> Result<Config> {
    let file = match command {
        Command::Crawl(arguments) => arguments.config.as_deref(),
        Command::Serve(arguments) => arguments.config.as_deref(),
        Command::Node(arguments) => arguments.config.as_deref(),
        Command::Config(ConfigCommand::Check { file }) => match file {
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
pub fn report_valid() -> Result<End> {
    say!("the settings are valid");
    Ok(End::Done)
}
