//! A wire between two processes that can be cut: it listens, and carries what comes to another address and back.
//!
//! While it is cut, nothing goes in either direction and no connection breaks, as between two machines whose network is
//! gone. What was sent meanwhile arrives when it is mended, as TCP would send it again.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

const CHUNK: usize = 64 * 1024;

#[derive(Debug, Default)]
struct State {
    is_cut: bool,
    is_over: bool,
    ends: Vec<TcpStream>,
}

#[derive(Debug, Default)]
struct Wire {
    state: Mutex<State>,
    changed: Condvar,
}

/// Ends with all its connections when it is dropped.
#[derive(Debug)]
pub struct Severable {
    wire: Arc<Wire>,
    address: SocketAddr,
}

impl Severable {
    pub fn to(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        let wire = Arc::new(Wire::default());
        let (target, shared) = (target.to_owned(), wire.clone());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if shared.passes().is_none() {
                    return;
                }
                shared.carry(&stream, &target);
            }
        });
        Self { wire, address }
    }

    pub fn address(&self) -> String {
        self.address.to_string()
    }

    pub fn cut(&self) {
        self.wire.lock().is_cut = true;
    }

    pub fn mend(&self) {
        self.wire.lock().is_cut = false;
        self.wire.changed.notify_all();
    }
}

impl Drop for Severable {
    fn drop(&mut self) {
        let mut state = self.wire.lock();
        state.is_over = true;
        for end in state.ends.drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
        drop(state);
        self.wire.changed.notify_all();
        // Lets the listener look.
        let _ = TcpStream::connect(self.address);
    }
}

impl Wire {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits until it is not cut; `None` when it is over.
    fn passes(&self) -> Option<()> {
        let state = self.lock();
        let state = self.changed.wait_while(state, |state| state.is_cut && !state.is_over);
        let state = state.unwrap_or_else(|poisoned| poisoned.into_inner());
        (!state.is_over).then_some(())
    }

    /// Both directions, each in a thread. Who finds nobody at the other end is hung up on.
    fn carry(self: &Arc<Self>, stream: &TcpStream, target: &str) {
        let Ok(other) = TcpStream::connect(target) else { return };
        for (from, into) in [(stream, &other), (&other, stream)] {
            let clones = (from.try_clone(), into.try_clone(), from.try_clone());
            let (Ok(mut from), Ok(mut into), Ok(end)) = clones else { return };
            let _ = from.set_nodelay(true);
            self.lock().ends.push(end);
            let wire = self.clone();
            thread::spawn(move || {
                let mut chunk = vec![0; CHUNK];
                while let Ok(bytes @ 1..) = from.read(&mut chunk) {
                    if wire.passes().is_none() || into.write_all(&chunk[..bytes]).is_err() {
                        break;
                    }
                }
                // An end that was seen while cut is told when that is over.
                let _ = wire.passes();
                let _ = into.shutdown(Shutdown::Both);
                let _ = from.shutdown(Shutdown::Both);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_sent_while_it_is_cut_arrives_when_it_is_mended() {
        let target = TcpListener::bind("127.0.0.1:0").unwrap();
        let wire = Severable::to(&target.local_addr().unwrap().to_string());
        let mut near = TcpStream::connect(wire.address()).unwrap();
        let (mut far, _) = target.accept().unwrap();
        let mut byte = [0];
        near.write_all(b"a").unwrap();
        far.read_exact(&mut byte).unwrap();
        wire.cut();
        near.write_all(b"b").unwrap();
        far.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        assert!(far.read(&mut byte).is_err(), "nothing comes through");
        wire.mend();
        far.set_read_timeout(None).unwrap();
        far.read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"b");
        drop(wire);
        assert_eq!(near.read(&mut byte).unwrap_or(0), 0, "it ends with its wire");
    }
}
