"""The manifests: by the schemas of Kubernetes, by what we want of every pod, and by each other."""

import re
from pathlib import Path

import kubernetes_validate

from commands import check_command, check_settings
from problems import at, load, problems, wrong

# The oldest Kubernetes that we say it works with, and the newest that the schemas know.
KUBERNETES = ["1.30", kubernetes_validate.latest_version()]
MANIFESTS = Path("deploy/kubernetes")


def fits(selector, labels):
    return all(labels.get(key) == value for key, value in selector.items())


def check_manifests():
    before = len(problems)
    paths = sorted(MANIFESTS.glob("*.yaml"))
    resources = [(path, resource) for path in paths for resource in load(path)]
    if not resources:
        wrong(MANIFESTS, "there is no manifest")
    for path, resource in resources:
        where = f"{path}: {resource.get('kind')} {at(resource, 'metadata', 'name')}"
        for version in KUBERNETES:
            try:
                kubernetes_validate.validate(resource, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                wrong(where, f"Kubernetes {version}: {'.'.join(map(str, error.path))}: {error.message}")
            except kubernetes_validate.SchemaNotFoundError as error:
                wrong(where, error.message)
        if resource.get("kind") == "ConfigMap":
            check_settings(f"{where}: seine.toml", at(resource, "data", "seine.toml") or "")
        if resource.get("kind") == "Secret":
            wrong(where, "secrets do not belong into files")
        if resource.get("kind") != "Namespace" and at(resource, "metadata", "namespace") != "seine":
            wrong(where, "is not in the namespace seine")
    # What follows takes for granted what the schemas promise.
    if len(problems) == before:
        check_references(resources)


def check_references(resources):
    sets = [(path, resource) for path, resource in resources if resource["kind"] == "StatefulSet"]
    named = {(resource["kind"], resource["metadata"]["name"]): resource for _, resource in resources}
    # Labels and ports of the pods that there will be.
    pods = []
    for path, resource in sets:
        template = resource["spec"]["template"]
        ports = [port for container in template["spec"]["containers"] for port in container.get("ports", [])]
        numbers = {port["name"] for port in ports} | {port["containerPort"] for port in ports}
        pods.append((template["metadata"]["labels"], numbers))
        check_pods(path, resource, named)
    for path, resource in resources:
        kind, spec = resource["kind"], resource.get("spec", {})
        where = f"{path}: {kind} {resource['metadata']['name']}"
        selector = {"Service": spec.get("selector"), "PodDisruptionBudget": at(spec, "selector", "matchLabels"),
                    "NetworkPolicy": at(spec, "podSelector", "matchLabels")}.get(kind)
        if not selector:
            continue
        chosen = [ports for labels, ports in pods if fits(selector, labels)]
        if not chosen:
            wrong(where, f"there is no pod with the labels {selector}")
        targets = [port["targetPort"] for port in spec["ports"]] if kind == "Service" else []
        targets += [port["port"] for rule in spec.get("ingress", []) for port in rule["ports"]]
        for target in targets:
            if not all(target in ports for ports in chosen):
                wrong(where, f"its pods have no port {target}")
    # Whoever may reach the node port must be a node.
    for path, resource in resources:
        for rule in at(resource, "spec", "ingress") or []:
            if any(port["port"] == 7071 for port in rule["ports"]):
                for source in rule.get("from", [{}]):
                    if source != {"podSelector": {"matchLabels": {"app.kubernetes.io/name": "seine"}}}:
                        wrong(f"{path}: {resource['metadata']['name']}", f"lets {source or 'everybody'} reach the node port")
    if not any(resource["kind"] == "NetworkPolicy" and resource["spec"]["podSelector"] == {} and
               set(resource["spec"]["policyTypes"]) == {"Ingress", "Egress"} for _, resource in resources):
        wrong(MANIFESTS, "no NetworkPolicy forbids what the others do not allow")


def check_pods(path, resource, named):
    name, spec = resource["metadata"]["name"], resource["spec"]
    where, pod = f"{path}: {name}", spec["template"]["spec"]
    if not fits(spec["selector"]["matchLabels"], spec["template"]["metadata"]["labels"]):
        wrong(where, "its selector does not choose its own pods")
    service = named.get(("Service", spec.get("serviceName")))
    if at(service, "spec", "clusterIP") != "None" or not fits(service["spec"]["selector"], spec["template"]["metadata"]["labels"]):
        wrong(where, f"serviceName {spec.get('serviceName')!r} is no headless Service of its pods")
    user = re.search(r"^USER (\d+):(\d+)$", Path("deploy/Containerfile").read_text(), re.M)
    user = [int(number) for number in user.groups()] if user else [None, None]
    for keys, wanted in [
        (("securityContext", "runAsNonRoot"), True),
        (("securityContext", "runAsUser"), user[0]),
        (("securityContext", "fsGroup"), user[1]),
        (("securityContext", "seccompProfile", "type"), "RuntimeDefault"),
        (("automountServiceAccountToken",), False),
        (("enableServiceLinks",), False),
        (("terminationGracePeriodSeconds",), 60),
    ]:
        if at(pod, *keys) != wanted:
            wrong(where, f"{'.'.join(keys)} is {at(pod, *keys)!r} and not {wanted!r}")
    volumes = {volume["name"] for volume in pod["volumes"]} | {claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]}
    for volume in pod["volumes"]:
        config, secret = at(volume, "configMap", "name"), at(volume, "secret", "secretName")
        if config and ("ConfigMap", config) not in named:
            wrong(where, f"there is no ConfigMap {config}")
        if secret and not re.search(rf"create secret generic {secret} ", (MANIFESTS / "00-namespace.yaml").read_text()):
            wrong(where, f"nobody is told how to make the secret {secret}")
    for container in pod["containers"]:
        ports = {port["name"] for port in container.get("ports", [])}
        for keys, wanted in [
            (("securityContext", "allowPrivilegeEscalation"), False),
            (("securityContext", "readOnlyRootFilesystem"), True),
            (("securityContext", "capabilities", "drop"), ["ALL"]),
            (("startupProbe", "httpGet", "path"), "/healthz"),
            (("livenessProbe", "httpGet", "path"), "/healthz"),
            (("readinessProbe", "httpGet", "path"), "/readyz"),
        ]:
            if at(container, *keys) != wanted:
                wrong(where, f"{'.'.join(keys)} is {at(container, *keys)!r} and not {wanted!r}")
        for probe in ["startupProbe", "livenessProbe", "readinessProbe"]:
            if at(container, probe, "httpGet", "port") not in ports:
                wrong(where, f"{probe} asks a port that the container does not name")
        for keys in [("requests", "cpu"), ("requests", "memory"), ("limits", "memory")]:
            if at(container, "resources", *keys) is None:
                wrong(where, f"resources.{'.'.join(keys)} is missing")
        for mount in container["volumeMounts"]:
            if mount["name"] not in volumes:
                wrong(where, f"there is no volume {mount['name']}")
        check_command(where, container["args"])
