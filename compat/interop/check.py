"""Compares the answers of five engines about exported rows with the oracle.

    check.py DIR                runs all engines, or those of the variable ENGINES, each in a process; prints tables
    check.py ENGINE FILE...     runs one engine; prints JSON

DIR has a folder for each set of profiles, made by the script beside this file. It holds
the oracle's answers and the files of granary export.
"""

import glob
import json
import os
import subprocess
import sys
import time

import engines

# Known failures of engines: the result and its reason. Each is still tried, and a success
# is reported.
KNOWN = {
    ("polars", "native"): ("refused", "no run-end encoding"),
    ("chdb", "native"): ("refused", "no run-end encoding"),
    ("duckdb", "native"): ("WRONG", "takes codes of dictionaries in runs for values"),
    ("polars", "dictionary", "wide"): ("crashed", "10,000 dictionaries, whoever writes them"),
    ("pyarrow", "dictionary", "pandas"): ("refused", "no pandas of records with dictionaries of lists of their own"),
}
CHOSEN = [e for e in engines.ENGINES if e in os.environ.get("ENGINES", " ".join(engines.ENGINES)).split()]
AGREE = min(4, len(CHOSEN))  # of five engines, in every check
SLOW = 5  # seconds; slower checks are reported
MARK = "answers "  # prefix of result lines, since engines print lines too


def what(path):
    """Splits a path into the set of profiles, the kind of stacks, and the form."""
    stem, _ = os.path.splitext(os.path.basename(path))
    stacks, _, form = stem.partition("-")
    return os.path.basename(os.path.dirname(path)), stacks, form or "parquet"


class Oracle:
    """The oracle's answers about one set of profiles."""

    def __init__(self, directory):
        with open(os.path.join(directory, "oracle.json")) as f:
            self.said = json.load(f)
        # The demo ends at the current time, so times are relative to its first.
        self.relative = os.path.exists(os.path.join(directory, "relative-times"))

    def of(self, name):
        return {k: (s["Rows"], s["Value"]) for k, s in self.said[name].items()}

    def rows(self):
        return self.said["rows"]

    def label(self, column):
        """Sums by label. The rest of all rows is without it, under the key None."""
        found = {k: (s["Rows"], s["Value"]) for k, s in self.said["labels"][column].items()}
        types = self.of("types").values()
        rest = self.rows() - sum(n for n, _ in found.values())
        if rest:
            found[None] = (rest, sum(v for _, v in types) - sum(v for _, v in found.values()))
        return found

    def times(self, times):
        if not self.relative:
            return times
        first = min(map(int, times))
        return {str(int(t) - first): s for t, s in times.items()}


def same(got, want):
    if got == want:
        return
    if isinstance(want, dict):
        for of in [*want, *got]:
            if got.get(of) != want.get(of):
                raise AssertionError(f"{of!r}: {got.get(of)}, want {want.get(of)}")
    raise AssertionError(f"{str(got)[:200]}, want {str(want)[:200]}")


def check_labels(table, oracle):
    labels = [c for c in table.columns() if c.startswith(("labels.", "pprof_labels.", "pprof_num_labels."))]
    same(sorted(labels), sorted(oracle.said["labels"]))
    for column in labels if len(labels) < 100 else [labels[1], labels[-1]]:
        same(table.sums(column), oracle.label(column))


def check_nulls(table, oracle):
    """An absent label is null, never an empty text; mandatory columns have no nulls."""
    texts = [c for c in table.columns() if c.startswith(("labels.", "pprof_labels."))]
    for column in texts:
        same(table.empty_texts(column), 0)
    same(None in table.sums("sample_type"), False)
    same(None in table.sums("trace_id"), True)


