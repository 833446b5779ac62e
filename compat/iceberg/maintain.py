"""Changes an Iceberg table in pyiceberg, and compares what it reads before and after granary-lake maintain.

    maintain.py CATALOG GRANARY-LAKE

The table is profiles.samples of the catalog "granary", a file of SQLite. pyiceberg adds a column of texts, and rows with
such texts, and deletes the rows of a pod; a second column has decimals, which granary-lake leaves alone. Each maintain must leave all rows as they are,
and join all files but one a day. Then granary-lake deletes another pod. Exits with 1 if a row is wrong.
"""

import decimal
import json
import os
import subprocess
import sys

import pyarrow
from pyiceberg.catalog import load_catalog
from pyiceberg.types import DecimalType, StringType


def rows(table):
    """All rows in an order."""
    return sorted(json.dumps(r, sort_keys=True, default=str) for r in table.refresh().scan().to_arrow().to_pylist())


def column(table, name, type, values):
    """Adds a column, and the rows of a pod again with values in it."""
    with table.update_schema() as change:
        change.add_column(name, type)
    data = table.refresh().scan(row_filter="label_pod = 'pod0'").to_arrow()
    at = data.schema.get_field_index(name)
    table.append(data.set_column(at, data.schema.field(at), pyarrow.array(values(len(data)), data.schema.field(at).type)))


def files(table):
    return len(list(table.refresh().scan().plan_files()))


def main(catalog, lake):
    table = load_catalog("granary", type="sql", uri=f"sqlite:///{os.path.abspath(catalog)}").load_table("profiles.samples")
    wrong = 0

    def run(*args):
        out = subprocess.run([lake, *args, "--catalog", f"sqlite:{catalog}"], capture_output=True, text=True, check=True)
        print(out.stderr + out.stdout, end="")
        return out.stderr

    def maintain(what, most, left):
        nonlocal wrong
        before = rows(table)
        notes = run("maintain", "--files", "2", "--small", "64")
        after = rows(table)
        if before != after or files(table) > most or ("left alone" in notes) != left:
            wrong += 1
            print(f"WRONG {what}: {len(after)} rows in {files(table)} files, were {len(before)}")
        print(f"{what}: {len(after)} rows in {files(table)} files")

    column(table, "note", StringType(), lambda n: [f"é{i % 3}" if i % 2 else None for i in range(n)])
    table.delete("label_pod = 'pod1'")
    maintain("with a column of texts, after a delete", 2, False)
    column(table, "share", DecimalType(9, 2), lambda n: [decimal.Decimal(i) for i in range(n)])
    maintain("with a column of decimals", 4, True)
    want = [r for r in rows(table) if json.loads(r)["label_pod"] != "pod2"]
    run("delete", "--label", "pod=pod2", "--expire")
    if rows(table) != want or len(table.refresh().snapshots()) != 1:
        wrong += 1
        print(f"WRONG after delete: {len(rows(table))} rows, want {len(want)}")
    print(f"deleted: {len(want)} rows are left")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
