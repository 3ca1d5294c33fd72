//! A server's process, which does not outlive the one that started it, however that ends.

use std::io;
use std::process::{Child, Command};
use std::sync::LazyLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};

/// What Linux shows times in, on every architecture: `USER_HZ`.
const TICKS_PER_SECOND: f64 = 100.0;

pub struct Process(Child);

impl Process {
    /// Starts `program ARGUMENT…` with what `prepare` sets: directory and output.
    pub fn start(program: &std::path::Path, prepare: impl FnOnce(&mut Command)) -> Self {
        // Drop does not run where a test program is killed. `setpriv` becomes the program, with the same number, and
        // needs no unsafe code here.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(program);
        prepare(&mut command);
        let child = spawn(command).unwrap_or_else(|error| panic!("setpriv {}: {error}", program.display()));
        Self(child)
    }

    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().expect("a child can be asked for").is_some()
    }

    /// Kills it, paused or not, and waits until it is gone.
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).expect("the process is a child that was not waited for");
    }

    /// CPU time of it and of the children that it waited for, such as one that rewrites the log of writes.
    pub fn cpu_seconds(&self) -> f64 {
        let file = format!("/proc/{}/stat", self.0.id());
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
        // Behind the name, which may hold anything: utime, stime, cutime and cstime are the fields 14 to 17 of proc(5).
        let (_, fields) = text.rsplit_once(") ").expect("the name stands in brackets");
        let ticks = fields.split(' ').skip(11).take(4).map(|field| field.parse::<f64>().expect("a number of ticks"));
        ticks.sum::<f64>() / TICKS_PER_SECOND
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Spawns from a thread that lives as long as this process: the signal at the parent's death is sent when the *thread* ends
/// that spawned, and tests have threads of their own.
fn spawn(command: Command) -> io::Result<Child> {
    type Order = (Command, Sender<io::Result<Child>>);
    static ORDERS: LazyLock<Sender<Order>> = LazyLock::new(|| {
        let (orders, received) = channel::<Order>();
        thread::spawn(move || {
            for (mut command, answer) in received {
                let _ = answer.send(command.spawn());
            }
        });
        orders
    });
    let (sender, answer) = channel();
    ORDERS.send((command, sender)).expect("the thread never ends");
    answer.recv().expect("every order is answered")
}
