//! A worker process by itself, for tests that have no `seine` at hand: `convert_worker convert-worker --memory-bytes N
//! --cpu-seconds N`, as `seine` takes it.

use std::process::ExitCode;

use seine_analyser::convert::worker::{self, WorkerLimits};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str| {
        let place = words.iter().position(|word| word == name).expect("both limits are given");
        words[place + 1].parse().expect("limits are numbers")
    };
    assert_eq!(words.first().map(String::as_str), Some(worker::COMMAND));
    worker::run(WorkerLimits { memory_bytes: number("--memory-bytes"), cpu_seconds: number("--cpu-seconds") })
}
