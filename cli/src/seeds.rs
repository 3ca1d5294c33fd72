//! Checks before a crawl begins that its seeds lie on addresses and ports it may contact: a person who crawls their own
//! machine should be told about `--allow-net` at once, not by an outcome.

use seine_collector::resolve::Resolver;
use seine_common::address::{AddressRules, FixedAddress, Permit, port};
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::Crawl;

use crate::failure::{Failure, Result};

pub async fn check_addresses(crawl: &Crawl) -> Result<()> {
    let rules = AddressRules::parse(&crawl.allow_net).map_err(Failure::usage)?;
    let fixed = crawl.resolve.iter().map(|text| text.parse::<FixedAddress>()).collect::<std::result::Result<_, _>>();
    let resolver = Resolver::new(fixed.map_err(Failure::usage)?).map_err(Failure::failed)?;
    for seed in &crawl.seeds {
        let url = CanonicalUrl::parse(seed).map_err(Failure::usage)?;
        let name = url.as_url().host_str().unwrap_or_default().to_owned();
        let port = url.as_url().port_or_known_default().unwrap_or(80);
        if port::is_refused(port) {
            return Err(Failure::usage(format!(
                "{seed} is on port {port}, which belongs to another service than the web and is never asked, as in \
                 browsers; serve the site on another port"
            )));
        }
        // A name that cannot be found is an outcome of the crawl, and may be found later.
        let Ok(addresses) = resolver.lookup(&name, port).await else { continue };
        let denied = addresses.iter().find(|address| rules.permit(**address) == Permit::Denied);
        if let Some(address) = denied
            && addresses.iter().all(|address| rules.permit(*address) == Permit::Denied)
        {
            return Err(Failure::usage(format!(
                "{seed} is at {address}, which is not on the public internet; to crawl it, add --allow-net {}",
                network_of(*address)
            )));
        }
    }
    Ok(())
}

/// The network that a person most likely means.
fn network_of(address: std::net::IpAddr) -> String {
    if address.is_loopback() && address.is_ipv4() { "127.0.0.0/8".to_owned() } else { address.to_string() }
}
