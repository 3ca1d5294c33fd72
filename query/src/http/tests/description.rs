//! `/openapi.json` against the handlers. How answers fit its schemas in depth is checked from outside, by Schemathesis.

use serde_json::Value;

use super::{Server, rivers, serve};
use crate::http::{api_routes, other_routes};

/// Follows a `$ref` within the description.
fn resolved<'a>(description: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(reference) => {
            description.pointer(reference.strip_prefix('#').unwrap()).expect("references lead somewhere")
        }
        None => value,
    }
}

fn parameters<'a>(description: &'a Value, path: &str) -> Vec<&'a Value> {
    let parameters = description["paths"][path]["get"]["parameters"].as_array();
    parameters.into_iter().flatten().map(|parameter| resolved(description, parameter)).collect()
}

fn asking(path: &str) -> String {
    let asks = path.starts_with("/api/") || path == "/search";
    if asks { format!("{path}?q=river") } else { path.to_owned() }
}

#[tokio::test]
async fn every_route_is_described_and_every_description_has_a_route() {
    let server = serve(rivers()).await;
    let description = server.get("/openapi.json").await.json();
    assert_eq!(description["openapi"], "3.1.0");
    let mut routes: Vec<&str> = api_routes().iter().chain(&other_routes()).map(|(path, _)| *path).collect();
    routes.sort_unstable();
    let described: Vec<&String> = description["paths"].as_object().unwrap().keys().collect();
    assert_eq!(described, routes);
    for path in routes {
        let operation = &description["paths"][path]["get"];
        let answer = server.get(&asking(path)).await;
        if path.contains('{') {
            // A copy needs an archive; the end-to-end tests have one.
            assert_eq!(answer.status, 404, "{path}");
            continue;
        }
        assert_eq!(answer.status, 200, "{path}");
        let content = &resolved(&description, &operation["responses"]["200"])["content"];
        let types: Vec<&String> = content.as_object().unwrap().keys().collect();
        let served = answer.header("content-type").unwrap();
        assert!(
            types.iter().any(|described| served.starts_with(described.as_str())),
            "{path}: {served}, not {types:?}"
        );
        let posted = server.ask("POST", &asking(path)).await;
        assert_eq!((posted.status, posted.header("allow")), (405, Some("GET,HEAD")), "{path}");
    }
}

#[tokio::test]
async fn answers_have_the_fields_that_are_described() {
    let server = serve(rivers()).await;
    let description = server.get("/openapi.json").await.json();
    let schemas = &description["components"]["schemas"];
    let answer = server.get("/api/v1/search?q=river").await.json();
    for (schema, value) in [("SearchResponse", &answer), ("Hit", &answer["hits"][0])] {
        let required = schemas[schema]["required"].as_array().unwrap();
        let mut required: Vec<&str> = required.iter().map(|name| name.as_str().unwrap()).collect();
        required.sort_unstable();
        let served: Vec<&String> = value.as_object().unwrap().keys().collect();
        assert_eq!(served, required, "{schema}");
    }
    let full = server.get("/api/v1/search?q=rivver&facets=true&limit=1").await.json();
    let suggested = server.get("/api/v1/suggest?q=riv").await.json();
    let facets = &full["facets"];
    for (schema, value) in [
        ("SearchResponse", &full),
        ("Facets", facets),
        ("FacetCount", &facets["site"][0]),
        ("SuggestResponse", &suggested),
    ] {
        let mut described: Vec<&String> = schemas[schema]["properties"].as_object().unwrap().keys().collect();
        described.sort_unstable();
        assert_eq!(value.as_object().unwrap().keys().collect::<Vec<_>>(), described, "{schema}");
    }
}

#[tokio::test]
async fn parameters_are_read_and_limited_as_described() {
    let server = serve(rivers()).await;
    let description = server.get("/openapi.json").await.json();
    let codes = &description["components"]["schemas"]["Error"]["properties"]["error"]["properties"]["code"]["enum"];
    for path in ["/api/v1/search", "/api/v1/suggest", "/api/v1/suggest/opensearch", "/search"] {
        let is_api = path != "/search";
        for parameter in parameters(&description, path).into_iter().filter(|parameter| parameter["name"] != "ui") {
            let name = parameter["name"].as_str().unwrap();
            check_limits(&server, path, name, &parameter["schema"]).await;
            if name == "q" {
                let longest = parameter["schema"]["maxLength"].as_u64().unwrap() as usize;
                for (length, status) in [(longest, 200), (longest + 1, 400)] {
                    assert_eq!(server.get(&format!("{path}?q={}", "x".repeat(length))).await.status, status, "{path}");
                }
                continue;
            }
            let wrong = server.get(&format!("{path}?q=river&{name}=%C2%A7%2F")).await;
            assert_eq!(wrong.status, 400, "{path} reads {name}");
            if is_api {
                let code = Value::from(format!("invalid_{name}"));
                assert!(wrong.json()["error"]["code"] == code && codes.as_array().unwrap().contains(&code), "{code}");
            }
        }
    }
}

async fn check_limits(server: &Server, path: &str, name: &str, schema: &Value) {
    for example in schema["examples"].as_array().into_iter().flatten() {
        let target = format!("{path}?q=river&{name}={}", example.as_str().unwrap());
        assert_eq!(server.get(&target).await.status, 200, "{target}");
    }
    for (limit, change) in [("minimum", -1i64), ("maximum", 1)] {
        let Some(bound) = schema[limit].as_i64() else { continue };
        let at = |value: i64| format!("{path}?q=river&{name}={value}");
        assert_eq!(server.get(&at(bound)).await.status, 200, "{path} {name} {limit}");
        assert_eq!(server.get(&at(bound + change)).await.status, 400, "{path} {name} beyond its {limit}");
    }
}
