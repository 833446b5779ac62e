"""Compares the answers of engines about an Iceberg table with those of Granary's own export.

    check.py [--spark JARS] [--s3 URL] CATALOG EXPORT...

Spark is one of them with the paths of its jars, comma between. With the URL of an S3 the files are there: then DuckDB
is none, whose extension for that is not on PyPI. The table is profiles.samples of the catalog "granary", a file of SQLite or the URL of a REST catalog. The exports are the Parquet files of granary export, or streams of Arrow, with the rows of all units. Each
engine answers six questions: the rows and the sum of values by stack, by labels, by time, by
trace, by function, and in a range of time. Beside exports of streams can be files .lines, of rows and sums by function and
line: then DuckDB answers from the tables of symbols too. Exits with 1 if an engine is wrong.
"""

import argparse
import collections
import json
import os
import re
import sys
import time

import polars
import pyarrow
import pyarrow.compute
import pyarrow.parquet
from pyiceberg.catalog import load_catalog


def read(path):
    if path.endswith(".arrows"):
        return pyarrow.ipc.open_stream(path).read_all()
    return pyarrow.parquet.read_table(path)


class Sums(collections.defaultdict):
    """Rows and sums of values by key."""

    def __init__(self):
        super().__init__(lambda: (0, 0))

    def add(self, key, value):
        n, total = self[key]
        self[key] = (n + 1, total + value)


def local(url):
    """The path of a file: Go writes file:///tmp/x, and Spark file:/tmp/x."""
    return re.sub("^file:/+", "/", url)


def s3_properties():
    return {"s3.endpoint": S3, "s3.region": "us-east-1"} if S3 else {}


def labels_key(labels):
    return json.dumps(dict(labels), sort_keys=True, ensure_ascii=False)


def answer(rows, span):
    """Answers the questions from rows, each a dictionary with the columns of the table."""
    out = {q: Sums() for q in ("stacks", "labels", "times", "traces", "functions", "range")}
    for r in rows:
        value = r["value"]
        out["stacks"].add((r["sample_type"], "\n".join(r["stack"])), value)
        out["labels"].add(labels_key(r["labels"]), value)
        out["times"].add(r["time_nanos"], value)
        out["traces"].add(r["trace_id"].hex() if r["trace_id"] is not None else None, value)
        for name in r["stack"]:
            out["functions"].add(name, value)
        if span[0] <= r["time_nanos"] < span[1]:
            out["range"].add(r["sample_type"], value)
    return {q: dict(s) for q, s in out.items()}


def export_rows(paths):
    """The rows of exports, in the columns of the table."""
    for path in paths:
        table = read(path)
        names = [n for n in table.column_names if n.startswith("labels.")]
        times = pyarrow.compute.cast(table["timestamp"], pyarrow.int64()).to_pylist()
        for r, at in zip(table.select([*names, "sample_type", "stacktrace", "trace_id", "value"]).to_pylist(), times):
            yield {
                "sample_type": r["sample_type"],
                "stack": r["stacktrace"],
                "labels": [(n.removeprefix("labels."), r[n]) for n in names if r[n] is not None],
                "time_nanos": at,
                "trace_id": r["trace_id"],
                "value": r["value"],
            }


def with_pyiceberg(table, span):
    columns = ("sample_type", "stack", "labels", "time_nanos", "trace_id", "value")
    out = answer(table.scan(selected_fields=columns).to_arrow().to_pylist(), span)
    between = f"time_nanos >= {span[0]} and time_nanos < {span[1]}"
    kept = table.scan(row_filter=between, selected_fields=columns).to_arrow().to_pylist()
    out["range"] = answer(kept, span)["range"]
    return out


