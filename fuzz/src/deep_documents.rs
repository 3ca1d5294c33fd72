//! Deep and long documents: PDF and office files in which one thing stands as often as one likes.
//!
//! Taken in by the property tests of the converters as well, as `deep.rs` is. Nothing in them is compressed.

/// A kind of document, and how to make one with so many of what it is named for.
pub struct DeepDocument {
    pub format: &'static str,
    pub name: &'static str,
    pub body: fn(usize) -> Vec<u8>,
}

const fn of(format: &'static str, name: &'static str, body: fn(usize) -> Vec<u8>) -> DeepDocument {
    DeepDocument { format, name, body }
}

pub const DOCUMENTS: &[DeepDocument] = &[
    of("pdf", "nested arrays", |count| pdf("", &format!("{}9 0 obj {}", letter(), "[".repeat(count)))),
    of("pdf", "nested arrays of the page", |count| pdf(&format!("/Annots {}", "[".repeat(count)), &letter())),
    of("pdf", "nested dictionaries", |count| pdf("", &format!("{}9 0 obj {}", letter(), "<</A".repeat(count)))),
    of("pdf", "nested dictionaries of the page", |count| pdf(&"/A<<".repeat(count), &letter())),
    of("pdf", "objects", |count| pdf("", &(letter() + &objects(count, |n| n.to_string())))),
    of("pdf", "object headers", |count| pdf("", &(letter() + &"9 0 obj ".repeat(count)))),
    of("pdf", "trailers", |count| pdf("", &(letter() + &"trailer<</Root 1 0 R/Prev 9>>".repeat(count)))),
    of("pdf", "references", |count| pdf("/Annots 10 0 R", &(letter() + &objects(count, |n| format!("{} 0 R", n + 1))))),
    of("pdf", "annotations", |count| pdf(&format!("/Annots[{}]", "8 0 R ".repeat(count)), &letter())),
    of("pdf", "page trees", |count| {
        let tree = |n| format!("<</Type/Pages/Count 1/Kids[{} 0 R]>>", n + 1);
        file("10 0 R", "", &(letter() + &objects(count, tree)))
    }),
    of("pdf", "pages", |count| file(&"3 0 R ".repeat(count), "", &letter())),
    of("pdf", "saved states", |count| pdf("", &content(&"q ".repeat(count)))),
    of("pdf", "strings", |count| pdf("", &content(&"(".repeat(count)))),
    of("pdf", "arrays of a content", |count| pdf("", &content(&"[".repeat(count)))),
    of("pdf", "dictionaries of a content", |count| pdf("", &content(&"/A<<".repeat(count)))),
    of("pdf", "operands", |count| pdf("", &content(&"1 ".repeat(count)))),
    of("pdf", "letters", |count| pdf("", &content(&format!("BT /F1 12 Tf {}", "(a) Tj ".repeat(count))))),
    of("pdf", "lines", |count| pdf("", &content(&format!("BT /F1 12 Tf 14 TL {}", "(a) ' ".repeat(count))))),
    of("pdf", "forms", |count| pdf("", &(content("/X10 Do") + &forms(count)))),
    of("docx", "entries", |count| {
        let mut files = vec![("word/document.xml".to_owned(), "<w:p><w:t>a</w:t></w:p>".to_owned())];
        files.extend((0..count).map(|number| (number.to_string(), String::new())));
        zip(&files)
    }),
    of("docx", "paragraphs", |count| docx(&"<w:p><w:t>a</w:t></w:p>".repeat(count), &[])),
    of("docx", "nested paragraphs", |count| docx(&"<w:p>".repeat(count), &[])),
    of("docx", "nested cells", |count| docx(&"<w:tc>".repeat(count), &[])),
    of("docx", "cells", |count| docx(&"<w:tc><w:t>a</w:t></w:tc>".repeat(count), &[])),
    of("docx", "links", |count| docx(&"<w:hyperlink r:id='r1'><w:t>a</w:t></w:hyperlink>".repeat(count), &[])),
    of("docx", "fields", |count| docx(&"<w:instrText>HYPERLINK \"a\"</w:instrText>".repeat(count), &[])),
    of("docx", "fallbacks", |count| docx(&"<mc:Fallback>".repeat(count), &[])),
    of("docx", "styles", |count| {
        docx("", &[("word/styles.xml", "<w:style w:styleId='a'><w:name w:val='heading 1'/>".repeat(count))])
    }),
    of("docx", "relations", |count| {
        let relation = |n| format!("<Relationship Id='r{n}' Type='/hyperlink' Target='/{n}'/>");
        docx("", &[("word/_rels/document.xml.rels", (0..count).map(relation).collect())])
    }),
    of("odt", "paragraphs", |count| odt(&"<text:p>a</text:p>".repeat(count))),
    of("odt", "nested paragraphs", |count| odt(&"<text:p>".repeat(count))),
    of("odt", "nested lists", |count| odt(&"<text:list-item><text:p>a</text:p>".repeat(count))),
    of("odt", "nested cells", |count| odt(&"<table:table-cell>".repeat(count))),
    of("odt", "annotations", |count| odt(&"<office:annotation>".repeat(count))),
    of("xlsx", "shared strings", |count| xlsx(&"<si><t>a</t></si>".repeat(count), "")),
    of("xlsx", "nested strings", |count| xlsx(&"<si><r>".repeat(count), "")),
    of("xlsx", "rows", |count| xlsx("", &"<row><c t='str'><v>a</v></c></row>".repeat(count))),
    of("xlsx", "nested rows", |count| xlsx("", &"<row>".repeat(count))),
    of("xlsx", "nested cells", |count| xlsx("", &format!("<row>{}", "<c><v>".repeat(count)))),
];

