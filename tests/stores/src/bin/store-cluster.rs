//! Starts a cluster of stores for trying things by hand: prints the settings with which Seine finds it, and ends with its
//! standard input.

use std::io::{self, Read};

use seine_test_stores::{Setup, StoreCluster};

fn main() {
    let Some(cluster) = StoreCluster::start(Setup::default()) else { std::process::exit(1) };
    let nodes: Vec<String> = cluster.nodes().iter().map(|node| format!("{node:?}")).collect();
    println!("export SEINE_FRONTIER_STORE=redis SEINE_FRONTIER_NODES='[{}]'", nodes.join(", "));
    let _ = io::stdin().read_to_end(&mut Vec::new());
}
