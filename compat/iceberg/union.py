"""Answers queries of both tiers in ClickHouse (chDB) and Polars.

    union.py                     answers the requests of standard input, a line of JSON each
    union.py printed TOTALS      runs the two queries that granary-lake sql prints, read from standard input

A request is {"clickhouse": SQL} or {"polars": EXPRESSION}. Its answer is {"values": [...]}, or {"error": TEXT}, in
a line. The printed queries ask for the functions with the most. Their answers are compared with TOTALS, a JSON object
of at most ten functions. Exits with 1 if one is wrong.
"""

import ast
import json
import os
import sys
import urllib.request

import chdb
import polars

NAMES = {"pl": polars, "urllib": urllib}


def in_clickhouse(text):
    """The rows of a query."""
    lines = str(chdb.query(text.strip().rstrip(";"), "JSONCompactEachRow")).splitlines()
    return [json.loads(line) for line in lines]


def in_polars(text):
    """The rows of the last expression of a program."""
    program = ast.parse(text)
    last = ast.Expression(program.body.pop().value)
    exec(compile(program, "printed", "exec"), NAMES)
    return eval(compile(last, "printed", "eval"), NAMES).rows()


def serve():
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "clickhouse" in request:
                rows = in_clickhouse(request["clickhouse"])
            else:
                rows = in_polars(request["polars"])
            out = {"values": [int(r[0]) for r in rows]}
        except Exception as e:  # of any kind: each is an answer
            out = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(out), flush=True)


def printed(want):
    text = sys.stdin.read()
    clickhouse, rest = text.split("-- ClickHouse\n")[1].split("-- Spark")
    got = {"clickhouse": in_clickhouse(clickhouse), "polars": in_polars(rest.split("# Polars\n")[1])}
    wrong = 0
    for name, rows in got.items():
        if [(f, int(total)) for f, total in rows] != sorted(want.items(), key=lambda of: -of[1]):
            print(f"WRONG {name}: {rows}, want {want}")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    os.chdir("/")  # paths of icebergLocal are below the working directory
    sys.exit(printed(json.loads(sys.argv[2])) if sys.argv[1:2] == ["printed"] else serve())