/// The content of the page.
fn content(text: &str) -> String {
    format!("4 0 obj <</Length {}>> stream\n{text}\nendstream endobj\n", text.len())
}

fn letter() -> String {
    content("BT /F1 12 Tf (a) Tj ET")
}

fn objects(count: usize, object: impl Fn(usize) -> String) -> String {
    (10..10 + count).map(|number| format!("{number} 0 obj {} endobj\n", object(number))).collect()
}

/// Each shows the next.
fn forms(count: usize) -> String {
    let form = |n: usize| {
        let show = format!("/X{} Do", n + 1);
        let resources = format!("/Resources<</XObject<</X{} {} 0 R>>>>", n + 1, n + 1);
        format!("{n} 0 obj <</Subtype/Form{resources}/Length {}>> stream\n{show}\nendstream endobj\n", show.len())
    };
    (10..10 + count).map(form).collect()
}

fn pdf(of_page: &str, objects: &str) -> Vec<u8> {
    file("3 0 R", of_page, objects)
}

fn file(kids: &str, of_page: &str, objects: &str) -> Vec<u8> {
    format!(
        "%PDF-1.7\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n2 0 obj <</Type/Pages/Count 1/Kids[{kids}]>> endobj\n\
         5 0 obj <</Font<</F1 6 0 R>>/XObject<</X10 10 0 R>>>> endobj\n\
         6 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj\n\
         8 0 obj <</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/URI/URI(http://a/)>>>> endobj\n\
         {objects}\n3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources 5 0 R{of_page}>> endobj\n\
         trailer <</Root 1 0 R>>\n%%EOF\n"
    )
    .into_bytes()
}

fn docx(body: &str, more: &[(&str, String)]) -> Vec<u8> {
    let mut files = vec![("word/document.xml".to_owned(), format!("<w:document><w:body>{body}"))];
    files.extend(more.iter().map(|(name, content)| ((*name).to_owned(), content.clone())));
    zip(&files)
}

fn odt(body: &str) -> Vec<u8> {
    zip(&[("content.xml".to_owned(), format!("<office:body>{body}"))])
}

fn xlsx(shared: &str, sheet: &str) -> Vec<u8> {
    const RELATION: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let relation = |id: u8, kind: &str, target: &str| {
        format!("<Relationship Id='r{id}' Type='{RELATION}/{kind}' Target='{target}'/>")
    };
    let relations =
        relation(1, "worksheet", "worksheets/sheet1.xml") + &relation(2, "sharedStrings", "sharedStrings.xml");
    let sheets = "<sheets><sheet name='a' sheetId='1' r:id='r1'/></sheets>";
    let files = [
        ("xl/workbook.xml", format!("<workbook xmlns:r='{RELATION}'>{sheets}</workbook>")),
        ("xl/_rels/workbook.xml.rels", format!("<Relationships>{relations}</Relationships>")),
        ("xl/sharedStrings.xml", format!("<sst>{shared}</sst>")),
        ("xl/worksheets/sheet1.xml", format!("<worksheet><sheetData>{sheet}</sheetData></worksheet>")),
    ];
    zip(&files.map(|(name, content)| (name.to_owned(), content)))
}

/// An archive of stored files.
fn zip(files: &[(String, String)]) -> Vec<u8> {
    let mut body = Vec::new();
    let mut directory = Vec::new();
    for (name, content) in files {
        let offset = body.len() as u32;
        let mut common = vec![20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
        common.extend(crc32(content.as_bytes()).to_le_bytes());
        common.extend((content.len() as u32).to_le_bytes().repeat(2));
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        body.extend(b"PK\x03\x04");
        body.extend(&common);
        body.extend(name.as_bytes());
        body.extend(content.as_bytes());
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (start, length) = (body.len() as u64, directory.len() as u64);
    let count = files.len() as u64;
    body.append(&mut directory);
    // In the form for many files, followed by the old one, whose fields say to look there.
    let end = body.len() as u64;
    body.extend(b"PK\x06\x06");
    body.extend(44u64.to_le_bytes());
    body.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for number in [count, count, length, start] {
        body.extend(number.to_le_bytes());
    }
    body.extend(b"PK\x06\x07\0\0\0\0");
    body.extend(end.to_le_bytes());
    body.extend(1u32.to_le_bytes());
    body.extend(b"PK\x05\x06\0\0\0\0");
    body.extend([0xff; 12]);
    body.extend([0, 0]);
    body
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}
