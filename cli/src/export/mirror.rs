//! `seine export mirror`: a directory of pages in which one can follow links with a browser, without any server.
//!
//! Three passes over the log: which version of each page is the newest (`pages`), which file each page gets, and then the
//! writing, when the place of every link's target is known. Links to pages of the mirror lead from file to file; all
//! others lead to the web. Nothing is fetched from there to show a page. Pages that say `noarchive` are left out.
//!
//! How a file is written follows from its suffix alone, which says what a browser takes it for: what it would run scripts
//! in is sanitised, whatever the archive says of it by now.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use seine_analyser::rewrite::{Use, rewrite_css, rewrite_html};
use seine_common::url::CanonicalUrl;
use seine_proto::common::v1::Description;
use seine_proto::filesaver::v1::{Capture, ReadForm, ReadRequest, ReadResponse, read_request};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::Written;
use super::file_name::{FileNames, preferred};
use super::pages::Pages;
use super::sink::cannot;
use super::suffix::suffix;
use super::url_map::UrlMap;
use crate::failure::{Failure, Result};

/// For a page whose own style sheet is not in the mirror: lines that can be read, and nothing wider than the window. It stands
/// first, so that what the page says of its looks itself still counts.
const PLAIN_STYLE: &str = "<style>body{max-width:48rem;margin:1rem auto;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif}\
    img,video,pre{max-width:100%}pre{overflow-x:auto}</style>";

/// The file of a page: the name that its URL makes, unless another page was there first.
struct Planned {
    suffix: &'static str,
    other_name: Option<Box<str>>,
}

struct MirrorFile {
    url: Url,
    /// Ends with the suffix.
    name: String,
    suffix: &'static str,
}

#[derive(Default)]
struct Plan {
    files: UrlMap<Planned>,
}

impl Plan {
    fn name(&self, url: &CanonicalUrl) -> Option<String> {
        self.file(url).map(|file| file.name)
    }

    fn file(&self, url: &CanonicalUrl) -> Option<MirrorFile> {
        let planned = self.files.get(url.as_str())?;
        let name = planned.other_name.as_deref().map_or_else(|| preferred(url, planned.suffix), str::to_owned);
        Some(MirrorFile { url: url.as_url().clone(), name, suffix: planned.suffix })
    }

    /// What stands in the file `from` for a link to `target`. A part of the page that is not in the mirror is left out: a
    /// browser would fetch it from the web without being asked.
    fn link(&self, from: &str, target: &Url, wanted_as: Use) -> Option<String> {
        let planned = CanonicalUrl::parse(target.as_str()).ok().and_then(|target| self.name(&target));
        let Some(name) = planned else { return (wanted_as == Use::Link).then(|| target.as_str().to_owned()) };
        let fragment = target.fragment().map(|fragment| format!("#{fragment}")).unwrap_or_default();
        Some(relative(from, &name) + &fragment)
    }
}

pub async fn write(pages: &mut Pages, directory: &Path) -> Result<Written> {
    let plan = Arc::new(plan(pages).await?);
    let mut written = Written::default();
    while let Some(batch) = pages.next_batch().await? {
        for page in batch {
            let file = CanonicalUrl::parse(&page.url).ok().and_then(|url| plan.file(&url));
            let (Some(file), Some(position)) = (file, page.archive) else {
                written.left_out += 1;
                continue;
            };
            let mut filesaver = pages.filesaver(&position)?;
            let record = Some(read_request::Record::Position(position));
            let document = Some(Capture { url: page.url.clone(), at_ms: page.fetched_at_ms });
            let copy = match filesaver.read(ReadRequest { record, form: ReadForm::Decoded.into(), document }).await {
                Ok(copy) => copy.into_inner(),
                Err(status) if matches!(status.code(), tonic::Code::NotFound | tonic::Code::DataLoss) => {
                    eprintln!("{} is left out: {}", page.url, status.message());
                    written.left_out += 1;
                    continue;
                }
                Err(status) => return Err(status.into()),
            };
            write_page(Arc::clone(&plan), file, copy, directory.to_owned()).await?;
            written.pages += 1;
        }
    }
    Ok(written)
}

/// Off the async threads, where somebody may wait for Ctrl-C to be heard; dropping the future ends the work.
async fn write_page(plan: Arc<Plan>, file: MirrorFile, copy: ReadResponse, directory: PathBuf) -> Result<()> {
    let cancelled = CancellationToken::new();
    let _cancels_when_dropped = cancelled.clone().drop_guard();
    let work = move || {
        let content = content(&plan, &file, &copy, &cancelled)?;
        write_file(&directory, &file.name, &content)
    };
    tokio::task::spawn_blocking(work).await.map_err(Failure::failed)?
}

