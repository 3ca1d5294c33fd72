//! Documents are read like pages: found by title and words, their links followed. Broken ones cost nothing else.

use seine_tests::LiveWeb;
use seine_tests::sandbox::Seine;

const PDF: &str = "application/pdf";
const DOCX: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const ODT: &str = "application/vnd.oasis.opendocument.text";

macro_rules! file {
    ($name:literal) => {
        include_bytes!(concat!("../../../analyser/tests/data/", $name)).as_slice()
    };
}

/// The link in a document of the test data leads to example.org; in this one it leads to a page of this web.
fn relinked(body: &[u8], to: &str) -> Vec<u8> {
    const FROM: &[u8] = b"http://example.org/linked?from=reportlab";
    let at = body.windows(FROM.len()).position(|window| window == FROM).expect("the document has its link");
    assert!(to.len() <= FROM.len());
    let mut body = body.to_owned();
    // Of the same length, so that every offset in the file stays right.
    body[at..at + FROM.len()].copy_from_slice(format!("{to:<width$}", width = FROM.len()).as_bytes());
    body
}

fn urls(seine: &Seine, words: &str) -> Vec<String> {
    seine.documents(words).into_iter().map(|document| document.url).collect()
}

#[test]
fn documents_are_found_by_title_and_words_and_their_links_are_followed() {
    let web = LiveWeb::new();
    let documents = ["/printed.pdf", "/get?id=1", "/letter.docx", "/table.xlsx", "/minutes.odt"];
    web.put("/", "start", &documents);
    web.put_file("/printed.pdf", PDF, file!("printed.pdf"));
    // Without a suffix and with a header that says nothing: the bytes tell.
    web.put_file("/get?id=1", "application/octet-stream", &relinked(file!("drawn.pdf"), "/from-a-document"));
    web.put_file("/letter.docx", DOCX, file!("letter.docx"));
    web.put_file("/table.xlsx", XLSX, file!("table.xlsx"));
    web.put_file("/minutes.odt", ODT, file!("minutes.odt"));
    web.put("/from-a-document", "only a document leads here", &[]);
    let seine = Seine::new();
    let run = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((run.code, run.count("pages"), run.count("failed")), (0, 7, 0), "{run:?}");

    assert_eq!(urls(&seine, "\"only a document leads here\""), [web.url("/from-a-document")]);
    let in_all: Vec<String> = urls(&seine, "žluťoučký");
    let mut expected: Vec<String> = documents.iter().map(|path| web.url(path)).collect();
    expected.sort();
    assert_eq!(in_all, expected);
    for (words, path) in [
        ("title:zpráva", "/printed.pdf"),
        ("title:drawn", "/get?id=1"),
        ("title:dopis", "/letter.docx"),
        ("title:tabulka", "/table.xlsx"),
        ("title:zápis", "/minutes.odt"),
        ("6300", "/table.xlsx"),
    ] {
        assert_eq!(urls(&seine, words), [web.url(path)], "{words}");
    }
    let chinese = urls(&seine, "\"流经几座古老的城镇\"");
    assert_eq!(chinese.len(), 4, "{chinese:?}");
}

