//! The services of this crate over real gRPC, and what they leave on disk.

mod support;
mod saving;
mod duplicates;
mod reading;
mod following;
mod interrupted;
mod full_disk;
mod analysing;
mod several_filesavers;
mod converting;
mod crowded;
