"""Compares what engines read in a table with the pushes of a fleet (TestFleet), which a JSON object in the standard input has:

    {"catalog": FILE or URL, "table": NAME, "s3": URL or "", "pushes": {FUNCTION: whether it was answered}}

Each push is a row of a function of its own, with the value 1. Exits with 1 unless each engine has each answered push once, no other
one twice, and none besides.
"""

import json
import sys

from pyiceberg.catalog import load_catalog

import check


def main(asked):
    check.S3, check.CATALOG = asked["s3"], asked["catalog"]
    at = asked["catalog"]
    where = {"type": "rest", "uri": at} if "://" in at else {"type": "sql", "uri": f"sqlite:///{at}"}
    table = load_catalog("granary", **where, **check.s3_properties()).load_table(asked["table"])
    pushes, wrong = asked["pushes"], 0
    for name, ask in check.ENGINES.items():
        if name == "duckdb" and asked["s3"]:
            continue  # its extension for that is not on PyPI
        functions = ask(table, (0, 1 << 62))["functions"]
        lost = [f for f, answered in pushes.items() if answered and f not in functions]
        twice = [f for f, sums in functions.items() if sums != (1, 1)]
        unknown = [f for f in functions if f not in pushes]
        print(f"{name}: {len(functions)} functions; {len(lost)} lost {lost[:3]}, {len(twice)} not once {twice[:3]}, {len(unknown)} unknown {unknown[:3]}")
        wrong += len(lost) + len(twice) + len(unknown)
    return 1 if wrong or not pushes else 0


if __name__ == "__main__":
    sys.exit(main(json.load(sys.stdin)))
