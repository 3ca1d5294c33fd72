//! The pages in simplified Chinese.

use super::{Texts, grouped};
use crate::error::QueryError;
use crate::request::MAX_QUERY_CHARACTERS;

fn number(number: u64) -> String {
    grouped(number, ',')
}

pub static TEXTS: Texts = Texts {
    code: "zh",
    tag: "zh-Hans",
    name: "中文",

    search: "搜索",
    search_label: "搜索词",
    first_page: "Seine 首页",
    skip_to_content: "跳到正文",
    language_of_the_page: "界面语言",
    key_search: "搜索",
    key_results: "选择结果",
    key_open: "打开",
    suggestions: "搜索建议",

    pages_in_the_index: |count| format!("已收录 {} 个网页", number(count)),
    index_cannot_be_read: "暂时无法读取索引",
    nothing_indexed: "还没有收录任何网页",
    crawl_a_site: "先抓取一个网站，然后就可以在这里搜索：",
    found_while_crawling: "抓取过程中就能搜到已收录的网页。",

    results: |count| format!("{} 条结果", number(count)),
    on_page: |page| format!("第 {page} 页"),
    took: |milliseconds| match milliseconds {
        ..1.0 => "用时不到 1 毫秒".to_owned(),
        ..1_000.0 => format!("用时 {milliseconds:.0} 毫秒"),
        _ => format!("用时 {:.1} 秒", milliseconds / 1_000.0),
    },
    sort_by: "排序",
    by_relevance: "相关性",
    by_date: "日期",
    showing_results_for: "以下是此查询的结果：",
    search_only_for: "仅搜索：",
    did_you_mean: "您是不是要找：",

    filters: "筛选",
    site: "网站",
    language: "语言",
    content_type: "类型",
    year: "年份",
    show_more: "显示更多",
    active_filters: "当前筛选条件",
    remove_filter: |filter| format!("移除筛选条件 {filter}"),
    remove_all_filters: "清除全部筛选",
    since: |date| format!("{date} 起"),
    before: |date| format!("{date} 之前"),

    cached_copy: "网页快照",
    more_from: |host| format!("{host} 的更多结果"),
    date: |date| format!("{}年{}月{}日", date.year(), u8::from(date.month()), date.day()),
    language_name,
    web_page: "网页",
    plain_text: "纯文本",
    feed: "订阅源",

    pages_of_results: "结果分页",
    previous: "上一页",
    next: "下一页",
    page_number: |page| format!("第 {page} 页"),
    page_of: |page, pages| format!("第 {page} 页，共 {pages} 页"),
    left_out: |count| format!("同一网站还有 {} 条结果未显示。", number(count)),
    show_all: "显示全部结果",
    no_more_results: "没有更多结果了",
    all_on_earlier_pages: |count| format!("此搜索共有 {} 条结果，都在前面的页上。", number(count)),
    no_page_has_this_word: "没有网页包含这个词",
    no_page_has_these_words: "没有网页包含这些词",
    check_the_spelling: "请检查拼写，或换一个同义词试试。",
    use_fewer_words: "请减少搜索词，或使用更常见的词。",
    search_everywhere: "取消筛选，搜索全部网页",

    copy_of: "本页为网页快照，原网页：",
    copy_taken: "快照时间：",
    copy_notice: "原网页此后可能已更改。脚本、表单和图片已略去。",
    no_such_copy: "没有这个快照",
    copy_not_in_index: "该网页不在索引中，或已被移除。",
    copy_not_kept: "不显示该网页的快照：网页要求不存档，或没有保留快照。",
    copy_lost: "存档中已没有该快照。",
    copy_unreadable: "暂时无法读取快照",
    archive_is_silent: "存档暂时没有响应。请重试，或打开原网页。",
    filesaver_is_away: "保存此副本的存储节点目前没有运行。请稍后重试，或打开原网页。",

    no_such_page: "没有这个页面",
    address_may_be_mistyped: "网址可能输入有误。",
    cannot_be_searched: "无法执行此搜索",
    index_is_not_ready: "索引尚未就绪",
    too_many_searches: "搜索请求过多",
    try_again_in_a_moment: "请稍后再试。",
    took_too_long: "此搜索用时过长",
    ask_more_precisely: "请重试，或使用更少、更精确的词。",
    go_to_first_page: "返回首页",
    explain,
};

fn explain(error: &QueryError) -> String {
    match error.code() {
        "query_too_long" => format!("搜索词过长，最多 {MAX_QUERY_CHARACTERS} 个字符。"),
        "invalid_page" => "没有这一页结果，请从第一页开始。".to_owned(),
        "not_ready" => "暂时无法读取索引，请稍后再试；如果一直如此，请运行 seine index rebuild。".to_owned(),
        "busy" => "请稍后再试。".to_owned(),
        _ => format!("网址中有一个无效的参数（{error}）。"),
    }
}

fn language_name(code: &str) -> Option<&'static str> {
    Some(match code {
        "ar" => "阿拉伯语",
        "bg" => "保加利亚语",
        "cs" => "捷克语",
        "da" => "丹麦语",
        "de" => "德语",
        "el" => "希腊语",
        "en" => "英语",
        "es" => "西班牙语",
        "fi" => "芬兰语",
        "fr" => "法语",
        "he" => "希伯来语",
        "hi" => "印地语",
        "hr" => "克罗地亚语",
        "hu" => "匈牙利语",
        "it" => "意大利语",
        "ja" => "日语",
        "ko" => "韩语",
        "nl" => "荷兰语",
        "no" | "nb" => "挪威语",
        "pl" => "波兰语",
        "pt" => "葡萄牙语",
        "ro" => "罗马尼亚语",
        "ru" => "俄语",
        "sk" => "斯洛伐克语",
        "sl" => "斯洛文尼亚语",
        "sv" => "瑞典语",
        "tr" => "土耳其语",
        "uk" => "乌克兰语",
        "vi" => "越南语",
        "zh" => "中文",
        _ => return None,
    })
}