async fn plan(pages: &mut Pages) -> Result<Plan> {
    let (mut plan, mut names) = (Plan::default(), FileNames::keeping(&[]));
    while let Some(batch) = pages.next_batch().await? {
        for page in batch.iter().filter(|page| may_be_shown(page)) {
            let Ok(url) = CanonicalUrl::parse(&page.url) else { continue };
            let suffix = suffix(&page.content_type, url.as_url().path());
            let name = names.assign(&url, suffix);
            let other_name = (name != preferred(&url, suffix)).then(|| name.into());
            plan.files.entry(url.as_str(), Planned { suffix, other_name });
        }
    }
    Ok(plan)
}

fn may_be_shown(page: &Description) -> bool {
    let is_archived = page.archive.as_ref().is_some_and(|position| !position.file.is_empty());
    is_archived && !page.robots.iter().any(|directive| directive == "noarchive")
}

fn content(plan: &Plan, file: &MirrorFile, copy: &ReadResponse, cancelled: &CancellationToken) -> Result<Vec<u8>> {
    let url = file.url.clone();
    let text = || String::from_utf8_lossy(&copy.body);
    let mut misses_its_style = false;
    let mut link = |target: &Url, wanted_as: Use| {
        let link = plan.link(&file.name, target, wanted_as);
        misses_its_style |= wanted_as == Use::Style && link.is_none();
        link
    };
    Ok(match file.suffix {
        "html" => {
            let html = rewrite_html(&text(), url, &mut link, cancelled).map_err(Failure::failed)?;
            // The page may have been in another charset, and said so.
            let (doctype, rest) = html.split_at(if html.starts_with("<!doctype html>") { 15 } else { 0 });
            let style = if misses_its_style { PLAIN_STYLE } else { "" };
            format!("{doctype}<meta charset=\"utf-8\">{style}{rest}").into_bytes()
        }
        "css" => rewrite_css(&text(), url, &mut link, cancelled).map_err(Failure::failed)?.into_bytes(),
        _ => copy.body.to_vec(),
    })
}

fn write_file(directory: &Path, name: &str, content: &[u8]) -> Result<()> {
    let path = directory.join(name);
    let parent = path.parent().unwrap_or(directory);
    fs::create_dir_all(parent).map_err(|error| cannot("create", parent, &error))?;
    fs::write(&path, content).map_err(|error| cannot("write", &path, &error))
}

/// The way from one file to another, as it is written in a page.
fn relative(from: &str, to: &str) -> String {
    let (from, to): (Vec<&str>, Vec<&str>) = (from.split('/').collect(), to.split('/').collect());
    let directories = from.len().min(to.len()) - 1;
    let common = (0..directories).take_while(|&at| from[at] == to[at]).count();
    let up = "../".repeat(from.len() - 1 - common);
    // Names hold no other character that means something in a URL; a colon in the first part would be a scheme.
    (up + &to[common..].join("/")).replace('%', "%25")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_from_file_to_file() {
        assert_eq!(relative("a/index.html", "a/b.html"), "b.html");
        assert_eq!(relative("a/index.html", "a/index.html"), "index.html");
        assert_eq!(relative("a/b/c.html", "a/index.html"), "../index.html");
        assert_eq!(relative("a/b/c.html", "d/e%20f.html"), "../../d/e%2520f.html");
    }

    #[test]
    fn a_page_without_its_style_gets_a_plain_one() {
        let mut plan = Plan::default();
        plan.files.entry("http://a/a.css", Planned { suffix: "css", other_name: None });
        let written = |html: &str| {
            let copy = ReadResponse { body: html.to_owned().into(), ..Default::default() };
            let url = Url::parse("http://a/").unwrap();
            let file = MirrorFile { url, name: "a/index.html".to_owned(), suffix: "html" };
            String::from_utf8(content(&plan, &file, &copy, &CancellationToken::new()).ok().unwrap()).unwrap()
        };
        let plain = format!("<!doctype html><meta charset=\"utf-8\">{PLAIN_STYLE}<link rel=\"stylesheet\">x");
        assert_eq!(written("<!doctype html><link rel=stylesheet href=b.css>x"), plain);
        let own = "<meta charset=\"utf-8\"><link href=\"a.css\" rel=\"stylesheet\"><link rel=\"icon\"><img>x";
        assert_eq!(written("<link rel=stylesheet href=a.css><link rel=icon href=i><img src=c>x"), own);
    }

    #[test]
    fn what_is_not_in_the_mirror_is_linked_on_the_web_and_never_fetched() {
        let mut plan = Plan::default();
        plan.files.entry("http://a/b?c", Planned { suffix: "html", other_name: None });
        let link = |target: &str, wanted_as| plan.link("a/index.html", &Url::parse(target).unwrap(), wanted_as);
        assert_eq!(link("http://a/b?c#d", Use::Link).as_deref(), Some("b~84a51684.html#d"));
        assert_eq!(link("http://a/x#d", Use::Link).as_deref(), Some("http://a/x#d"));
        assert_eq!(link("http://a/b?c", Use::Part).as_deref(), Some("b~84a51684.html"));
        assert_eq!(link("http://a/x", Use::Part), None);
    }
}
