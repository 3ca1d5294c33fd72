//! Judged collections: documents, queries, and which documents answer them; indexed as the pages of a web site, and
//! scored as other engines are.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use seine_indexer::entry::{Entry, Page};
use seine_indexer::writer::DocumentWriter;
use seine_indexer::{Indexer, IndexerConfig, publish};
use seine_query::{QueryConfig, QueryService, RankingWeights, SearchRequest};
use serde_json::Value;

/// Documents on each list of the site.
const LISTED: usize = 50;

pub struct Collection {
    pub name: String,
    documents: Vec<Value>,
    queries: Vec<(String, String)>,
    /// Of each query, the grades of its documents.
    grades: HashMap<String, HashMap<String, u32>>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    pub ndcg_at_10: f64,
    pub mean_average_precision: f64,
    pub recall_at_100: f64,
}

/// Where the collections are, beside the project.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/cases/ir-dev")
}

impl Collection {
    pub fn read(folder: &Path, name: &str) -> std::io::Result<Self> {
        let read = |file: &str| fs::read_to_string(folder.join(name).join(file));
        let lines = |text: String| -> Vec<Value> {
            text.lines().map(|line| serde_json::from_str(line).expect("a JSON object")).collect()
        };
        let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let documents = lines(read("docs.jsonl")?);
        let queries =
            lines(read("queries.jsonl")?).iter().map(|query| (text(query, "id"), text(query, "text"))).collect();
        let mut grades: HashMap<String, HashMap<String, u32>> = HashMap::new();
        for line in read("qrels.txt")?.lines() {
            let parts: Vec<&str> = line.split_whitespace().collect();
            let grade: i64 = parts[3].parse().expect("a number");
            let of_query = grades.entry(parts[0].to_owned()).or_default();
            of_query.insert(parts[2].to_owned(), grade.max(0) as u32);
        }
        Ok(Self { name: name.to_owned(), documents, queries, grades })
    }

    /// Puts the pages of the collection's site into an index.
    pub fn index(&self, directory: &Path) {
        let config = IndexerConfig::default();
        Indexer::open(directory, config.clone()).expect("an index");
        let current = publish::current(directory).expect("readable").expect("an index");
        let mut writer = DocumentWriter::open(&current, &config).expect("a writer");
        for page in self.pages() {
            writer.apply(Entry::Page(Box::new(page))).expect("applied");
        }
        writer.commit().expect("committed");
    }

    fn pages(&self) -> impl Iterator<Item = Page> + '_ {
        let lang = |document: &Value| document["lang"].as_str().unwrap_or_default().chars().take(2).collect::<String>();
        let count = self.documents.len();
        let page = move |path: String, title: String, main: &str, lang: String| Page {
            url: format!("http://collection.example/{path}"),
            title,
            text: format!("Home All documents Private\n{main}\nPrinted for testing. About"),
            crawl: "measured".to_owned(),
            lang,
            fetched_at_ms: 1,
            ..Page::default()
        };
        let documents = self.documents.iter().enumerate().map(move |(number, document)| {
            let (heading, text) = (document["title"].as_str().unwrap_or(""), document["text"].as_str().unwrap_or(""));
            let title = if heading.is_empty() { text.chars().take(60).collect() } else { heading.to_owned() };
            let near: Vec<String> = [1, 7, 31].map(|step| format!("Document {}", (number + step) % count)).to_vec();
            let main = format!("{heading}\n{text}\n{}", near.join("\n"));
            page(format!("doc/{number}.html"), title, &main, lang(document))
        });
        let lists = (0..count.div_ceil(LISTED)).map(move |list| {
            let listed = (list * LISTED)..count.min((list + 1) * LISTED);
            let items: Vec<String> = listed.map(|number| format!("Document {number}")).collect();
            page(format!("list/{list}.html"), format!("List {list}"), &items.join("\n"), String::new())
        });
        documents.chain(lists)
    }

    pub fn measure(&self, index: &Path, weights: RankingWeights) -> Measured {
        let service = QueryService::open(index, QueryConfig { weights, ..QueryConfig::default() }).expect("a service");
        let mut sum = Measured::default();
        let mut judged = 0.0;
        for (id, text) in &self.queries {
            let Some(grades) = self.grades.get(id).filter(|grades| grades.values().any(|&grade| grade > 0)) else {
                continue;
            };
            judged += 1.0;
            let found = self.ask(&service, text);
            let gains: Vec<u32> = found.iter().map(|id| grades.get(*id).copied().unwrap_or(0)).collect();
            let mut ideal: Vec<u32> = grades.values().copied().filter(|&grade| grade > 0).collect();
            ideal.sort_unstable_by_key(|&grade| std::cmp::Reverse(grade));
            sum.ndcg_at_10 += discounted(&gains) / discounted(&ideal);
            let mut hits = 0.0;
            for (place, _) in gains.iter().enumerate().filter(|(_, gain)| **gain > 0) {
                hits += 1.0;
                sum.mean_average_precision += hits / (place + 1) as f64 / ideal.len() as f64;
            }
            sum.recall_at_100 += hits / ideal.len() as f64;
        }
        Measured {
            ndcg_at_10: sum.ndcg_at_10 / judged,
            mean_average_precision: sum.mean_average_precision / judged,
            recall_at_100: sum.recall_at_100 / judged,
        }
    }

    fn ask(&self, service: &QueryService, text: &str) -> Vec<&str> {
        let answer = service.search(&SearchRequest { limit: 100, ..SearchRequest::new(text) }).expect("an answer");
        let document = |url: &str| {
            let number: usize = url.split_once("/doc/")?.1.strip_suffix(".html")?.parse().ok()?;
            self.documents[number]["id"].as_str()
        };
        answer.hits.iter().filter_map(|hit| document(&hit.url)).collect()
    }
}

fn discounted(grades: &[u32]) -> f64 {
    grades.iter().take(10).enumerate().map(|(place, &grade)| f64::from(grade) / ((place + 2) as f64).log2()).sum()
}
