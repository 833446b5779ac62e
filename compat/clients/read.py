"""Reads /metrics with Prometheus' parser and /arrow with pyarrow, and prints what the test compares."""

import json
import sys
import urllib.request

import pyarrow as pa
from prometheus_client.parser import text_string_to_metric_families


def get(path):
    return urllib.request.urlopen(sys.argv[1] + path)


metrics = {}
for family in text_string_to_metric_families(get("/metrics").read().decode()):
    for sample in family.samples:
        if not sample.labels:
            metrics[sample.name] = sample.value
sums = {}
for form in ("native", "dictionary", "plain"):
    table = pa.ipc.open_stream(get("/arrow?form=" + form)).read_all()
    types = table["sample_type"].combine_chunks()
    values = table["value"].to_pylist()
    by_type = {}
    for i, name in enumerate(types.to_pylist()):
        by_type[name] = by_type.get(name, 0) + values[i]
    sums[form] = {"rows": table.num_rows, "sums": by_type}
print(json.dumps({"metrics": metrics, "arrow": sums}))
