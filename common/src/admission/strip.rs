//! Removing parameters that do not change a page, such as sessions and advertisers' marks, from query and path.
//!
//! Invariant: what comes out is canonical, and stripping it again changes nothing.

use super::pattern::{PatternSet, Subject};
use super::verdict::{RuleName, WrongPattern};
use crate::url::CanonicalUrl;

#[derive(Clone, Debug)]
pub(super) struct Stripper {
    in_query: PatternSet,
    in_path: PatternSet,
}

impl Stripper {
    pub fn compile(texts: &[String], wrong: &mut Vec<WrongPattern>) -> Self {
        let (path, query): (Vec<&str>, Vec<&str>) =
            texts.iter().map(|text| text.trim()).partition(|t| t.starts_with(';'));
        let path: Vec<&str> = path.into_iter().map(|text| &text[1..]).collect();
        Self {
            in_query: PatternSet::compile(RuleName::StripParameters, Subject::Parameter, &query, wrong),
            in_path: PatternSet::compile(RuleName::StripParameters, Subject::Parameter, &path, wrong),
        }
    }

    pub fn strip(&self, url: CanonicalUrl) -> CanonicalUrl {
        let query = url.as_url().query().and_then(|query| self.rest_of_query(query));
        let path = self.rest_of_path(url.as_url().path());
        if query.is_none() && path.is_none() {
            return url;
        }
        url.edited(|url| {
            if let Some(path) = &path {
                url.set_path(path);
            }
            if let Some(query) = &query {
                url.set_query(Some(query).filter(|query| !query.is_empty()).map(String::as_str));
            }
        })
    }

    /// `None` when nothing is to be removed.
    fn rest_of_query(&self, query: &str) -> Option<String> {
        let goes = |parameter: &&str| self.in_query.matches(name(parameter));
        query.split('&').any(|parameter| goes(&parameter)).then(|| {
            let rest: Vec<&str> = query.split('&').filter(|parameter| !goes(parameter)).collect();
            rest.join("&")
        })
    }

    fn rest_of_path(&self, path: &str) -> Option<String> {
        if self.in_path.is_empty() || !path.contains(';') {
            return None;
        }
        let segments: Vec<String> = path.split('/').map(|segment| self.rest_of_segment(segment)).collect();
        let rest = segments.join("/");
        (rest != path).then_some(rest)
    }

    fn rest_of_segment(&self, segment: &str) -> String {
        let mut parts = segment.split(';');
        let mut rest = parts.next().unwrap_or_default().to_owned();
        for parameter in parts.filter(|parameter| !self.in_path.matches(name(parameter))) {
            rest.push(';');
            rest.push_str(parameter);
        }
        // Bare dots would be taken for a step up the tree.
        if matches!(rest.as_str(), "." | "..") { segment.to_owned() } else { rest }
    }
}

fn name(parameter: &str) -> &str {
    parameter.split('=').next().unwrap_or_default()
}
