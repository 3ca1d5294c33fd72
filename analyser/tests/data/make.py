"""Makes the documents of this folder anew: python make.py, with the packages of README.md installed."""

import datetime
import os
import subprocess
import tempfile

import docx
import openpyxl
from docx.oxml.ns import qn
from docx.oxml import OxmlElement
from odf import dc, meta, table, text
from odf.opendocument import OpenDocumentText
from openpyxl.styles import Font
from pypdf import PdfReader, PdfWriter
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen import canvas

HERE = os.path.dirname(os.path.abspath(__file__))
ENGLISH = "The river rises in the hills and flows through several old towns before it reaches the sea."
CZECH = "Příliš žluťoučký kůň úpěl ďábelské ódy nad řekou Vltavou."
CHINESE = "这条河发源于山区，流经几座古老的城镇，最后汇入大海。"
LINK = "http://example.org/linked?from={}"


def path(name):
    return os.path.join(HERE, name)


def printed_pdf():
    html = f"""<!doctype html><html lang=cs><head><meta charset=utf-8><title>Zpráva o řekách</title>
    <style>body {{ font: 12pt 'DejaVu Sans', 'Noto Sans CJK SC' }}</style></head><body>
    <h1>Zpráva o řekách</h1><p>{CZECH} {ENGLISH} {ENGLISH}</p><h2>中文部分</h2><p lang=zh>{CHINESE}{CHINESE}</p>
    <ul><li>First item</li><li>Second item</li></ul>
    <p>See <a href="{LINK.format('chromium')}">the linked page</a> for more.</p></body></html>"""
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.html")
        with open(page, "w", encoding="utf-8") as file:
            file.write(html)
        subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer",
             f"--user-data-dir={folder}/profile", f"--print-to-pdf={path('printed.pdf')}", page],
            check=True, capture_output=True, timeout=120)


def drawn_pdf():
    pdfmetrics.registerFont(TTFont("DejaVu", "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"))
    # Not embedded: readers know what its numbers mean.
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    pdf = canvas.Canvas(path("drawn.pdf"), pagesize=A4, invariant=True)
    pdf.setTitle("Drawn report: řeka 河")
    pdf.setAuthor("Jana Nováková")
    pdf.setSubject("Rivers of the world")
    pdf.setKeywords("river, řeka, 河")
    pdf.setFont("Helvetica-Bold", 22)
    pdf.drawString(72, 770, "Rivers")
    pdf.setFont("Helvetica", 11)
    words, line, height = ENGLISH.split(), "", 730
    for word in words:
        if len(line) + len(word) > 50:
            pdf.drawString(72, height, line)
            line, height = "", height - 13
        line += word + " "
    pdf.drawString(72, height, line)
    pdf.setFont("DejaVu", 11)
    pdf.drawString(72, 660, CZECH)
    pdf.setFont("STSong-Light", 11)
    pdf.drawString(72, 620, CHINESE)
    pdf.setFont("Helvetica", 11)
    pdf.drawString(72, 580, "Read the next page")
    pdf.linkURL(LINK.format("reportlab"), (72, 576, 170, 592))
    pdf.showPage()
    pdf.setFont("Helvetica", 11)
    pdf.drawString(72, 770, "The second page has words too.")
    pdf.showPage()
    pdf.save()


def encrypted_pdf():
    writer = PdfWriter(clone_from=PdfReader(path("drawn.pdf")))
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(path("encrypted.pdf"))


def add_link(paragraph, url, words):
    relation = paragraph.part.relate_to(url, docx.opc.constants.RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
    link = OxmlElement("w:hyperlink")
    link.set(qn("r:id"), relation)
    run = OxmlElement("w:r")
    content = OxmlElement("w:t")
    content.text = words
    run.append(content)
    link.append(run)
    paragraph._p.append(link)


def word():
    document = docx.Document()
    properties = document.core_properties
    properties.title, properties.author, properties.keywords = "Dopis o řekách", "Jana Nováková", "river, řeka"
    properties.created = properties.modified = datetime.datetime(2024, 5, 6)
    document.add_heading("Dopis", 0)
    document.add_heading("O řekách", 1)
    document.add_paragraph(CZECH + " " + ENGLISH)
    document.add_paragraph(CHINESE)
    document.add_paragraph("First item", style="List Bullet")
    add_link(document.add_paragraph("See "), LINK.format("docx"), "the linked page")
    rows = document.add_table(rows=2, cols=2)
    for row, cells in enumerate([("River", "Length"), ("Vltava", "430 km")]):
        for column, words in enumerate(cells):
            rows.cell(row, column).text = words
    document.save(path("letter.docx"))


def workbook():
    book = openpyxl.Workbook()
    book.properties.title, book.properties.creator = "Tabulka řek", "Jana Nováková"
    book.properties.created = book.properties.modified = datetime.datetime(2024, 5, 6)
    sheet = book.active
    sheet.title = "Řeky"
    for row in [("River", "Length", "Measured"), ("Vltava", 430.5, datetime.date(2024, 5, 6)), ("长江", 6300, None)]:
        sheet.append(row)
    sheet["A5"] = "the linked page"
    sheet["A5"].hyperlink = LINK.format("xlsx")
    sheet["A5"].font = Font(underline="single")
    book.create_sheet("Second")["B2"] = CZECH
    book.save(path("table.xlsx"))


def open_document():
    document = OpenDocumentText()
    document.meta.addElement(dc.Title(text="Zápis o řekách"))
    document.meta.addElement(meta.InitialCreator(text="Jana Nováková"))
    document.meta.addElement(meta.CreationDate(text="2024-05-06T00:00:00"))
    document.text.addElement(text.H(outlinelevel=1, text="Zápis"))
    document.text.addElement(text.P(text=CZECH + " " + ENGLISH))
    document.text.addElement(text.P(text=CHINESE))
    paragraph = text.P(text="See ")
    paragraph.addElement(text.A(href=LINK.format("odt"), text="the linked page"))
    document.text.addElement(paragraph)
    rows = table.Table(name="Table1")
    for cells in [("River", "Length"), ("Vltava", "430 km")]:
        row = table.TableRow()
        for words in cells:
            cell = table.TableCell()
            cell.addElement(text.P(text=words))
            row.addElement(cell)
        rows.addElement(row)
    document.text.addElement(rows)
    document.save(path("minutes.odt"))


printed_pdf()
drawn_pdf()
encrypted_pdf()
word()
workbook()
open_document()
