"""Engines that answer the benchmark's questions over a file of rows.

    peers.py write FILE                     writes Parquet of the Arrow stream on standard input
    peers.py measure ENGINE FILE REPEAT     asks an engine, and prints its figures as JSON

An answer is an Arrow table. Its digest is computed after the clock has stopped, as digest.go has it.
"""

import gc
import hashlib
import json
import os
import resource
import statistics
import sys
import time

import numpy
import pyarrow
import pyarrow.compute as pc
import pyarrow.parquet

ROW_GROUP = 100_000
LONG_CALL = 2.0  # seconds of an answer from which on it is given only twice
TYPES = ["producer", "sample_type", "sample_unit", "period_type", "period_unit", "temporality"]
TYPE = "producer = 'parca_agent' AND sample_type = 'samples' AND sample_unit = 'count' AND period_type = 'cpu' AND period_unit = 'nanoseconds' AND temporality = 'delta'"
LABELS = ["action", "app", "comm", "container", "cpu", "instance", "k8s_app", "namespace", "node", "thread_name"]
QUESTIONS = [f"Q{n}" for n in range(10)]


def write(path):
    """Writes the stream's rows, in row groups of ROW_GROUP rows."""
    stream = pyarrow.ipc.open_stream(sys.stdin.buffer)
    with pyarrow.parquet.ParquetWriter(path, stream.schema, compression="snappy") as out:
        batches, rows = [], 0

        def flush():
            nonlocal batches, rows
            if batches:
                out.write_table(pyarrow.Table.from_batches(batches), row_group_size=ROW_GROUP)
            batches, rows = [], 0

        for batch in stream:
            batches.append(batch)
            rows += batch.num_rows
            if rows >= ROW_GROUP:
                flush()
        flush()


