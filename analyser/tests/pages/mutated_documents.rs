//! Ten thousand broken documents of each format: none makes its converter panic or hang, and what comes out is bounded.
//!
//! Converted in this process, where a panic fails the test. In Seine a worker process would take it.

use std::io::{Cursor, Read, Write};

use prost::Message;
use seine_analyser::convert::convert_here;
use seine_common::limits::MAX_TEXT_BYTES;

use crate::random::Random;

const DOCUMENTS: usize = 10_000;

/// Bits flipped, ends cut off, pieces doubled, moved and overwritten, numbers made huge.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(10) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        let end = (at + random.below(100)).min(bytes.len());
        match random.below(8) {
            0..=2 => bytes[at] ^= 1 << random.below(8),
            3 if random.below(4) == 0 => bytes.truncate(at),
            4 => {
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            5 => {
                bytes.drain(at..end);
            }
            6 => {
                if let Some(digit) = bytes[at..].iter().position(u8::is_ascii_digit) {
                    bytes.splice(at + digit..at + digit, *b"99999999");
                }
            }
            _ => bytes[at] = [0, 0xff, b'<', b'>', b'/', b'(', b'[', b'&'][random.below(8)],
        }
    }
}

/// The files of an archive, to be changed before they are packed again: changed archives alone mostly do not unpack.
fn unpacked(body: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut zip = zip::ZipArchive::new(Cursor::new(body)).unwrap();
    let read = |zip: &mut zip::ZipArchive<_>, index| {
        let mut file = zip.by_index(index).unwrap();
        let mut content = Vec::new();
        file.read_to_end(&mut content).unwrap();
        (file.name().unwrap().into_owned(), content)
    };
    (0..zip.len()).map(|index| read(&mut zip, index)).collect()
}

fn packed(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, content) in files {
        zip.start_file(name.as_str(), stored).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// How many gave something.
fn convert_mutated(format: &str, mut document: impl FnMut(&mut Random) -> Vec<u8>) -> usize {
    let mut random = Random(0x5e1e_5e1e_5e1e_5e1e);
    let mut converted = 0;
    for _ in 0..DOCUMENTS {
        let body = document(&mut random);
        let Ok(document) = convert_here(format, &body) else { continue };
        converted += 1;
        assert!(document.text.len() <= MAX_TEXT_BYTES);
        let covered: u64 = document.blocks.iter().map(|block| u64::from(block.bytes)).sum();
        assert_eq!(covered, document.text.len() as u64);
        assert!(document.encoded_len() < 16 << 20, "a description fits in a message");
    }
    println!("{format}: {converted} of {DOCUMENTS} gave something");
    converted
}

fn mutated_archives(format: &str, body: &[u8]) -> usize {
    let files = unpacked(body);
    convert_mutated(format, |random| {
        if random.below(4) == 0 {
            let mut body = body.to_vec();
            mutate(&mut body, random);
            return body;
        }
        let mut files = files.clone();
        for _ in 0..1 + random.below(3) {
            let place = random.below(files.len());
            mutate(&mut files[place].1, random);
        }
        packed(&files)
    })
}

/// Nothing in it is packed, so that changes reach what reads it.
const OPEN_PDF: &str = "%PDF-1.7
1 0 obj <</Type/Catalog/Pages 2 0 R/Lang(en)>> endobj
2 0 obj <</Type/Pages/Kids[3 0 R 3 0 R]/Count 2>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources 5 0 R/Annots[8 0 R]>> endobj
4 0 obj <</Length 210>> stream
q 1 0 0 1 10 20 cm BT /F1 24 Tf 72 700 Td (Heading) Tj 0 -40 TD /F1 11 Tf 14 TL (A line of words) Tj T*
[(and) -300 (more) 20 (of it)] TJ 2 Tc 3 Tw 90 Tz 4 Ts (spaced) ' 1 0 0 1 72 500 Tm <48656c6c6f> Tj ET Q /X1 Do
BT /F2 12 Tf 72 400 Td <00480065> Tj ET
endstream endobj
5 0 obj <</Font<</F1 6 0 R/F2 9 0 R>>/XObject<</X1 7 0 R>>>> endobj
6 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding<</Differences[65/Aacute 66/Ccaron]>>>> endobj
7 0 obj <</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Matrix[1 0 0 1 5 5]/Resources 5 0 R/Length 46>> stream
BT /F1 9 Tf 5 300 Td (In a form) Tj ET /X1 Do
endstream endobj
8 0 obj <</Type/Annot/Subtype/Link/Rect[72 690 200 730]/A<</S/URI/URI(http://example.org/)>>>> endobj
9 0 obj <</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/ToUnicode 10 0 R/DescendantFonts[11 0 R]>> endobj
10 0 obj <</Length 150>> stream
/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <0000> <ffff> endcodespacerange
1 beginbfrange <0000> <00ff> <0000> endbfrange endcmap end
endstream endobj
11 0 obj <</Type/Font/Subtype/CIDFontType2/BaseFont/X/CIDSystemInfo<</Registry(Adobe)/Ordering(GB1)/Supplement 2>>/DW 500/W[72[600 500]]>> endobj
12 0 obj <</Title(Open)/Author(\\376\\377\\001\\014)/CreationDate(D:20240506070809+02'00')>> endobj
trailer <</Root 1 0 R/Info 12 0 R/Size 13>>
%%EOF
";

#[test]
fn mutated_pdfs_give_bounded_documents() {
    let whole = convert_here("pdf", OPEN_PDF.as_bytes()).unwrap();
    assert!(whole.text.starts_with("Heading\nÁ line of words and more"), "{}", whole.text);
    assert!(whole.text.contains("In a form") && whole.text.contains("He"), "{}", whole.text);
    let drawn = include_bytes!("../data/drawn.pdf");
    let converted = convert_mutated("pdf", |random| {
        let mut body = if random.below(50) == 0 { drawn.to_vec() } else { OPEN_PDF.as_bytes().to_vec() };
        mutate(&mut body, random);
        body
    });
    assert!(converted > DOCUMENTS / 2);
}

#[test]
fn mutated_word_documents_give_bounded_documents() {
    assert!(mutated_archives("docx", include_bytes!("../data/letter.docx")) > DOCUMENTS / 2);
}

#[test]
fn mutated_workbooks_give_bounded_documents() {
    assert!(mutated_archives("xlsx", include_bytes!("../data/table.xlsx")) > DOCUMENTS / 4);
}

#[test]
fn mutated_open_documents_give_bounded_documents() {
    assert!(mutated_archives("odt", include_bytes!("../data/minutes.odt")) > DOCUMENTS / 2);
}
