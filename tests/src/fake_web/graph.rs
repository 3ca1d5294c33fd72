//! Which page links where: a tree that reaches every page, and cross links over it.
//!
//! `/` links to the first pages. Page n links to its children in the tree, so the whole host is reachable from `/`
//! however the other links fall. The rest of a page's links are drawn from its number: most of a crawler's finds are
//! repeats, as on a real site. Nothing here knows HTML.

use super::config::FakeWebConfig;
use super::dice::Dice;

/// One `<a href>` of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    pub target: Target,
    pub form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Home,
    Page(u32),
    OtherHost { host: usize, page: u32 },
    Private(u32),
}

/// How the link is written. Targets on another host are always absolute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Relative,
    FromRoot,
    Absolute,
    Fragment,
}

const PRIVATE_PAGES: usize = 10;
/// Below this many free links a page has neither a repeated nor a private one.
const ROOM_FOR_EXTRAS: u32 = 4;

/// Pages that `/` links to.
pub fn first_pages(config: &FakeWebConfig) -> u32 {
    config.links.min(config.pages)
}

/// The children of a page in the tree.
fn children(config: &FakeWebConfig, page: u32) -> std::ops::Range<u32> {
    let branching = u64::from((config.links / 3).max(1));
    let first = u64::from(first_pages(config)) + u64::from(page) * branching;
    let end = (first + branching).min(u64::from(config.pages));
    first.min(end) as u32..end as u32
}

/// Fills `links` with the links of one page, in document order: exactly `config.links`.
pub fn links_of(config: &FakeWebConfig, host: usize, page: u32, links: &mut Vec<Link>) {
    links.clear();
    let mut dice = Dice::keyed(config.seed ^ 0x117_5eed, host as u64, u64::from(page));
    if config.links > 1 {
        links.push(Link { target: Target::Home, form: Form::FromRoot });
    }
    for child in children(config, page) {
        links.push(Link { target: Target::Page(child), form: any_form(&mut dice) });
    }
    let free = config.links.saturating_sub(links.len() as u32);
    let first_free = links.len();
    for position in 0..free {
        let extras = free >= ROOM_FOR_EXTRAS;
        let link = if extras && position + 1 == free {
            Link { form: any_form(&mut dice), ..links[first_free] }
        } else if extras && position + 2 == free && config.private_links && dice.once_in(8) {
            Link { target: Target::Private(dice.below(PRIVATE_PAGES) as u32), form: Form::FromRoot }
        } else {
            let page = dice.below(config.pages as usize) as u32;
            let form = any_form(&mut dice);
            if position < config.cross_host_links && config.hosts.len() > 1 {
                let step = 1 + dice.below(config.hosts.len() - 1);
                Link { target: Target::OtherHost { host: (host + step) % config.hosts.len(), page }, form }
            } else {
                Link { target: Target::Page(page), form }
            }
        };
        links.push(link);
    }
}

fn any_form(dice: &mut Dice) -> Form {
    match dice.below(10) {
        0..4 => Form::Relative,
        4..7 => Form::FromRoot,
        7..9 => Form::Absolute,
        _ => Form::Fragment,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn linked_pages(config: &FakeWebConfig, page: u32) -> Vec<u32> {
        let mut links = Vec::new();
        links_of(config, 0, page, &mut links);
        assert_eq!(links.len(), config.links as usize);
        links
            .iter()
            .filter_map(|link| match link.target {
                Target::Page(page) => Some(page),
                _ => None,
            })
            .collect()
    }

    proptest! {
        #[test]
        fn every_page_is_reachable_from_the_root(pages in 1u32..600, links in 1u32..40, seed: u64) {
            let config = FakeWebConfig { pages, links, seed, ..FakeWebConfig::default() };
            let mut seen = vec![false; pages as usize];
            let mut queue: Vec<u32> = (0..first_pages(&config)).collect();
            while let Some(page) = queue.pop() {
                if !std::mem::replace(&mut seen[page as usize], true) {
                    queue.extend(linked_pages(&config, page));
                }
            }
            prop_assert!(seen.iter().all(|&seen| seen));
        }
    }

    #[test]
    fn pages_link_to_other_hosts_as_often_as_asked() {
        let config = FakeWebConfig { cross_host_links: 2, ..FakeWebConfig::default() }.with_port_hosts(3);
        let mut links = Vec::new();
        links_of(&config, 1, 99, &mut links);
        let others: Vec<_> = links
            .iter()
            .filter_map(|link| match link.target {
                Target::OtherHost { host, .. } => Some(host),
                _ => None,
            })
            .collect();
        // The last link repeats the first free one, which leads to another host here.
        assert_eq!(others.len(), 3);
        assert!(others.iter().all(|&host| host == 0 || host == 2));
    }
}
