"""The compose file by its own names; check-jsonschema looks at its form."""

import re
from pathlib import Path

from commands import check_command
from problems import at, load, wrong

COMPOSE = Path("deploy/compose.yaml")


def check_compose():
    for compose in load(COMPOSE):
        services = compose["services"]
        for name, service in services.items():
            where = f"{COMPOSE}: {name}"
            for key in ["image", "healthcheck", "restart", "stop_grace_period", "volumes", "read_only", "cap_drop", "mem_limit"]:
                if not service.get(key):
                    wrong(where, f"has no {key}")
            for port in service.get("ports", []):
                if not re.fullmatch(r"127\.0\.0\.1:\d+:\d+", str(port)):
                    wrong(where, f"the port {port} is open to other machines")
            for kind in ["volumes", "secrets", "networks"]:
                for used in service.get(kind, []):
                    if used.split(":")[0] not in compose[kind]:
                        wrong(where, f"{used} is not among the {kind}")
            # Under its own name it is reached by the others.
            if at(service, "environment", "SEINE_NODE_ADVERTISE") != f"{name}:7071":
                wrong(where, f"SEINE_NODE_ADVERTISE is not {name}:7071")
            for word in service["command"]:
                if word.startswith("--join=") and word.removeprefix("--join=") not in {f"{other}:7071" for other in services}:
                    wrong(where, f"{word} is not one of the services")
                secret = re.fullmatch(r"--token=@/run/secrets/(.*)", word)
                if secret and secret[1] not in service.get("secrets", []):
                    wrong(where, f"the secret {secret[1]} is not given to it")
            check_command(where, service["command"])
