"""Five engines that read a table and answer the same questions about it.

An engine opens a file of granary export. Each answer is a dictionary from a key to (rows,
sum of values); an absent value is the key None. An engine that cannot read a file, or
cannot answer, raises.
"""

import json

import numpy

def key(value):
    """A key in the oracle's form: numbers are text."""
    return value if value is None or isinstance(value, str) else str(value)


def sums(rows):
    """A dictionary of rows whose last two columns are a count and a sum."""
    found = {}
    for row in rows:
        of = key(row[0]) if len(row) == 3 else "\n".join(key(v) for v in row[:-2])
        if of in found:
            raise ValueError(f"{of!r} is there twice")
        found[of] = (int(row[-2]), int(row[-1]))
    return found


class SQL:
    """The common part of engines with SQL. Subclasses define their dialect."""

    stack = '"stacktrace"'  # as a list of texts
    joined = "array_to_string({stack}, chr(10))"
    unnested = "unnest({stack})"
    nanoseconds = ""

    def query(self, text):
        raise NotImplementedError

    def rows(self):
        return int(self.query("SELECT count(*) FROM t")[0][0])

    def sums(self, *columns):
        what = ", ".join(f'"{c}"' for c in columns)
        return sums(self.query(f"SELECT {what}, count(*), sum(value) FROM t GROUP BY {what}"))

    def times(self):
        what = self.nanoseconds
        return sums(self.query(f"SELECT {what}, count(*), sum(value) FROM t GROUP BY {what}"))

    def stacks(self):
        what = "sample_type, " + self.joined.format(stack=self.stack)
        return sums(self.query(f"SELECT {what}, count(*), sum(value) FROM t GROUP BY {what}"))

    def functions(self):
        frames = f"SELECT {self.unnested.format(stack=self.stack)} AS f, value FROM t"
        return sums(self.query(f"SELECT f, count(*), sum(value) FROM ({frames}) AS u GROUP BY f"))

    def locations(self):
        found = self.query(f"SELECT count(*), sum(value) FROM t GROUP BY sample_type, {self.stack}")
        return [(int(n), int(v)) for n, v in found]

    def empty_texts(self, column):
        return int(self.query(f"SELECT count(*) FROM t WHERE \"{column}\" = ''")[0][0])


class DuckDB(SQL):
    nanoseconds = 'epoch_ns("timestamp")'

    def __init__(self, path):
        import duckdb
        import pyarrow

        self.db = duckdb.connect()
        if path.endswith(".parquet"):
            self.db.execute(f"CREATE TABLE t AS FROM '{path}'")
        else:
            self.db.register("t", pyarrow.ipc.open_stream(path).read_all())

    def query(self, text):
        return self.db.execute(text).fetchall()

    def columns(self):
        return [row[0] for row in self.query("DESCRIBE t")]


class DataFusion(SQL):
    nanoseconds = "arrow_cast(\"timestamp\", 'Int64')"

    def __init__(self, path):
        import datafusion

        self.db = datafusion.SessionContext()
        if path.endswith(".parquet"):
            self.db.register_parquet("t", path)
        else:
            self.db.register_arrow("t", path, file_extension=".arrows")
        kind = self.db.table("t").schema().field("stacktrace").type
        if hasattr(kind, "value_type") and hasattr(kind, "index_type"):  # it cannot group dictionaries of lists
            kind = "Utf8" if "string" in str(kind.value_type) else "FixedSizeBinary(16)"
            self.stack = f"arrow_cast(\"stacktrace\", 'List({kind})')"

    def query(self, text):
        return [tuple(row.values()) for row in self.db.sql(text).to_pylist()]

    def columns(self):
        return self.db.table("t").schema().names


class ClickHouse(SQL):
    stack = "arrayMap(x -> assumeNotNull(x), stacktrace)"
    joined = "arrayStringConcat({stack}, '\\n')"
    unnested = "arrayJoin({stack})"
    nanoseconds = "toUnixTimestamp64Nano(timestamp)"

    def __init__(self, path):
        import chdb.session

        self.db = chdb.session.Session()
        kind = "Parquet" if path.endswith(".parquet") else "ArrowStream"
        self.db.query(f"CREATE OR REPLACE VIEW t AS SELECT * FROM file('{path}', {kind})")

    def query(self, text):
        return json.loads(str(self.db.query(text, "JSONCompact")))["data"]

    def columns(self):
        return [row[0] for row in self.query("DESCRIBE TABLE t")]