def with_polars(table, span):
    c = polars.col
    frame = polars.scan_iceberg(table, snapshot_id=table.current_snapshot().snapshot_id, storage_options=s3_properties())
    sums = [polars.len().alias("n"), c("value").sum().alias("total")]

    def ask(frame, *by):
        rows = frame.group_by(*by).agg(*sums).collect().rows()
        return {r[0] if len(r) == 3 else r[:-2]: (r[-2], r[-1]) for r in rows}

    labels = collections.defaultdict(lambda: (0, 0))
    for text, s in ask(frame.select("value", c("labels").cast(polars.List(polars.Struct({"key": polars.String, "value": polars.String}))).alias("l"))
                       .with_columns(c("l").list.eval(polars.element().struct.json_encode()).list.join("\n")), "l").items():
        pairs = [json.loads(p) for p in text.split("\n")] if text else []
        labels[labels_key((p["key"], p["value"]) for p in pairs)] = s
    traced = {k.hex() if k is not None else None: s for k, s in ask(frame, "trace_id").items()}
    return {
        "stacks": ask(frame.with_columns(c("stack").list.join("\n")), "sample_type", "stack"),
        "labels": dict(labels),
        "times": ask(frame, "time_nanos"),
        "traces": traced,
        "functions": ask(frame.filter(c("stack").list.len() > 0).explode("stack"), "stack"),
        "range": ask(frame.filter((c("time_nanos") >= span[0]) & (c("time_nanos") < span[1])), "sample_type"),
    }


def with_clickhouse(table, span):
    import chdb

    folder = local(table.location())
    metadata = local(table.metadata_location).removeprefix(folder).lstrip("/")
    function = "icebergLocal"
    if S3:
        function, folder = "icebergS3", folder.replace("s3://", S3 + "/")
    source = f"{function}('{folder}/', SETTINGS iceberg_metadata_file_path = '{metadata}')"
    pin = f"SETTINGS iceberg_snapshot_id = {table.current_snapshot().snapshot_id}"

    def ask(key, more=""):
        sql = f"SELECT {key} AS k, count() AS n, sum(value) AS total FROM {source} {more} GROUP BY k {pin}"
        lines = str(chdb.query(sql, "JSONEachRow")).splitlines()
        return [(r["k"], (int(r["n"]), int(r["total"]))) for r in map(json.loads, lines)]

    here = os.getcwd()
    os.chdir("/")  # paths of icebergLocal are below the working directory
    try:
        return {
            "stacks": {tuple(k): s for k, s in ask("[sample_type, arrayStringConcat(stack, '\\n')]")},
            "labels": {labels_key(k): s for k, s in ask("mapSort(labels)")},
            "times": {int(k): s for k, s in ask("time_nanos")},
            "traces": {k: s for k, s in ask("lower(hex(trace_id))")},
            "functions": dict(ask("f", "ARRAY JOIN stack AS f")),
            "range": dict(ask("sample_type", f"WHERE time_nanos >= {span[0]} AND time_nanos < {span[1]}")),
        }
    finally:
        os.chdir(here)


def with_duckdb(table, span):
    """Of the Parquet files that pyiceberg lists: the extension for Iceberg is not on PyPI."""
    import duckdb

    files = []
    for task in table.scan().plan_files():
        if task.delete_files:
            raise ValueError(f"{task.file.file_path} has rows that are deleted")
        files.append(local(task.file.file_path))

    def ask(key, where="", source="samples"):
        with_files = f"WITH samples AS (SELECT * FROM read_parquet({files}))"
        return duckdb.sql(f"{with_files} SELECT {key} AS k, count(*), sum(value) FROM {source} {where} GROUP BY k").fetchall()

    labels = Sums()
    for k, n, total in ask("labels"):
        labels[labels_key(k)] = (n, int(total))
    frames = "(SELECT unnest(stack) AS f, value FROM samples)"
    return {
        "stacks": {(k["t"], k["s"]): (n, int(total)) for k, n, total in ask("{'t': sample_type, 's': array_to_string(stack, chr(10))}")},
        "labels": dict(labels),
        "times": {k: (n, int(total)) for k, n, total in ask("time_nanos")},
        "traces": {k: (n, int(total)) for k, n, total in ask("lower(hex(trace_id))")},
        "functions": {k: (n, int(total)) for k, n, total in ask("f", source=frames)},
        "range": {k: (n, int(total)) for k, n, total in ask("sample_type", f"WHERE time_nanos >= {span[0]} AND time_nanos < {span[1]}")},
    }


