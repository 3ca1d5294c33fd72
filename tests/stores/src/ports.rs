//! Ports that are free, and stay so while a node is dead.
//!
//! They are below those that the system gives to outgoing connections, or one of these could take the port of a killed node
//! before it is started again. Within this process none is given twice. Another process may still be faster: who starts a
//! server tries again then.

use std::hash::{BuildHasher, RandomState};
use std::net::TcpListener;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

const FIRST: u16 = 10_000;
const PAIRS: u16 = 11_000;

/// Two neighbouring ports on loopback.
pub fn free_pair() -> (u16, u16) {
    // Test programs that run at the same time begin at different places.
    static NEXT: LazyLock<AtomicUsize> = LazyLock::new(|| {
        let random = RandomState::new().hash_one(std::process::id());
        AtomicUsize::new(usize::from(random as u16))
    });
    for _ in 0..PAIRS {
        let pair = NEXT.fetch_add(1, Ordering::Relaxed) % usize::from(PAIRS);
        let port = FIRST + 2 * u16::try_from(pair).expect("it is less than PAIRS");
        if is_free(port) && is_free(port + 1) {
            return (port, port + 1);
        }
    }
    panic!("no two neighbouring ports from {FIRST} on are free");
}

fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}