class Polars:
    def __init__(self, path):
        import polars

        self.pl = polars
        self.t = polars.read_parquet(path) if path.endswith(".parquet") else polars.read_ipc_stream(path)

    def columns(self):
        return self.t.columns

    def rows(self):
        return self.t.height

    def grouped(self, table, *by):
        value = self.pl.col("value")
        return table.group_by(*by).agg(self.pl.len(), value.sum()).rows()

    def sums(self, *columns):
        return sums(self.grouped(self.t, *columns))

    def times(self):
        return sums(self.grouped(self.t, self.pl.col("timestamp").cast(self.pl.Int64)))

    def stacks(self):
        return sums(self.grouped(self.t, "sample_type", self.pl.col("stacktrace").list.join("\n")))

    def functions(self):
        frames = self.t.select("stacktrace", "value").explode("stacktrace").filter(self.pl.col("stacktrace").is_not_null())
        return sums(self.grouped(frames, "stacktrace"))

    def locations(self):
        return [row[-2:] for row in self.grouped(self.t, "sample_type", "stacktrace")]

    def empty_texts(self, column):
        return self.t.filter(self.pl.col(column).cast(self.pl.String) == "").height


class PyArrow:
    def __init__(self, path):
        import pyarrow
        import pyarrow.parquet

        self.pa = pyarrow
        if path.endswith(".parquet"):
            self.t = pyarrow.parquet.read_table(path)
        else:
            self.t = pyarrow.ipc.open_stream(path).read_all()

    def columns(self):
        return self.t.column_names

    def rows(self):
        return self.t.num_rows

    def column(self, name):
        """A column without dictionaries and run ends, which group_by does not support."""
        return self.pa.chunked_array([plain(self.pa, c) for c in self.t[name].chunks], plain_type(self.pa, self.t[name].type))

    def grouped(self, **columns):
        table = self.pa.table({**columns, "value": self.column("value")})
        found = table.group_by(list(columns)).aggregate([([], "count_all"), ("value", "sum")])
        return list(zip(*(found[name].to_pylist() for name in [*columns, "count_all", "value_sum"])))

    def sums(self, *columns):
        return sums(self.grouped(**{c: self.column(c) for c in columns}))

    def times(self):
        return sums(self.grouped(time=self.column("timestamp").cast("int64")))

    def stacks(self):
        joined = self.pa.compute.binary_join(self.column("stacktrace"), "\n")
        return sums(self.grouped(type=self.column("sample_type"), stack=joined))

    def functions(self):
        stacks = self.column("stacktrace")
        rows = self.pa.compute.list_parent_indices(stacks)
        frames = self.pa.table({
            "f": self.pa.compute.list_flatten(stacks), "value": self.pa.compute.take(self.column("value"), rows),
        })
        found = frames.group_by("f").aggregate([([], "count_all"), ("value", "sum")])
        return sums(zip(*(found[name].to_pylist() for name in ["f", "count_all", "value_sum"])))

    def locations(self):
        ids = self.pa.array([b"".join(stack) for stack in self.column("stacktrace").to_pylist()])
        return [row[-2:] for row in self.grouped(type=self.column("sample_type"), stack=ids)]

    def empty_texts(self, column):
        return self.pa.compute.sum(self.pa.compute.equal(self.column(column), "")).as_py() or 0


def plain_type(pa, kind):
    """The type of the result of plain."""
    while pa.types.is_run_end_encoded(kind) or pa.types.is_dictionary(kind):
        kind = kind.value_type
    return kind


def plain(pa, array):
    """An array without dictionaries and run ends."""
    if pa.types.is_run_end_encoded(array.type):
        rows = numpy.arange(array.offset, array.offset + len(array))
        at = numpy.searchsorted(array.run_ends.to_numpy(), rows, side="right")
        return plain(pa, array.values).take(pa.array(at))
    if pa.types.is_dictionary(array.type):
        return array.dictionary.take(array.indices)
    return array


ENGINES = {"pyarrow": PyArrow, "polars": Polars, "duckdb": DuckDB, "datafusion": DataFusion, "chdb": ClickHouse}
