//! The contract between the tiers: the `.proto` files under `proto/seine` and the code generated from them.
//!
//! Generated types stop at the `rpc` modules of the tiers; domain types go on from there.

pub mod in_process;

macro_rules! area {
    ($area:ident) => {
        pub mod $area {
            pub mod v1 {
                #![allow(clippy::all, clippy::pedantic)]
                include!(concat!(env!("OUT_DIR"), "/seine.", stringify!($area), ".v1.rs"));
            }
        }
    };
}

mod description;
mod outcome;

area!(common);
area!(monitor);
area!(analyser);
area!(filesaver);
area!(indexer);
area!(query);
area!(node);

/// Descriptors of every service, for gRPC reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/seine.descriptor"));
