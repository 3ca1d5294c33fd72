//! A data directory that a real crawl has left, and where in it each page stands.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use seine_tests::sandbox::Seine;
use seine_tests::{FakeWeb, FakeWebConfig};
use serde_json::Value;

use super::harm::Harm;

const PAGES: u32 = 150;
/// Of them, when the crawl is killed.
const ENOUGH: usize = 80;
/// So small that archive and log have several files each.
const CONFIG: &str = "[store]\narchive_file_bytes = 65536\ndurability = \"os\"\n";
/// Length and checksum before each entry of the log.
const HEADER_BYTES: u64 = 8;

/// What a page stands on, as files below the data directory.
struct Page {
    url: String,
    entry: (PathBuf, Range<u64>),
    record: (PathBuf, Range<u64>),
}

pub struct Crawled {
    data: tempfile::TempDir,
    pages: Vec<Page>,
}

impl Crawled {
    /// The crawl came to its end.
    pub fn cleanly() -> Self {
        Self::by(|mut crawl, _| assert!(crawl.output().expect("seine can be started").status.success()))
    }

    /// The crawl was killed when most pages were there.
    pub fn killed() -> Self {
        Self::by(|mut crawl, data| {
            let mut child = crawl.spawn().expect("seine can be started");
            let deadline = Instant::now() + Duration::from_secs(60);
            while log_entries(data).len() < ENOUGH && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(2));
            }
            child.kill().expect("the process runs");
            child.wait().expect("it can be awaited");
        })
    }

    fn by(run: impl FnOnce(Command, &Path)) -> Self {
        let web = FakeWeb::start(FakeWebConfig::small(PAGES));
        let seine = Seine::new();
        let config = seine.data().join("seine.toml");
        fs::write(&config, CONFIG).expect("the file can be written");
        let flags = ["--delay", "0", "--config", config.to_str().expect("the path is text")];
        run(seine.crawl_command(&web.url("/"), &flags), seine.data());

        let data = tempfile::tempdir().expect("a directory can be made");
        copy(seine.data(), data.path());
        // Asked of the directory itself, which is another one afterwards.
        let exported = seine.run(&["export", "descriptions"]);
        assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
        let mut this = Self { data, pages: Vec::new() };
        let lines = String::from_utf8_lossy(&exported.stdout).into_owned();
        let descriptions = lines.lines().map(|line| serde_json::from_str(line).expect("lines are JSON"));
        let entries = log_entries(this.data.path());
        this.pages = descriptions.zip(entries).map(|(page, entry)| this.page(&page, entry)).collect();
        assert!(this.pages.len() >= ENOUGH, "{} pages", this.pages.len());
        this
    }

    /// Each URL was fetched once, so that the newest versions are all entries, in their order.
    fn page(&self, description: &Value, entry: (PathBuf, Range<u64>)) -> Page {
        let archive = &description["archive"];
        let number = |key: &str| archive[key].as_u64().expect("a position is numbers");
        let name = Path::new("filesaver/archive").join(archive["file"].as_str().expect("a file has a name"));
        let open = name.with_extension("gz.open");
        let file = if self.data.path().join(&name).exists() { name } else { open };
        let record = (file, number("offset")..number("offset") + number("length"));
        Page { url: description["url"].as_str().expect("a page has a URL").to_owned(), entry, record }
    }

    /// Files of archive, log and index, in order, below the data directory.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for part in ["filesaver/archive", "filesaver/log", "index"] {
            collect(self.data.path(), Path::new(part), &mut files);
        }
        files.sort();
        files
    }

    pub fn length(&self, file: &Path) -> u64 {
        fs::metadata(self.data.path().join(file)).expect("the file is there").len()
    }

    pub fn copy_to(&self, directory: &Path) {
        copy(self.data.path(), directory);
    }

    /// Whether the log is left as it was at an earlier time, which nothing in it can tell.
    pub fn is_cut_at_its_end(&self, harm: &Harm) -> bool {
        self.pages.last().is_some_and(|page| harm.shortens(&page.entry.0))
    }

    /// URLs of all pages.
    pub fn pages(&self) -> BTreeSet<String> {
        self.pages.iter().map(|page| page.url.clone()).collect()
    }

    /// Those whose log entry and archive record are as they were.
    pub fn whole(&self, harm: &Harm) -> BTreeSet<String> {
        let is_whole = |(file, range): &(PathBuf, Range<u64>)| !harm.touches(file, range);
        let whole = self.pages.iter().filter(|page| is_whole(&page.entry) && is_whole(&page.record));
        whole.map(|page| page.url.clone()).collect()
    }

    /// Those whose log entry is as it was.
    pub fn logged(&self, harm: &Harm) -> BTreeSet<String> {
        let logged = self.pages.iter().filter(|page| !harm.touches(&page.entry.0, &page.entry.1));
        logged.map(|page| page.url.clone()).collect()
    }
}

fn collect(root: &Path, part: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(root.join(part)).expect("the directory is readable") {
        let path = part.join(entry.expect("entries are readable").file_name());
        match root.join(&path).is_dir() {
            true => collect(root, &path, files),
            false => files.push(path),
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory can be made");
    for entry in fs::read_dir(from).expect("the directory is readable") {
        let path = entry.expect("entries are readable").path();
        let target = to.join(path.file_name().expect("entries have names"));
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(fs::copy(&path, &target).expect("the file can be copied")),
        }
    }
}

/// Where the entries of the log stand.
fn log_entries(data: &Path) -> Vec<(PathBuf, Range<u64>)> {
    let (mut files, mut entries) = (Vec::new(), Vec::new());
    if data.join("filesaver/log").is_dir() {
        collect(data, Path::new("filesaver/log"), &mut files);
    }
    files.sort();
    for file in files.into_iter().filter(|file| file.extension().is_some_and(|end| end == "log")) {
        let bytes = fs::read(data.join(&file)).expect("the log is readable");
        let mut at = 0;
        while let Some(length) = bytes.get(at as usize..).and_then(|rest| rest.first_chunk()) {
            let end = at + HEADER_BYTES + u64::from(u32::from_le_bytes(*length));
            if end > bytes.len() as u64 {
                break;
            }
            entries.push((file.clone(), at..end));
            at = end;
        }
    }
    entries
}