class SQL:
    """The questions in SQL. Subclasses define their dialect, and return Arrow tables."""

    comm = "labels.comm"
    matches = "regexp_matches({comm}, '^comm_0$')"
    second = "date_trunc('second', time_nanos)"
    time = "TIMESTAMPTZ '1970-01-01 00:0{minutes}:{seconds}+00'"
    distinct_labels = "SELECT DISTINCT labels FROM t WHERE {where}"
    unnested = "SELECT unnest(locations) AS location FROM t WHERE {where}"
    mapping_file = "location.mapping_file"

    def range(self, to):
        low = self.time.format(minutes=0, seconds="00")
        high = self.time.format(minutes=to // 60, seconds=f"{to % 60:02}")
        return f"time_nanos >= {low} AND time_nanos <= {high}"

    def text(self, question):
        where = f"{self.range(50 if question == 'Q0' else 250)} AND {TYPE}"
        rows = f"SELECT locations, value, period, time_nanos, {self.comm} AS comm FROM t WHERE {where}"
        sums = f"{self.second} AS bucket, sum(value) AS value, sum(duration) AS duration"
        return {
            "Q0": rows,
            "Q1": rows,
            "Q2": f"{rows} AND {self.comm} = 'comm_0'",
            "Q3": f"{rows} AND {self.matches.format(comm=self.comm)}",
            "Q4": f"SELECT {sums} FROM t WHERE {where} GROUP BY bucket",
            "Q5": f"SELECT {sums}, {self.comm} AS comm FROM t WHERE {where} GROUP BY bucket, {self.comm}",
            "Q6": self.distinct_labels.format(where=where),
            "Q7": f"SELECT DISTINCT {self.comm} AS comm FROM t WHERE {where} AND {self.comm} IS NOT NULL",
            "Q8": f"SELECT DISTINCT {self.mapping_file} AS mapping_file FROM ({self.unnested.format(where=where)}) AS u",
            "Q9": f"SELECT DISTINCT {', '.join(TYPES)} FROM t WHERE {self.range(250)}",
        }[question]

    def ask(self, question):
        return self.query(self.text(question))


class DuckDB(SQL):
    package = "duckdb"
    view = "CREATE VIEW t AS FROM read_parquet('{path}')"

    def load(self, path):
        import duckdb

        self.db = duckdb.connect()
        self.db.execute("SET TimeZone = 'UTC'")
        self.db.execute(self.view.format(path=path))

    def query(self, text):
        return self.db.sql(text).to_arrow_table()


class DuckDBMemory(DuckDB):
    view = "CREATE TABLE t AS FROM read_parquet('{path}')"
    loads = in_memory = True


class DataFusion(SQL):
    package = "datafusion"
    comm = "labels['comm']"
    matches = "{comm} ~ '^comm_0$'"
    time = "arrow_cast('1970-01-01T00:0{minutes}:{seconds}Z', 'Timestamp(Nanosecond, Some(\"UTC\"))')"
    mapping_file = "location['mapping_file']"

    def load(self, path):
        import datafusion

        self.db = datafusion.SessionContext()
        self.db.register_parquet("t", path)

    def query(self, text):
        return self.db.sql(text).to_arrow_table()


class ClickHouse(SQL):
    package = "chdb"
    matches = "match({comm}, '^comm_0$')"
    second = "toStartOfSecond(time_nanos)"
    time = "toDateTime64('1970-01-01 00:0{minutes}:{seconds}', 9, 'UTC')"
    unnested = "SELECT arrayJoin(locations.mapping_file) AS mapping_file FROM t WHERE {where}"
    mapping_file = "mapping_file"

    def load(self, path):
        import chdb.session

        self.db = chdb.session.Session()
        self.db.query("SET output_format_arrow_string_as_string = 1")
        self.db.query(f"CREATE VIEW t AS SELECT * FROM file('{path}', Parquet)")

    def query(self, text):
        return pyarrow.ipc.open_stream(self.db.query(text, "ArrowStream").bytes()).read_all()


class Polars:
    package = "polars"

    def load(self, path):
        import polars

        self.pl = polars
        self.t = polars.scan_parquet(path)

    def ask(self, question):
        pl, col = self.pl, self.pl.col
        to = pl.lit(50 if question == "Q0" else 250, pl.Int64) * 1_000_000_000
        times = col("time_nanos").is_between(pl.lit(0).cast(col_type := pl.Datetime("ns", "UTC")), to.cast(col_type))
        comm = col("labels").struct.field("comm")
        typed = self.t.filter(
            times, col("producer") == "parca_agent", col("sample_type") == "samples", col("sample_unit") == "count",
            col("period_type") == "cpu", col("period_unit") == "nanoseconds", col("temporality") == "delta",
        )
        rows = [col("locations"), col("value"), col("period"), col("time_nanos"), comm.alias("comm")]
        second = col("time_nanos").dt.truncate("1s").alias("bucket")
        sums = [col("value").sum(), col("duration").sum()]
        answer = {
            "Q0": lambda: typed.select(rows),
            "Q1": lambda: typed.select(rows),
            "Q2": lambda: typed.filter(comm == "comm_0").select(rows),
            "Q3": lambda: typed.filter(comm.str.contains("^comm_0$")).select(rows),
            "Q4": lambda: typed.group_by(second).agg(sums),
            "Q5": lambda: typed.group_by(second, comm.alias("comm")).agg(sums),
            "Q6": lambda: typed.select("labels").unique(),
            "Q7": lambda: typed.select(comm.alias("comm")).filter(col("comm").is_not_null()).unique(),
            "Q8": lambda: typed.select(col("locations").explode().struct.field("mapping_file")).unique(),
            "Q9": lambda: self.t.filter(times).select(TYPES).unique(),
        }[question]()
        return answer.collect(engine="streaming").to_arrow()


class Vortex(DuckDB):
    """A Vortex file, which DuckDB reads as a dataset of Arrow."""

    package = "vortex-data"
    loads = True

    def load(self, path):
        import duckdb
        import vortex

        self.path = path + ".vortex"
        file = pyarrow.parquet.ParquetFile(path)
        vortex.io.write(pyarrow.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(10_000)), self.path)
        self.db = duckdb.connect()
        self.db.execute("SET TimeZone = 'UTC'")
        self.db.register("t", vortex.open(self.path).to_dataset())


ENGINES = {
    "duckdb-memory": DuckDBMemory, "duckdb-parquet": DuckDB, "datafusion": DataFusion, "clickhouse": ClickHouse,
    "polars": Polars, "vortex": Vortex,
}


def plain(column):
    """A column without chunks and dictionaries."""
    if isinstance(column, pyarrow.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pyarrow.ChunkedArray):
            column = pyarrow.concat_arrays(column.chunks) if column.num_chunks else pyarrow.array([], column.type)
    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column


def numbers(column):
    column = plain(column)
    if pyarrow.types.is_timestamp(column.type):
        column = column.cast(pyarrow.timestamp("ns", column.type.tz)).cast("int64")
    kind = "uint64" if pyarrow.types.is_unsigned_integer(column.type) else "int64"
    return column.cast(kind).to_numpy(zero_copy_only=False).astype(numpy.uint64)


def texts(column):
    column = plain(column)
    return column if pyarrow.types.is_large_string(column.type) else column.cast("large_string")


def lines_digest(lines):
    whole = hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()
    return f"{len(lines)}:{whole}"[:24]