CHECKS = {
    "rows": lambda t, o: same(t.rows(), o.rows()),
    "types": lambda t, o: same(t.sums("sample_type", "sample_unit"), o.of("types")),
    "labels": check_labels,
    "nulls": check_nulls,
    "times": lambda t, o: same(o.times(t.times()), o.times(o.of("times"))),
    "stacks": lambda t, o: same(t.stacks(), o.of("stacks")),
    "functions": lambda t, o: same(t.functions(), o.of("functions")),
}
CHECKS_OF_IDS = {
    "rows": CHECKS["rows"],
    "stacks": lambda t, o: same(sorted(t.locations()), sorted((s["Rows"], s["Value"]) for s in o.said["locations"])),
}


def check_empty(full):
    def check(table, _):
        same(table.columns(), full)
        same(table.rows(), 0)
        same(table.sums("sample_type"), {})

    return check


def check_slices(table, _):
    """Slices that begin and end near the ends of runs equal the slices of the whole."""
    pa = table.pa
    batch = table.t.to_batches()[0]
    runs = [c for c in batch.schema.names if pa.types.is_run_end_encoded(batch.schema.field(c).type)]
    same(len(runs) >= 5, True)
    for name in runs:
        column = batch.column(name)
        whole, ends = expand(column), column.run_ends.to_pylist()
        cuts = {(end + near, length) for end in ends[:20] for near in (-1, 0, 1) for length in (0, 1, 3)}
        for start, length in cuts | {(len(whole) // 3, len(whole) // 3)}:
            cut = column.slice(start, length)
            cut.validate(full=True)
            want = whole[start : start + length]
            same(cut.to_pylist(), want)
            same(engines.plain(pa, cut).to_pylist(), want)
            same(over_ipc(pa, pa.record_batch([cut], [name])).column(0).to_pylist(), want)


def check_pandas(table, oracle):
    """pandas has the same rows, and stacks with accessible functions."""
    rows = table.t.to_pandas()
    same(str(rows.dtypes["timestamp"]), "datetime64[ns]")
    kind = rows["sample_type"].astype(str) + "\n" + rows["sample_unit"].astype(str)
    found = rows.groupby(kind)["value"].agg(["size", "sum"])
    same({k: (int(n), int(v)) for k, n, v in found.itertuples()}, oracle.of("types"))
    leaves = {}
    for stack, (n, v) in oracle.of("stacks").items():
        leaf = stack.split("\n")[1]
        was = leaves.get(leaf, (0, 0))
        leaves[leaf] = (was[0] + n, was[1] + v)
    found = rows.groupby(rows["stacktrace"].str[0].fillna(""))["value"].agg(["size", "sum"])
    same({k: (int(n), int(v)) for k, n, v in found.itertuples()}, leaves)


def expand(column):
    """The values of a whole run-end encoded column, one a row."""
    values, found, start = column.values.to_pylist(), [], 0
    for end, value in zip(column.run_ends.to_pylist(), values):
        found += [value] * (end - start)
        start = end
    return found


def over_ipc(pa, batch):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as out:
        out.write_batch(batch)
    return pa.ipc.open_stream(sink.getvalue()).read_next_batch()


def checks_of(engine, path):
    """The checks of a file."""
    data, stacks, form = what(path)
    if stacks == "ids":
        return CHECKS_OF_IDS
    if data == "wide":
        return {name: CHECKS[name] for name in ("types", "labels")}
    if stacks == "empty":
        return {"empty": check_empty(engines.PyArrow(path.replace("empty", "names")).columns())}
    if engine == "pyarrow":
        own = {"slices": check_slices} if form == "native" else {"pandas": check_pandas}
        return {**CHECKS, **own}
    return CHECKS


def ask(engine, path):
    """The results of one engine for a file: check -> "ok", or the fault."""
    checks = checks_of(engine, path)
    try:
        table = engines.ENGINES[engine](path)
        table.rows()
    except BaseException as e:  # a polars panic is not an Exception
        return {name: "refused: " + said(e) for name in checks}
    oracle = Oracle(os.path.dirname(path))
    results = {}
    for name, check in checks.items():
        began = time.monotonic()
        try:
            check(table, oracle)
            results[name] = "ok"
        except AssertionError as e:
            results[name] = "WRONG: " + said(e)
        except BaseException as e:
            results[name] = "refused: " + said(e)
        if (spent := time.monotonic() - began) > SLOW:
            print(f"{engine}, {', '.join(what(path))}, {name}: {spent:.1f} s", file=sys.stderr)
    return results


def said(e):
    return " ".join(str(e).split())[:200] or type(e).__name__


def known_of(engine, data, form, name):
    """The known failure of an engine with a form, a set of profiles or a check."""
    return KNOWN.get((engine, form)) or KNOWN.get((engine, form, data)) or KNOWN.get((engine, form, name))


def judge(engine, data, form, name, result):
    """The printed form of a result, and whether it is a failure."""
    kind = result.split(":")[0]
    known = known_of(engine, data, form, name)
    if kind == "ok":
        return "ok", False
    if known and (kind == known[0] or known[0] == "WRONG"):
        return "(" + kind.lower() + ")", False
    return kind, True


def ask_all(engine, paths):
    """Runs an engine in another process, and again for the rest after a crash."""
    results = {}
    while left := [p for p in paths if p not in results]:
        command = [sys.executable, os.path.abspath(__file__), engine, *left]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "RUST_BACKTRACE": "0"})
        for line in done.stdout.splitlines():
            if line.startswith(MARK):
                path, answers = json.loads(line[len(MARK) :])
                results[path] = answers
        if done.returncode:
            died = next(p for p in left if p not in results)
            results[died] = {name: f"crashed: {done.returncode}" for name in checks_of(engine, died)}
        slow = [line for line in done.stderr.splitlines() if line.startswith(engine)]
        print("\n".join(slow), end="\n" if slow else "")
    return results


