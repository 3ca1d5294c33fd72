//! Serves the demo web until Ctrl-C or SIGTERM.
//!
//! Prints `ready` and the first page of each host when all of them answer.

use std::io::Write;
use std::process::ExitCode;

use anyhow::bail;
use clap::Parser;
use seine_tests::demo_web::{DEFAULT_PORTS, DemoWeb, HOST_COUNT};
use tokio::signal::unix::{SignalKind, signal};

/// Serves three small hosts on 127.0.0.1, in English, Chinese and Czech.
#[derive(Debug, Parser)]
struct Args {
    /// One port for each host; 0 takes any free one
    #[arg(long, value_delimiter = ',', default_values_t = DEFAULT_PORTS)]
    ports: Vec<u16>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(&Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("demo-web: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> anyhow::Result<()> {
    let Ok(ports) = <[u16; HOST_COUNT]>::try_from(args.ports.as_slice()) else {
        bail!("--ports has {} ports; give {HOST_COUNT}, such as 8091,8092,8093", args.ports.len());
    };
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let web = DemoWeb::start(ports).await?;
    let mut out = std::io::stdout();
    writeln!(out, "ready {}", web.urls().join(" "))?;
    out.flush()?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    web.shutdown().await;
    Ok(())
}
