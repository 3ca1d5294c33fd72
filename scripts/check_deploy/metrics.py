"""Rules and dashboard against the table of metrics; promtool looks at the form of the queries."""

import json
import re
from pathlib import Path

import yaml

from problems import load, wrong

METRICS = Path("docs/watching.md")
RULES = Path("deploy/prometheus/rules.yml")
TESTS = Path("deploy/prometheus/tests.yml")
DASHBOARD = Path("deploy/grafana/seine.json")

WORDS = {"and", "or", "unless", "by", "without", "on", "ignoring", "group_left", "group_right", "offset", "bool", "inf", "nan"}
# Set by Prometheus, not by us.
ALWAYS = {"up": set(), "ALERTS": {"alertname", "alertstate"}}
LABELS = {"job", "instance", "le"}


def table_of_metrics():
    """Name to labels, with the names that Prometheus makes of a histogram; `None` without a table."""
    metrics = {}
    for line in METRICS.read_text().splitlines() if METRICS.exists() else []:
        if line.startswith("| `seine_"):
            name, kind, labels = [cell.strip() for cell in line.split("|")[1:4]]
            name = name.strip("`").split("{")[0]
            ends = ["_bucket", "_sum", "_count"] if kind.startswith("histogram") else [""]
            metrics |= {name + end: set(re.findall(r"\w+", labels)) for end in ends}
    if not metrics:
        wrong(METRICS, "there is no table of metrics, with lines that begin with | `seine_")
        return None
    return metrics | ALWAYS


def check_query(where, query, metrics):
    """Every name in a query is one of a metric, and every label one that such a metric has. Gives the labels that there are,
    `None` where that is not known."""
    if metrics is None:
        return None
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', query)
    groups = re.findall(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)", bare)
    labels = [label for group in groups for label in re.findall(r"\w+", group)]
    labels += [label for selector in re.findall(r"\{([^}]*)\}", bare) for label in re.findall(r"(\w+)\s*[=!]", selector)]
    rest = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\b(?:by|without|on|ignoring)\s*\([^)]*\)", " ", bare)
    names = [name for name in re.findall(r"(?<![\w:.])[a-zA-Z_:][\w:]*\b(?!\s*\()", rest) if name.lower() not in WORDS]
    unknown = [name for name in names if metrics.get(name) is None]
    for name in unknown:
        if name not in metrics:
            wrong(where, f"the metric {name} is neither in the table of {METRICS} nor a recorded one")
    if unknown:
        return None
    allowed = LABELS.union(*(metrics[name] for name in names))
    for label in labels:
        if label not in allowed:
            wrong(where, f"none of {', '.join(names)} has the label {label}")
    return allowed


def check_rules(metrics):
    rules = [rule for document in load(RULES) for group in document["groups"] for rule in group["rules"]]
    for rule in rules:
        labels = check_query(f"{RULES}: {rule.get('record') or rule.get('alert')}", rule["expr"], metrics)
        if "record" in rule and metrics is not None:
            metrics[rule["record"]] = labels
    tests = [test for document in load(TESTS) for test in document["tests"]]
    for test in tests:
        for series in test["input_series"]:
            check_query(f"{TESTS}: {test['name']}", series["series"], metrics)
    seen = {case["alertname"] for test in tests for case in test.get("alert_rule_test", []) if case.get("exp_alerts")}
    alerts = {rule["alert"] for rule in rules if "alert" in rule}
    for alert in sorted(alerts - seen):
        wrong(TESTS, f"no test sees {alert} come")
    quiet = {case["alertname"] for test in tests for case in test.get("alert_rule_test", [])}
    for alert in sorted(quiet - alerts):
        wrong(TESTS, f"there is no alert {alert}")


def check_dashboard(metrics, queries):
    try:
        panels = json.loads(DASHBOARD.read_text())["panels"]
    except (OSError, json.JSONDecodeError, KeyError) as error:
        wrong(DASHBOARD, error)
        return
    numbers = [panel["id"] for panel in panels]
    if len(set(numbers)) != len(numbers):
        wrong(DASHBOARD, "two panels have the same id")
    rules = []
    for panel in panels:
        where = f"{DASHBOARD}: {panel['title']}"
        if panel["type"] != "row" and not panel.get("targets"):
            wrong(where, "asks for nothing")
        for target in panel.get("targets", []):
            labels = check_query(where, target["expr"], metrics)
            for label in re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", "")):
                if labels is not None and label not in labels:
                    wrong(where, f"its legend shows the label {label}, which {target['expr']} does not have")
            # Grafana puts a time there; a rule of this name is for promtool, which says the name when it does not understand.
            query = target["expr"].replace("$__rate_interval", "5m").replace("$__range", "1h")
            name = re.sub(r"\W+", "_", f"panel_{panel['title']}_{target['refId']}")
            rules.append({"record": name, "expr": query})
    queries.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
