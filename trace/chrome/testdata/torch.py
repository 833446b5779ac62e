#!/usr/bin/env python3
"""Writes torch.json, a trace in the shape of torch.profiler's export: python3 torch.py > torch.json

Operators of the CPU nest, kernels of two streams overlap the host, times have three decimals, and baseTimeNanoseconds
places them."""
import json
import random

random.seed(7)
HOST, DEVICE = 4242, 0
events = []


def micros(nanos):
    return nanos / 1000


def operator(name, start, dur, depth):
    events.append({"ph": "X", "cat": "cpu_op", "name": name, "pid": HOST, "tid": HOST, "ts": micros(start), "dur": micros(dur),
                   "args": {"External id": len(events), "Concrete Inputs": ["", "[32, 128]"], "Fwd thread id": 0}})
    if depth == 0:
        return
    at = start + random.randrange(1, 50)
    for inner in ("aten::linear", "aten::addmm", "aten::copy_"):
        part = random.randrange(dur // 8, dur // 4)
        if at + part > start + dur:
            break
        operator(inner, at, part, depth - 1)
        at += part if random.random() < 0.5 else part + 13  # half of them touch


def kernels(stream, start):
    at = start
    for i in range(20):
        dur = random.randrange(1501, 9007)
        events.append({"ph": "X", "cat": "kernel", "name": "void gemm_%d<float, true>(float*)" % (i % 5), "pid": DEVICE, "tid": stream,
                       "ts": micros(at), "dur": micros(dur), "args": {"stream": stream, "grid": [4, 1, 1]}})
        events.append({"ph": "f", "bp": "e", "cat": "ac2g", "name": "ac2g", "id": len(events), "pid": DEVICE, "tid": stream, "ts": micros(at)})
        at += dur if i % 3 else dur - 400  # some overlap, as Kineto's times do


for pid, name in ((HOST, "python"), (DEVICE, "python")):
    events.append({"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "ts": 0, "args": {"name": name}})
    events.append({"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "ts": 0, "args": {"sort_index": pid}})
events.append({"ph": "M", "name": "thread_name", "pid": HOST, "tid": HOST, "ts": 0, "args": {"name": "thread 4242 (python)"}})
for step in range(4):
    base = 5_000_000_017 + step * 300_000
    events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % step, "pid": HOST, "tid": HOST,
                   "ts": micros(base), "dur": micros(290_003), "args": {}})
    operator("nn.Module: Net_0", base + 7, 250_011, 3)
kernels(7, 5_000_010_000)
kernels(20, 5_000_014_000)
events.append({"ph": "i", "s": "g", "name": "Iteration Start: PyTorch Profiler", "pid": "Traces", "tid": "Trace PyTorch Profiler", "ts": micros(5_000_000_000)})
print(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "none"}], "displayTimeUnit": "ms",
                  "baseTimeNanoseconds": 1_760_000_000_000_000_000, "traceEvents": events, "traceName": "torch.json"}))
