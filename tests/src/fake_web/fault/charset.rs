//! Pages in other character sets, each with its charset in the header, in a meta tag, or nowhere.
//!
//! The texts are long enough to be recognised by their letters alone. UTF-16 has no meta tag: without a header it is
//! told by its byte order mark.

use encoding_rs::Encoding;

use crate::fake_web::response::write_whole;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    Gb18030,
    Big5,
    ShiftJis,
    Windows1250,
    Utf16Le,
    Utf16Be,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declared {
    Header,
    Meta,
    /// Nowhere.
    Bare,
}

impl Declared {
    pub fn name(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Meta => "meta",
            Self::Bare => "bare",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Header, Self::Meta, Self::Bare].into_iter().find(|declared| declared.name() == name)
    }
}

impl Charset {
    pub const ALL: [Self; 6] =
        [Self::Gb18030, Self::Big5, Self::ShiftJis, Self::Windows1250, Self::Utf16Le, Self::Utf16Be];

    pub fn name(self) -> &'static str {
        match self {
            Self::Gb18030 => "gb18030",
            Self::Big5 => "big5",
            Self::ShiftJis => "shift_jis",
            Self::Windows1250 => "windows-1250",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|charset| charset.name() == name)
    }

    /// In which ways its pages declare it.
    pub fn ways(self) -> &'static [Declared] {
        match self {
            Self::Utf16Le | Self::Utf16Be => &[Declared::Header, Declared::Bare],
            _ => &[Declared::Header, Declared::Meta, Declared::Bare],
        }
    }

    /// The title of its pages.
    pub fn title(self) -> &'static str {
        match self {
            Self::Gb18030 => "湖边的早晨",
            Self::Big5 => "港口的黃昏",
            Self::ShiftJis => "山の図書館",
            Self::Windows1250 => "Žluťoučký kůň",
            Self::Utf16Le | Self::Utf16Be => "Zwölf Brücken über die Łaba",
        }
    }

    /// The text of its pages.
    pub fn text(self) -> &'static str {
        match self {
            Self::Gb18030 => {
                "清晨的湖面非常安静，渔民们已经开始整理渔网。远处的山被雾气包围，只能看到模糊的轮廓。\
                 孩子们沿着小路走向学校，一边走一边讨论昨天学过的课文。太阳升起来以后，市场里的人越来越多。"
            }
            Self::Big5 => {
                "黃昏的時候，港口的燈一盞一盞亮起來。漁船慢慢地回到碼頭，水手們把繩子繫好，然後到岸邊的小店吃晚飯。\
                 老人坐在長椅上看著海，說起從前的故事，孩子們聽得十分入神。"
            }
            Self::ShiftJis => {
                "山の上に小さな図書館があります。朝になると、近くの村から子どもたちが本を読みに来ます。\
                 窓からは川と田んぼが見えて、とても静かです。冬には雪が積もりますが、ストーブのそばは暖かいです。"
            }
            Self::Windows1250 => {
                "Příliš žluťoučký kůň úpěl ďábelské ódy. Na jaře řeka stoupá až ke starému mlýnu, v létě z ní vystupují \
                 ploché kameny a děti po nich přecházejí na druhý břeh. Nejkrásnější je však říjen, když listí zežloutne."
            }
            Self::Utf16Le | Self::Utf16Be => {
                "Die Brücken der Stadt sind älter als ihre Häuser. Most Księżycowy przetrwał powódź, 桥上的灯笼照亮了河水, \
                 and in spring the ferrymen paint their boats again."
            }
        }
    }

    /// Appends the whole response; a way that the charset does not have counts as none.
    pub fn write(self, declared: Declared, word: &str, out: &mut Vec<u8>, head_only: bool) {
        let content_type = match declared {
            Declared::Header => format!("text/html; charset={}", self.name()),
            Declared::Meta | Declared::Bare => "text/html".to_owned(),
        };
        let meta = match declared {
            Declared::Meta => {
                format!("<meta http-equiv=\"Content-Type\" content=\"text/html; charset={}\">", self.name())
            }
            Declared::Header | Declared::Bare => String::new(),
        };
        let (title, text) = (self.title(), self.text());
        let page = format!(
            "<!DOCTYPE html>\n<html><head>{meta}<title>{title}</title></head>\n<body><h1>{title}</h1>\n<p>{text}</p>\n<p>{word}</p></body></html>\n"
        );
        write_whole(out, 200, &content_type, &[], &self.encode(&page, declared != Declared::Header), head_only);
    }

    fn encode(self, page: &str, byte_order_mark: bool) -> Vec<u8> {
        let mark = byte_order_mark.then_some(0xfeff);
        let units = || mark.into_iter().chain(page.encode_utf16());
        let encoding: &'static Encoding = match self {
            Self::Utf16Le => return units().flat_map(u16::to_le_bytes).collect(),
            Self::Utf16Be => return units().flat_map(u16::to_be_bytes).collect(),
            Self::Gb18030 => encoding_rs::GB18030,
            Self::Big5 => encoding_rs::BIG5,
            Self::ShiftJis => encoding_rs::SHIFT_JIS,
            Self::Windows1250 => encoding_rs::WINDOWS_1250,
        };
        let (bytes, _, unmappable) = encoding.encode(page);
        assert!(!unmappable, "the page has letters that {} lacks", self.name());
        bytes.into_owned()
    }
}
