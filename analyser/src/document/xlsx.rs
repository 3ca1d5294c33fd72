//! Excel workbooks (XLSX): sheets by name, their rows with tabs between cells, links and properties.

use std::io::Cursor;

use calamine::{DataRef, Reader as _, Xlsx as Workbook};
use seine_proto::analyser::v1::ConvertedDocument;

use super::archive::{OfficeArchive, is_archive_with};
use super::writer::{DocumentWriter, Form};
use super::{DocumentFormat, Unreadable};
use crate::dates::parse_date;
use crate::extract::metadata::{MAX_DESCRIPTION_BYTES, MAX_TITLE_BYTES};
use crate::extract::text::one_line;

const WORKBOOK: &str = "xl/workbook.xml";

pub(super) struct Xlsx;

impl DocumentFormat for Xlsx {
    fn name(&self) -> &'static str {
        "xlsx"
    }

    fn content_types(&self) -> &'static [&'static str] {
        &[
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.template",
            "application/vnd.ms-excel.sheet.macroenabled.12",
        ]
    }

    fn suffixes(&self) -> &'static [&'static str] {
        &["xlsx", "xlsm", "xltx"]
    }

    fn is_recognised(&self, body: &[u8]) -> bool {
        is_archive_with(body, WORKBOOK.as_bytes())
    }

    fn convert(&self, body: &[u8]) -> Result<ConvertedDocument, Unreadable> {
        // The crate unpacks as much as there is.
        OfficeArchive::open(body)?.check_all()?;
        let mut workbook: Workbook<_> =
            Workbook::new(Cursor::new(body)).map_err(|error| format!("is no workbook ({error})"))?;
        let mut writer = DocumentWriter::default();
        let mut problem = None;
        for name in workbook.sheet_names() {
            writer.line(&one_line(name.as_bytes(), MAX_TITLE_BYTES), Form::Heading(2));
            if let Err(error) = write_sheet(&mut workbook, &name, &mut writer) {
                problem.get_or_insert(error);
            }
            for link in workbook.hyperlinks_by_sheet_name(&name).unwrap_or_default() {
                if let Some(target) = link.target {
                    writer.link(&target, &link.displayed_text.or(link.tooltip).unwrap_or_default());
                }
            }
        }
        let document = writer.finish(properties(&mut workbook));
        match problem {
            Some(problem) if document.text.is_empty() => Err(format!("has no sheet that can be read ({problem})")),
            _ => Ok(document),
        }
    }
}

type Bytes<'b> = Cursor<&'b [u8]>;

/// Cells one by one: a sheet as a whole may claim to be larger than any memory.
fn write_sheet(
    workbook: &mut Workbook<Bytes<'_>>,
    name: &str,
    writer: &mut DocumentWriter,
) -> Result<(), calamine::XlsxError> {
    let mut cells = workbook.worksheet_cells_reader(name)?;
    let mut open_row = None;
    let ended = loop {
        let cell = match cells.next_cell() {
            Ok(Some(cell)) => cell,
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        };
        let (row, _) = cell.get_position();
        if open_row.replace(row).is_some_and(|open| open != row) {
            writer.end_row();
        }
        if writer.is_full() {
            break Ok(());
        }
        let text = shown(cell.get_value());
        if !text.trim().is_empty() {
            writer.push(text.as_bytes());
            writer.end_cell();
        }
    };
    writer.end_row();
    ended
}

fn shown(value: &DataRef<'_>) -> String {
    match value {
        DataRef::Int(number) => number.to_string(),
        DataRef::Float(number) => number.to_string(),
        DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text.clone(),
        DataRef::SharedString(text) => (*text).to_owned(),
        DataRef::Bool(value) => value.to_string(),
        DataRef::DateTime(moment) if moment.is_datetime() => {
            let (year, month, day, hour, minute, second, _) = moment.to_ymd_hms_milli();
            match (hour, minute, second) {
                (0, 0, 0) => format!("{year:04}-{month:02}-{day:02}"),
                _ => format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"),
            }
        }
        DataRef::DateTime(duration) => duration.as_f64().to_string(),
        DataRef::Error(_) | DataRef::Empty => String::new(),
    }
}

fn properties(workbook: &mut Workbook<Bytes<'_>>) -> ConvertedDocument {
    let Ok(stated) = workbook.workbook_properties() else { return ConvertedDocument::default() };
    let text = |value: Option<String>, limit| one_line(value.unwrap_or_default().as_bytes(), limit);
    let date = |value: Option<String>| value.and_then(|value| parse_date(&value)).unwrap_or_default();
    ConvertedDocument {
        title: text(stated.title, MAX_TITLE_BYTES),
        description: text(stated.description.or(stated.subject), MAX_DESCRIPTION_BYTES),
        keywords: text(stated.keywords, MAX_DESCRIPTION_BYTES),
        author: text(stated.creator, MAX_TITLE_BYTES),
        published_at_ms: date(stated.created),
        modified_at_ms: date(stated.modified),
        ..ConvertedDocument::default()
    }
}
