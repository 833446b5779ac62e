"""SQL engines read the rows of a running server over HTTP, as docs/sql.md says, and agree with its own answers.

Usage: sql.py URL
"""

import json
import sys
import urllib.parse
import urllib.request

URL = sys.argv[1]


def address(path, **parameters):
    return f"{URL}{path}?{urllib.parse.urlencode(parameters)}"


def own(by):
    """The server's own sums of CPU time: by function, or by a label."""
    if by == "function":
        with urllib.request.urlopen(address("/api/v1/top", t="cpu", rows=100000)) as answer:
            return {f["name"]: int(f["flat"][0]) for f in json.load(answer)["functions"] if int(f["flat"][0])}
    with urllib.request.urlopen(address("/api/v1/services", t="cpu", label=by)) as answer:
        return {s["value"]: int(s["total"]) for s in json.load(answer)["rows"]}


QUERIES = {
    # Arrays begin at 1 in both: the leaf is first.
    "function": "SELECT stacktrace[1] AS name, sum(value) AS total FROM rows GROUP BY 1",
    "job": 'SELECT "labels.job" AS name, sum(value) AS total FROM rows GROUP BY 1',
}


def clickhouse(query):
    import chdb

    source = address("/arrow", type="cpu", form="plain")
    text = query.replace("FROM rows", f"FROM url('{source}', ArrowStream)")
    lines = str(chdb.query(text, "JSONEachRow")).splitlines()
    return {row["name"]: int(row["total"]) for row in map(json.loads, lines)}


def duckdb(query):
    import duckdb
    import pyarrow

    with urllib.request.urlopen(address("/arrow", type="cpu")) as answer:
        rows = pyarrow.ipc.open_stream(answer)  # read as the query goes on
        return {name: int(total) for name, total in duckdb.sql(query).fetchall()}


failed = False
for engine in (clickhouse, duckdb):
    for by, query in QUERIES.items():
        got, want = engine(query), own(by)
        if got != want or not want:
            failed = True
            print(f"{engine.__name__} by {by}: {dict(list(got.items())[:5])}, want {dict(list(want.items())[:5])}")
        else:
            print(f"{engine.__name__} by {by}: {len(got)} groups are equal")
sys.exit(failed)