def main(directory):
    paths = sorted(glob.glob(os.path.join(directory, "*", "*.parquet")) + glob.glob(os.path.join(directory, "*", "*.arrows")))
    results = {}
    for engine in CHOSEN:
        began = time.monotonic()
        results[engine] = ask_all(engine, paths)
        print(f"{engine}: {time.monotonic() - began:.0f} s")
    failed, agree = [], {}
    for path in paths:
        data, stacks, form = what(path)
        names = max((results[e][path] for e in results), key=len)
        print(f"\n{data}, {stacks}, {form}")
        print(f"  {'':12}" + "".join(f"{name:>11}" for name in names))
        for engine in CHOSEN:
            found, line = results[engine][path], ""
            for name in names:
                text, bad = judge(engine, data, form, name, found[name]) if name in found else ("-", False)
                line += f"{text:>11}"
                agree.setdefault((data, stacks, name), set()).update([engine] if text == "ok" else [])
                if bad:
                    failed.append(f"{engine}, {data}, {stacks}, {form}, {name}: {found[name]}")
            print(f"  {engine:12}{line}{note(engine, data, form, found)}")
    for of, who in agree.items():
        if len(who) < AGREE and of[2] not in ("slices", "pandas"):
            failed.append(f"only {sorted(who)} agree about {', '.join(of)}")
    print("\n" + ("\n".join(failed) or f"{len(agree)} questions of {len(paths)} files: all agree"))
    return 1 if failed else 0


def note(engine, data, form, found):
    """The reason for a known failure, or a note that it no longer fails."""
    notes = []
    for name in found:
        known = known_of(engine, data, form, name)
        if known and found[name] != "ok":
            notes.append(known[1])
        elif known and name == "stacks" or known and name == "pandas":
            notes.append("reads it by now, was: " + known[1])
    return "   " + "; ".join(dict.fromkeys(notes)) if notes else ""


if __name__ == "__main__":
    if sys.argv[1] in engines.ENGINES:
        for path in sys.argv[2:]:
            print(MARK + json.dumps([path, ask(sys.argv[1], path)]), flush=True)
    else:
        sys.exit(main(sys.argv[1]))
