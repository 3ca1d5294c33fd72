//! `seine export`: writes out what was gathered, from a resting data directory or from a running server.
//!
//! Everything is read from the filesavers: [`pages`] walks their description logs twice and gives the newest version of each
//! page that the [`selection`] takes; one module per kind writes it to a [`sink`]. What is kept in memory is a fingerprint
//! for each page, not its description. Not responsible for how pages are stored.

mod selection;
mod url_map;
mod pages;
mod sink;
mod file_name;
mod suffix;
mod descriptions;
mod urls;
mod links;
mod text;
mod mirror;
mod warc;

use std::path::Path;

use seine_common::config::Config;
use seine_node::shutdown::Shutdown;
use serde_json::json;

use crate::End;
use crate::args::export::{DescriptionFormat, SelectionFlags};
use crate::args::{ExportCommand, Role, Target};
use crate::connect::Connection;
use crate::failure::{Failure, Result};
use crate::filesavers;
use pages::Pages;
use selection::Selection;
use sink::Sink;

/// What was written, for the person who asked.
#[derive(Default)]
struct Written {
    pages: u64,
    lines: u64,
    /// Wanted, but not to be had.
    left_out: u64,
}

/// What all kinds of export have in common.
struct Common<'c> {
    pages: &'c SelectionFlags,
    target: &'c Target,
    output: Option<&'c Path>,
}

pub async fn run(command: ExportCommand, config: &Config) -> Result<End> {
    let common = common(&command);
    let selection = Selection::of(common.pages)?;
    let shutdown = Shutdown::on_signals(|| {}).map_err(Failure::failed)?;
    let connection = Connection::open(common.target, &[Role::Filesaver], config).await?;
    let exporting = async {
        let mut services = connection.services();
        let filesavers = filesavers::answering(&services.filesavers).await?;
        if connection.is_remote() {
            filesavers::tell_missing(&mut services, "pages that it has are not exported").await;
        }
        let mut pages = Pages::find(filesavers, selection).await?;
        export(&command, &mut pages).await
    };
    let ended = tokio::select! {
        written = exporting => Some(written),
        () = shutdown.token.cancelled() => None,
    };
    connection.close().await;
    let Some(written) = ended else {
        report_interruption(&command);
        return Ok(End::Interrupted);
    };
    report(&written?, &common);
    Ok(End::Done)
}

/// The files of a directory stay as far as they were written; a single file leaves nothing.
fn report_interruption(command: &ExportCommand) {
    let Some(output) = common(command).output.filter(|path| *path != Path::new("-")) else { return };
    let is_directory = match command {
        ExportCommand::Mirror { .. } => true,
        ExportCommand::Text { .. } => text::is_directory(output),
        _ => false,
    };
    match is_directory {
        true => eprintln!("interrupted: {} is not complete; the same command completes it", output.display()),
        false => eprintln!("interrupted: nothing was written to {}", output.display()),
    }
}

fn common(command: &ExportCommand) -> Common<'_> {
    match command {
        ExportCommand::Descriptions { what, .. }
        | ExportCommand::Urls { what }
        | ExportCommand::Links { what }
        | ExportCommand::Text { what, .. } => {
            Common { pages: &what.pages, target: &what.target, output: what.output.as_deref() }
        }
        ExportCommand::Mirror { directory, pages, target } => Common { pages, target, output: Some(directory) },
        ExportCommand::Warc { file, pages, target } => Common { pages, target, output: Some(file) },
    }
}

async fn export(command: &ExportCommand, pages: &mut Pages) -> Result<Written> {
    let output = common(command).output;
    match command {
        ExportCommand::Text { main, .. } => match output.filter(|path| text::is_directory(path)) {
            Some(directory) => text::files(pages, directory, *main).await,
            None => lines(pages, Sink::open(output)?, |page, sink| text::write(page, *main, sink)).await,
        },
        ExportCommand::Descriptions { format: DescriptionFormat::Json, .. } => {
            lines(pages, Sink::open(output)?, descriptions::write_json).await
        }
        ExportCommand::Descriptions { format: DescriptionFormat::Protobuf, .. } => {
            lines(pages, Sink::open(output)?, descriptions::write_protobuf).await
        }
        ExportCommand::Urls { what } => {
            let as_json = what.target.json;
            lines(pages, Sink::open(output)?, |page, sink| urls::write(page, as_json, sink)).await
        }
        ExportCommand::Links { .. } => lines(pages, Sink::open(output)?, links::write).await,
        ExportCommand::Mirror { directory, .. } => mirror::write(pages, directory).await,
        ExportCommand::Warc { file, .. } => warc::write(pages, file).await,
    }
}

/// Writes each page with the same function, which says how many lines it has made of it.
async fn lines(
    pages: &mut Pages,
    mut sink: Sink,
    mut write: impl FnMut(&seine_proto::common::v1::Description, &mut Sink) -> Result<u64>,
) -> Result<Written> {
    let mut written = Written::default();
    while let Some(batch) = pages.next_batch().await? {
        for page in &batch {
            written.lines += write(page, &mut sink)?;
            written.pages += 1;
        }
    }
    sink.finish()?;
    Ok(written)
}

/// Standard output is the export itself unless that went into a file.
fn report(written: &Written, common: &Common<'_>) {
    let Some(output) = common.output.filter(|path| *path != Path::new("-")) else { return };
    let Written { pages, lines, left_out } = written;
    if common.target.json {
        say!("{}", json!({ "pages": pages, "lines": lines, "left_out": left_out, "output": output }));
        return;
    }
    eprintln!("{pages} pages written to {}", output.display());
    if *left_out > 0 {
        eprintln!("{left_out} pages were left out: they ask not to be archived, or their copy cannot be read");
    }
}