def with_spark(table, span):
    import spark

    session = spark.session(SPARK_JARS, CATALOG, S3)
    source = f"granary.profiles.samples VERSION AS OF {table.current_snapshot().snapshot_id}"

    def ask(key, where="", of=source):
        return {r[0]: (r[1], r[2]) for r in session.sql(f"SELECT {key} AS k, count(*), sum(value) FROM {of} {where} GROUP BY k").collect()}

    labels = ask("to_json(map_from_entries(array_sort(map_entries(labels))))")
    return {
        "stacks": {(k.t, k.s): s for k, s in ask("named_struct('t', sample_type, 's', concat_ws('\\n', stack))").items()},
        "labels": {labels_key(json.loads(k)): s for k, s in labels.items()},
        "times": ask("time_nanos"),
        "traces": ask("lower(hex(trace_id))"),
        "functions": ask("f", of=f"(SELECT explode(stack) AS f, value FROM {source})"),
        "range": ask("sample_type", f"WHERE time_nanos >= {span[0]} AND time_nanos < {span[1]}"),
    }


def check_lines(catalog, exports):
    """The number of wrong answers about the lines of leaves, in DuckDB from what pyiceberg reads of the three tables."""
    import duckdb

    want = Sums()
    for path in exports:
        if path.endswith(".arrows"):
            with open(path.removesuffix("arrows") + "lines") as f:
                for key, (n, total) in json.load(f).items():
                    want[key] = (want[key][0] + n, want[key][1] + total)
    if not want:
        return 0
    samples, stacks, locations = (catalog.load_table("profiles.samples" + end).scan().to_arrow() for end in ("", "_stacks", "_locations"))
    got = duckdb.sql("""
        SELECT format('{}:{}', l.function, l.line) AS k, count(*), sum(value)
        FROM samples
        JOIN (SELECT stack_id, any_value(locations) AS locations FROM stacks GROUP BY stack_id) USING (stack_id)
        JOIN (SELECT DISTINCT location, function, line FROM locations WHERE inlined = 0) AS l ON l.location = locations[1]
        GROUP BY k""").fetchall()
    got = {k: (n, int(total)) for k, n, total in got}
    print(f"lines: {len(samples)} rows, {len(stacks)} stacks, {len(locations)} lines of locations, {len(got)} groups")
    if got == want:
        return 0
    print(f"WRONG duckdb, lines: {got}, want {dict(want)}")
    return 1


ENGINES = {"pyiceberg": with_pyiceberg, "polars": with_polars, "clickhouse": with_clickhouse, "duckdb": with_duckdb}


def main(catalog, exports):
    where = {"type": "rest", "uri": catalog} if "://" in catalog else {"type": "sql", "uri": f"sqlite:///{os.path.abspath(catalog)}"}
    known = load_catalog("granary", **where, **s3_properties())
    table = known.load_table("profiles.samples")
    rows = list(export_rows(exports))
    times = sorted({r["time_nanos"] for r in rows})
    span = (times[len(times) // 4], times[3 * len(times) // 4])
    want = answer(rows, span)
    wrong = check_lines(known, exports)
    for name, ask in ENGINES.items():
        began = time.time()
        got = ask(table, span)
        for question, sums in want.items():
            if got[question] == sums:
                continue
            wrong += 1
            for key in [*sums, *got[question]]:
                if sums.get(key) != got[question].get(key):
                    print(f"WRONG {name}, {question}: {key!r} is {got[question].get(key)}, want {sums.get(key)}")
                    break
        print(f"{name}: {len(rows)} rows, groups {({q: len(s) for q, s in got.items()})}, {time.time() - began:.1f} s")
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--spark")
    arguments.add_argument("--s3")
    arguments.add_argument("catalog")
    arguments.add_argument("exports", nargs="+")
    given = arguments.parse_args()
    SPARK_JARS, S3, CATALOG = given.spark, given.s3, given.catalog
    if SPARK_JARS:
        ENGINES["spark"] = with_spark
    if S3:
        del ENGINES["duckdb"]
    sys.exit(main(given.catalog, given.exports))