class RowsDigest:
    def __init__(self):
        self.counts = {}
        self.texts = {}
        self.sums = dict.fromkeys(["values", "times", "periods", "addresses", "numbers", "starts", "links"], 0)

    def add(self, name, n):
        self.counts[name] = self.counts.get(name, 0) + n

    def sum(self, name, of):
        self.sums[name] = (self.sums[name] + int(numpy.sum(of, dtype=numpy.uint64))) % 2**64

    def text(self, column, of):
        for entry in pc.value_counts(of).to_pylist():
            key = (column, entry["values"] or "")
            self.texts[key] = self.texts.get(key, 0) + entry["counts"]

    def rows(self, table):
        time = numbers(table["time_nanos"])
        self.add("rows", len(time))
        self.sum("times", time)
        self.sum("values", numbers(table["value"]))
        self.sum("periods", numbers(table["period"]))
        self.text(0, texts(table["comm"]))
        lists = plain(table["locations"])
        locations = pc.list_flatten(lists)
        self.add("locations", len(locations))
        time = time[pc.list_parent_indices(lists).to_numpy()]
        address = numbers(pc.struct_field(locations, "address"))
        self.sum("addresses", address)
        self.sum("links", time * address)
        self.text(1, texts(pc.struct_field(locations, "mapping_file")))
        self.text(2, texts(pc.struct_field(locations, "mapping_build_id")))
        lists = plain(pc.struct_field(locations, "lines"))
        lines = pc.list_flatten(lists)
        self.add("lines", len(lines))
        address = address[pc.list_parent_indices(lists).to_numpy()]
        line, start = numbers(pc.struct_field(lines, "line")), numbers(pc.struct_field(lines, "function_start_line"))
        self.sum("numbers", line)
        self.sum("starts", start)
        weight = line + start * numpy.uint64(3)
        for column, name, factor in [(3, "function_name", 5), (4, "function_system_name", 7), (5, "function_filename", 11)]:
            of = texts(pc.struct_field(lines, name))
            self.text(column, of)
            weight += pc.binary_length(of).to_numpy().astype(numpy.uint64) * numpy.uint64(factor)
        self.sum("links", address * weight)

    def __str__(self):
        s = self.sums
        found = lines_digest([f"{column}\t{text}\t{n}" for (column, text), n in self.texts.items()])
        sums = ",".join(str(s[name]) for name in ["values", "times", "periods", "addresses", "numbers", "starts"])
        return " ".join([*(f"{k}={v}" for k, v in self.counts.items()), f"sums={sums}", f"links={s['links']}", f"texts={found}"])


def digest(question, table):
    if question in ("Q0", "Q1", "Q2", "Q3"):
        found = RowsDigest()
        for at in range(0, max(1, table.num_rows), 10_000):
            found.rows(table.slice(at, 10_000))
        return str(found)
    if question in ("Q4", "Q5"):
        columns = [(numbers(table["bucket"]) // numpy.uint64(1_000_000_000)).tolist()]
        if question == "Q5":
            columns.append(texts(table["comm"]).to_pylist())
        columns += [[int(v) for v in table[name].to_pylist()] for name in ("value", "duration")]
    elif question == "Q6":
        sets = plain(table["labels"])
        columns = [texts(pc.struct_field(sets, name)).to_pylist() for name in LABELS]
    else:
        columns = [texts(column).to_pylist() for column in table.columns]
    return lines_digest(["\t".join("" if cell is None else str(cell) for cell in row) for row in zip(*columns)])


def clocked(call):
    """Calls, and returns the result, and the wall and CPU time of all threads in milliseconds."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return result, (time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3


def answer(engine, question, repeat):
    """The cost of a question's answers, and the digest of the first."""
    try:
        table, wall, cpu = clocked(lambda: engine.ask(question))
        found = {"cold_wall_ms": wall, "cold_cpu_ms": cpu, "digest": digest(question, table)}
        del table
        times = []
        for _ in range(1 if wall > LONG_CALL * 1e3 else repeat):
            times.append(clocked(lambda: engine.ask(question))[1:])  # the answer is dropped
        found["wall_ms"], found["cpu_ms"] = (statistics.median(of) for of in zip(*times))
        return found
    except Exception as err:  # an engine that cannot answer has no figures
        return {"error": f"{type(err).__name__}: {err}"[:300]}


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measure(name, path, repeat):
    import importlib.metadata

    kind = ENGINES[name]
    engine, rows = kind(), pyarrow.parquet.read_metadata(path).num_rows
    before = resident()
    _, wall, cpu = clocked(lambda: engine.load(path))
    found = {"engine": name, "version": importlib.metadata.version(kind.package), "answers": {}}
    if getattr(kind, "loads", False):
        found["load_wall_us_per_row"], found["load_cpu_us_per_row"] = wall * 1e3 / rows, cpu * 1e3 / rows
    if getattr(kind, "in_memory", False):
        found["memory_bytes_per_row"], found["memory_of"] = (resident() - before) / rows, "growth of the process's memory"
    else:
        found["disk_bytes_per_row"] = os.path.getsize(getattr(engine, "path", path)) / rows
    for question in QUESTIONS:
        found["answers"][question] = answer(engine, question, repeat)
        print(f"polarsignals: {name}, {question} {found['answers'][question].get('cpu_ms', 0):.0f} ms", file=sys.stderr)
    found["peak_memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2])
    else:
        measure(sys.argv[2], sys.argv[3], int(sys.argv[4]))
