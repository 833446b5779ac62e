"""Compares the intervals that an engine reads with the CSV of the same query.

    histories.py ENGINE DIR

DIR has NAME.csv and NAME-FORM.arrows, as granary history writes them. Exits with 1 if the
engine has other rows. Run-end encoded streams are for the engines that read them; KNOWN in
check.py lists the others.
"""

import csv
import glob
import os
import sys

import pyarrow

KINDS = ["bool", "int", "float", "string", "bytes"]
COLUMNS = ["start", "end", "attribute", "kind", *("value_" + k for k in KINDS)]
SQL = "SELECT " + ", ".join(f'"{c}"' for c in COLUMNS) + " FROM {}"
READS_RUNS = ("pyarrow", "datafusion")


def table(path):
    return pyarrow.ipc.open_stream(path).read_all()


def read_pyarrow(path):
    t = table(path)
    t.validate(full=True)
    return list(zip(*(t[c].to_pylist() for c in COLUMNS)))


def read_polars(path):
    import polars

    return polars.read_ipc_stream(path).select(COLUMNS).rows()


def read_duckdb(path):
    import duckdb

    t = table(path)  # DuckDB finds it by its variable name
    return duckdb.sql(SQL.format("t")).fetchall() if t.num_rows else []


def read_datafusion(path):
    import datafusion

    db = datafusion.SessionContext()
    db.register_arrow("t", path, file_extension=".arrows")
    return [tuple(row.values()) for row in db.sql(SQL.format("t")).to_pylist()]


def read_chdb(path):
    import json

    import chdb

    found = chdb.query(SQL.format(f"file('{path}', ArrowStream)"), "JSONCompact")
    # JSON holds 64-bit integers as text.
    number = [int, int, str, str, bool, int, float, str, str]
    return [tuple(v if v is None else to(v) for to, v in zip(number, row)) for row in json.loads(str(found))["data"]]


def wanted(path):
    """The rows of the CSV, a column for each kind."""
    with open(path, newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    for row in rows:
        values = dict.fromkeys(KINDS)
        if row["kind"] != "null":
            values[row["kind"]] = {"int": int, "float": float}.get(row["kind"], str)(row["value"])
        yield (int(row["start"]), int(row["end"]), row["attribute"], row["kind"], *values.values())


def main(engine, directory):
    failed = rows = 0
    for path in sorted(glob.glob(os.path.join(directory, "*.csv"))):
        want = list(wanted(path))
        for form in ("dictionary", "plain", "native"):
            if form == "native" and engine not in READS_RUNS:
                continue
            stream = f"{path[:-4]}-{form}.arrows"
            try:
                got = sorted(globals()["read_" + engine](stream), key=str)
            except BaseException as e:  # a polars panic is not an Exception
                got = str(e)[:200]
            rows += len(want)
            if got != sorted(want, key=str):
                failed = 1
                print(f"{engine}: {stream}: {str(got)[:300]}, want {str(want)[:300]}")
    if not rows:
        failed = 1
    print(f"{engine}: {rows} rows, " + ("WRONG" if failed else "ok"))
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], os.path.abspath(sys.argv[2])))
