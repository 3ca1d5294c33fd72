//! What is read from real documents, and from broken ones.

use std::io::Write;

use seine_proto::common::v1::BlockForm;
use zip::write::SimpleFileOptions;

use super::*;

const CZECH: &str = "Příliš žluťoučký kůň úpěl ďábelské ódy nad řekou Vltavou.";
const ENGLISH: &str = "The river rises in the hills and flows through several old towns before it reaches the sea.";
const CHINESE: &str = "这条河发源于山区，流经几座古老的城镇，最后汇入大海。";

macro_rules! file {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/", $name)).as_slice()
    };
}

fn convert(format: &str, body: &[u8]) -> ConvertedDocument {
    let content_type = type_of_bytes(body).expect("it is recognised by its bytes");
    assert_eq!(of_content_type(content_type).unwrap().name(), format);
    of_name(format).unwrap().convert(body).unwrap()
}

fn refusal(format: &str, body: &[u8]) -> String {
    of_name(format).unwrap().convert(body).unwrap_err()
}

fn links(document: &ConvertedDocument) -> Vec<(&str, &str)> {
    document.links.iter().map(|link| (link.target.as_str(), link.text.as_str())).collect()
}

/// The text of each block with its form.
fn blocks(document: &ConvertedDocument) -> Vec<(BlockForm, String)> {
    let mut rest = document.text.as_str();
    let blocks: Vec<_> = document
        .blocks
        .iter()
        .map(|block| {
            let (text, behind) = rest.split_at(block.bytes as usize);
            rest = behind;
            (block.form(), text.trim_end().to_owned())
        })
        .collect();
    assert_eq!(rest, "", "the blocks cover the text");
    blocks
}

#[test]
fn a_printed_pdf_gives_title_text_headings_and_links() {
    let document = convert("pdf", file!("printed.pdf"));
    assert_eq!(document.title, "Zpráva o řekách");
    assert!(document.text.contains(&format!("{CZECH} {ENGLISH} {ENGLISH}")), "{}", document.text);
    assert!(document.text.contains(&format!("{CHINESE}{CHINESE}")), "{}", document.text);
    assert_eq!(links(&document), [("http://example.org/linked?from=chromium", "the linked page")]);
    let blocks = blocks(&document);
    assert!(blocks.contains(&(BlockForm::Heading, "Zpráva o řekách".to_owned())), "{blocks:?}");
    assert!(blocks.contains(&(BlockForm::Heading, "中文部分".to_owned())), "{blocks:?}");
    assert!(document.text.contains("\nSee the linked page for more."), "{}", document.text);
}

#[test]
fn a_drawn_pdf_gives_what_it_says_about_itself_and_fonts_that_are_not_in_it() {
    let document = convert("pdf", file!("drawn.pdf"));
    assert_eq!((document.title.as_str(), document.author.as_str()), ("Drawn report: řeka 河", "Jana Nováková"));
    assert_eq!((document.description.as_str(), document.keywords.as_str()), ("Rivers of the world", "river, řeka, 河"));
    assert!(document.published_at_ms > 0);
    let lines: Vec<&str> = document.text.lines().collect();
    assert_eq!(lines, ["Rivers", ENGLISH, CZECH, CHINESE, "Read the next page", "The second page has words too."]);
    assert_eq!(links(&document), [("http://example.org/linked?from=reportlab", "Read the next page")]);
}

#[test]
fn a_word_document_gives_headings_items_rows_and_links() {
    let document = convert("docx", file!("letter.docx"));
    assert_eq!((document.title.as_str(), document.author.as_str()), ("Dopis o řekách", "Jana Nováková"));
    assert_eq!((document.keywords.as_str(), document.published_at_ms), ("river, řeka", 1_714_953_600_000));
    let expected = [
        (BlockForm::Heading, "Dopis".to_owned()),
        (BlockForm::Heading, "O řekách".to_owned()),
        (BlockForm::Paragraph, format!("{CZECH} {ENGLISH}\n{CHINESE}")),
        (BlockForm::Paragraph, "First item\nSee the linked page".to_owned()),
        (BlockForm::TableRow, "River\tLength\nVltava\t430 km".to_owned()),
    ];
    let found = blocks(&document);
    assert_eq!(document.text.lines().count(), 8, "{}", document.text);
    for (form, text) in expected.iter().filter(|(form, _)| *form != BlockForm::Paragraph) {
        assert!(found.contains(&(*form, text.clone())), "{text}: {found:?}");
    }
    assert_eq!(links(&document), [("http://example.org/linked?from=docx", "the linked page")]);
}

