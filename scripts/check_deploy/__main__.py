"""Whether the files in deploy/ are right by themselves and fit each other; called by check-deploy.sh in the project's root.

Prints a line for each thing that is wrong.
"""

import argparse
import sys
import traceback
from pathlib import Path

import commands
from compose import check_compose
from kubernetes import check_manifests
from metrics import check_dashboard, check_rules, table_of_metrics
from problems import problems, wrong


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--queries", type=Path, required=True, help="where to leave the dashboard's queries as rules")
    arguments.add_argument("--program", help="the seine whose flags count")
    given = arguments.parse_args()
    commands.program = given.program
    metrics = table_of_metrics()
    for check in [check_manifests, check_compose, commands.check_units, lambda: check_rules(metrics),
                  lambda: check_dashboard(metrics, given.queries)]:
        try:
            check()
        except (KeyError, TypeError, AttributeError):
            # Something is not there, or of another kind, in a way that nobody has thought of.
            wrong("a file has not the form that the check expects", traceback.format_exc(limit=-1))
    print("\n".join(problems))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
