//! A worker process by itself, for tests that have no `seine` at hand: `convert_worker convert-worker --memory-bytes N
//! --cpu-seconds N`, as `seine` takes it.
//!
//! `convert_worker attempt WALLS WHAT` does inside the walls of a worker what code in a broken parser would do: it closes
//! descriptor 0, to have room for another, and then opens a file, connects, or executes a program. Ends with 0 where that
//! succeeded and with 1 where it was refused. `seine` has no such command.

use std::fs::File;
use std::io;
use std::net::{TcpStream, UdpSocket};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use seine_analyser::convert::sandbox;
use seine_analyser::convert::worker::{self, WorkerLimits};

const MEMORY_BYTES: u64 = 256 << 20;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [attempt, walls, what] = words.as_slice()
        && attempt == "attempt"
    {
        return match break_out(walls, what) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    let number = |name: &str| {
        let place = words.iter().position(|word| word == name).expect("both limits are given");
        words[place + 1].parse().expect("limits are numbers")
    };
    assert_eq!(words.first().map(String::as_str), Some(worker::COMMAND));
    worker::run(WorkerLimits { memory_bytes: number("--memory-bytes"), cpu_seconds: number("--cpu-seconds") })
}

fn break_out(walls: &str, what: &str) -> io::Result<()> {
    // Made before, as if it had been inherited: the call that connects it is tried by itself.
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    match walls {
        "limits" => sandbox::limits::confine(MEMORY_BYTES)?,
        "landlock" => sandbox::access::deny().map_err(io::Error::other)?,
        "all" => assert_eq!(sandbox::enter(MEMORY_BYTES)?, [""; 0], "this kernel has all of the walls"),
        other => panic!("there is no wall {other:?}"),
    }
    nix::unistd::close(0)?;
    match what {
        "open" => drop(File::open("/etc/passwd")?),
        // A socket of its own, of which nobody answers at the other end.
        "socket" => drop(UdpSocket::bind("127.0.0.1:0")?),
        "connect" => socket.connect("127.0.0.1:9")?,
        "connect-tcp" => drop(TcpStream::connect("127.0.0.1:9")?),
        "execute" => return Err(Command::new("/bin/true").exec()),
        other => panic!("there is nothing called {other:?} to attempt"),
    }
    Ok(())
}