#[test]
fn a_workbook_gives_its_sheets_with_tabs_between_cells_and_links() {
    let document = convert("xlsx", file!("table.xlsx"));
    assert_eq!((document.title.as_str(), document.author.as_str()), ("Tabulka řek", "Jana Nováková"));
    let expected = format!(
        "Řeky\nRiver\tLength\tMeasured\nVltava\t430.5\t2024-05-06\n长江\t6300\nthe linked page\nSecond\n{CZECH}"
    );
    assert_eq!(document.text, expected);
    let targets: Vec<_> = document.links.iter().map(|link| link.target.as_str()).collect();
    assert_eq!(targets, ["http://example.org/linked?from=xlsx"]);
}

#[test]
fn an_open_document_gives_headings_rows_and_links() {
    let document = convert("odt", file!("minutes.odt"));
    assert_eq!((document.title.as_str(), document.author.as_str()), ("Zápis o řekách", "Jana Nováková"));
    assert_eq!(document.published_at_ms, 1_714_953_600_000);
    let expected = [
        (BlockForm::Heading, "Zápis".to_owned()),
        (BlockForm::Paragraph, format!("{CZECH} {ENGLISH}\n{CHINESE}\nSee the linked page")),
        (BlockForm::TableRow, "River\tLength\nVltava\t430 km".to_owned()),
    ];
    assert_eq!(blocks(&document), expected);
    assert_eq!(links(&document), [("http://example.org/linked?from=odt", "the linked page")]);
}

fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in files {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn fields_hidden_texts_and_notes_of_word_documents_are_understood() {
    let document = br#"<?xml version="1.0"?><w:document xmlns:w="x"><w:body>
        <w:p><w:pPr><w:pStyle w:val="Nadpis1"/></w:pPr><w:r><w:t>Heading</w:t></w:r></w:p>
        <w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> HYPERLINK "/field" \o "tip" </w:instrText></w:r>
          <w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>field link</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>
          <w:r><w:delText>deleted</w:delText></w:r><w:r><w:t xml:space="preserve"> and &amp; more</w:t></w:r></w:p>
        <mc:AlternateContent><mc:Choice><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Choice>
          <mc:Fallback><w:p><w:r><w:t>box again</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent></w:body></w:document>"#;
    let styles = br#"<w:styles><w:style w:styleId="Nadpis1"><w:name w:val="heading 1"/></w:style></w:styles>"#;
    let notes = b"<w:footnotes><w:footnote><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnote></w:footnotes>";
    let body = zipped(&[("word/document.xml", document), ("word/styles.xml", styles), ("word/footnotes.xml", notes)]);
    let document = convert("docx", &body);
    assert_eq!(
        (document.title.as_str(), document.text.as_str()),
        ("Heading", "Heading\nfield link and & more\nbox\nA note.")
    );
    assert_eq!(links(&document), [("/field", "field link")]);
}

#[test]
fn archives_that_unpack_without_end_stop_at_the_limit() {
    let bomb = vec![b' '; 64 << 20];
    let body =
        zipped(&[("word/document.xml", &bomb), ("word/styles.xml", &bomb), ("word/footnotes.xml", &bomb), ("x", b"")]);
    assert!(body.len() < 1 << 20);
    let all = [("xl/workbook.xml", bomb.as_slice()), ("a", &bomb), ("b", &bomb), ("c", &bomb)];
    for refusal in
        [refusal("docx", &zipped(&[("word/document.xml", &vec![b'x'; 193 << 20])])), refusal("xlsx", &zipped(&all))]
    {
        assert!(refusal.contains("unpacks to more than"), "{refusal}");
    }
    // Three times the size that is allowed for one, within what is allowed for all.
    assert!(of_name("docx").unwrap().convert(&body).is_ok());
}

#[test]
fn what_cannot_be_read_is_refused_in_words() {
    assert!(refusal("pdf", file!("encrypted.pdf")).contains("password"));
    assert!(refusal("pdf", b"<html>no such file</html>").contains("does not begin"));
    assert!(refusal("pdf", b"%PDF-1.7 and nothing else").contains("broken"));
    assert!(refusal("docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 rest").contains("encrypted"));
    assert!(refusal("docx", &file!("letter.docx")[..20_000]).contains("ZIP"));
    assert!(refusal("docx", &zipped(&[("other.xml", b"<x/>")])).contains("word/document.xml"));
    assert!(refusal("odt", b"PK\x03\x04").contains("ZIP"));
    assert!(refusal("xlsx", &zipped(&[("xl/workbook.xml", b"<x")])).contains("workbook"));
}

#[test]
fn a_pdf_that_is_cut_off_gives_the_pages_that_are_left() {
    let whole = file!("drawn.pdf");
    // Without the table of contents at its end, which tells where everything is.
    let document = of_name("pdf").unwrap().convert(&whole[..whole.len() - 600]).unwrap();
    assert!(document.text.contains("The river rises"), "{}", document.text);
}
