"""The commands that units, containers and pods run, against the program; the settings they are given, against those there are."""

import re
import subprocess
import tomllib
from pathlib import Path

from problems import wrong

UNITS = Path("deploy/systemd")
SETTINGS = Path("common/src/config/default.toml")
ROLES = {"monitor", "collector", "analyser", "filesaver", "indexer", "query"}

help_of = {}
program = None  # set by __main__


def check_command(where, command):
    """Roles that there are, and flags that the program knows."""
    command = [word for part in command for word in part.split("=", 1)] if command else []
    if not command or command[0] not in ("serve", "node"):
        wrong(where, f"{command[:1]} is neither serve nor node")
        return
    if "--roles" in command:
        roles = command[command.index("--roles") + 1]
        unknown = set(roles.split(",")) - ROLES - {"${SEINE_ROLES}"}
        if unknown or ("monitor" in roles.split(",")) != (command[0] == "serve"):
            wrong(where, f"`seine {command[0]}` cannot have --roles {roles}")
    if program is None:
        return
    if command[0] not in help_of:
        said = subprocess.run([program, command[0], "--help"], capture_output=True, text=True, check=True).stdout
        help_of[command[0]] = set(re.findall(r"--[a-z-]+", said))
    for flag in [word for word in command if word.startswith("--")]:
        if flag not in help_of[command[0]]:
            wrong(where, f"`seine {command[0]}` has no flag {flag}")


def check_units():
    boxes = {}
    for path in sorted(UNITS.glob("*.service")):
        text = path.read_text()
        commands = re.findall(r"^ExecStart=/usr/local/bin/seine (.*)$", text, re.M)
        if len(commands) != 1:
            wrong(path, "it does not start /usr/local/bin/seine once")
        for command in commands:
            check_command(path, command.split())
            # systemd-analyze takes a file that will not be there for any other word.
            token, loaded = re.search(r"--token (\S+)", command), re.findall(r"^LoadCredential=([^:\s]+):", text, re.M)
            if token and token[1] not in [f"@%d/{credential}" for credential in loaded]:
                wrong(path, f"--token {token[1]} is no credential that LoadCredential gives it")
        # What the process may do is tested with one unit, so it is the same in all.
        boxes[path] = re.sub(r"(?s).*(?=^NoNewPrivileges=)|\[Install\].*", "", text, flags=re.M)
    if len(set(boxes.values())) != 1:
        wrong(", ".join(map(str, boxes)), "the lines from NoNewPrivileges to [Install] are not the same")


def check_settings(where, text):
    """Every setting is one that `seine config default` prints, as it is or with a # before it."""
    known, section = set(), None
    for line in SETTINGS.read_text().splitlines():
        if match := re.match(r"\[(\w+)\]", line):
            section = match[1]
        elif match := re.match(r"(?:# )?(\w+) =", line):
            known.add((section, match[1]))
    try:
        settings = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        wrong(where, error)
        return
    for section, keys in settings.items():
        for key in keys:
            if (section, key) not in known:
                wrong(where, f"there is no setting {key} in [{section}]")