#[test]
fn a_broken_document_is_found_by_its_name_and_costs_nothing_else() {
    let web = LiveWeb::new();
    let pages: Vec<String> = (0..20).map(|number| format!("/page{number}")).collect();
    let mut links: Vec<&str> = vec!["/Broken-Annual-Report.pdf", "/locked.pdf", "/tool.zip", "/logo.png"];
    links.extend(pages.iter().map(String::as_str));
    links.push("/whole.pdf");
    web.put("/", "start", &links);
    for (number, page) in pages.iter().enumerate() {
        web.put(page, &format!("plain page with the number {number}"), &[]);
    }
    web.put_file("/Broken-Annual-Report.pdf", PDF, b"%PDF-1.7 and then nothing that makes sense");
    web.put_file("/locked.pdf", PDF, file!("encrypted.pdf"));
    web.put_file("/tool.zip", "application/zip", b"PK\x05\x06 no archive");
    web.put_file("/logo.png", "image/png", b"\x89PNG\r\n");
    web.put_file("/whole.pdf", "", file!("drawn.pdf"));
    let seine = Seine::new();
    let run = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((run.code, run.count("pages"), run.count("failed")), (0, 25, 0), "all but the picture: {run:?}");
    assert_eq!(run.count("indexed"), 25, "{run:?}");
    assert_eq!(urls(&seine, "title:annual"), [web.url("/Broken-Annual-Report.pdf")]);
    assert_eq!(urls(&seine, "title:locked"), [web.url("/locked.pdf")]);
    assert_eq!(urls(&seine, "title:tool"), [web.url("/tool.zip")]);
    assert_eq!(urls(&seine, "žluťoučký"), [web.url("/whole.pdf")]);
    assert_eq!(urls(&seine, "\"plain page with the number\"").len(), 20);
    assert_reasons_are_told(&web, &seine);
}

/// Why a file was kept and not converted, by the commands that a person would ask.
fn assert_reasons_are_told(web: &LiveWeb, seine: &Seine) {
    let told = |words: &[&str]| {
        let output = seine.run(words);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("commands print UTF-8")
    };
    for (path, reason) in
        [("/Broken-Annual-Report.pdf", "broken"), ("/locked.pdf", "password"), ("/tool.zip", "application/zip")]
    {
        let text = told(&["explain", &web.url(path)]);
        let line = text.lines().find(|line| line.contains("kept, but its text could not be read: "));
        assert!(line.is_some_and(|line| line.contains(reason)), "{path}: {text}");
        let json: serde_json::Value = serde_json::from_str(&told(&["explain", &web.url(path), "--json"])).unwrap();
        assert!(json["crawls"][0]["not_converted"].as_str().is_some_and(|told| told.contains(reason)), "{json}");
    }
    let whole = told(&["explain", &web.url("/whole.pdf")]);
    assert!(!whole.contains("could not be read"), "{whole}");
    let exported = told(&["export", "descriptions"]);
    let reasons = exported.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    assert_eq!(reasons.filter(|page| page["not_converted"].is_string()).count(), 3, "{exported}");
}

#[test]
fn documents_that_need_too_much_memory_are_given_up_and_others_are_not() {
    let web = LiveWeb::new();
    web.put("/", "start", &["/bomb.pdf", "/whole.pdf", "/page"]);
    web.put("/page", "a page beside them", &[]);
    web.put_file("/bomb.pdf", PDF, &bomb());
    web.put_file("/whole.pdf", PDF, file!("drawn.pdf"));
    let seine = Seine::new();
    let mut command = seine.crawl_command(&web.url("/"), &["--delay", "0"]);
    command.env("SEINE_CONVERT_MEMORY_BYTES", (256u64 << 20).to_string());
    let output = command.output().expect("seine can be started");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(urls(&seine, "title:bomb"), [web.url("/bomb.pdf")]);
    assert_eq!(urls(&seine, "žluťoučký"), [web.url("/whole.pdf")]);
    assert_eq!(urls(&seine, "\"a page beside them\""), [web.url("/page")]);
}

/// A page whose content unpacks to half a gigabyte: packed twice.
fn bomb() -> Vec<u8> {
    use std::io::Write;
    let zeros = vec![b' '; 1 << 20];
    let mut once = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..512 {
        once.write_all(&zeros).expect("memory takes all");
    }
    let once = once.finish().expect("memory takes all");
    let mut twice = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    twice.write_all(&once).expect("memory takes all");
    let twice = twice.finish().expect("memory takes all");
    let mut pdf = b"%PDF-1.7\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n\
        2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj\n\
        3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>> endobj\n"
        .to_vec();
    pdf.extend(format!("4 0 obj <</Filter[/FlateDecode/FlateDecode]/Length {}>> stream\n", twice.len()).bytes());
    pdf.extend(twice);
    pdf.extend(b"\nendstream endobj\ntrailer <</Root 1 0 R>>\n%%EOF\n");
    pdf
}
