//! What the tests and the bench of Seine stand on: a web made for them.
//!
//! - [`fake_web`]: deterministic pages over any number of hosts, with fault paths and a log of every request.
//! - [`live_web`]: pages that a test puts, changes and removes.
//! - [`tls_web`]: pages behind TLS.
//! - [`demo_web`]: the three small hosts that Seine ships for its demo.
//! - [`eventually`]: waiting with a deadline instead of sleeping.
//! - [`sandbox`]: Seine's own programs; [`system_calls`]: the same on systems that allow them less.
//! - [`chaos`]: a cluster that crawls while its processes are killed, stopped and cut off, and what must hold then.
//! - [`otlp_receiver`]: who receives their traces.

pub mod fake_web;
pub mod live_web;
pub mod tls_web;
pub mod demo_web;
pub mod eventually;
pub mod sandbox;
pub mod system_calls;
pub mod chaos;
pub mod otlp_receiver;

pub use eventually::eventually;
pub use fake_web::{FakeWeb, FakeWebConfig, RecordedRequest};
pub use live_web::LiveWeb;
