#!/usr/bin/env python3
"""Prints the slices of a trace, one a line: thread or track, start, end (exclusive), name. oracle.py FILE

It reads Perfetto's protobuf with the message classes that Perfetto publishes, and Chrome's JSON with exact decimals. It
keeps all in memory, and looks at all snapshots of clocks for each event."""
import decimal
import json
import sys
import zlib

NOTHING = object()


class Slices:
    """Pairs begins with ends, track by track."""

    def __init__(self):
        self.events, self.done = [], []

    def add(self, time, kind, track, name):
        self.events.append((time, len(self.events), kind, track, name))

    def all(self):
        last = max([t - 1 if kind == "E" else t for t, _, kind, _, _ in self.events] + [e - 1 for _, _, e, _ in self.done])
        begun = {}
        for t, _, kind, track, name in sorted(self.events, key=lambda e: e[:2]):
            stack = begun.setdefault((track, kind == "S"), [])
            if kind == "S" and stack:
                self.end(track, stack.pop(), t)
            if kind == "B" or kind == "S" and name:
                stack.append((t, name))
            if kind != "E":
                continue
            at = [i for i, (_, n) in enumerate(stack) if name is NOTHING or n == name]
            if at:
                self.end(track, stack.pop(at[-1]), t)
        for (track, _), stack in begun.items():
            for b in stack:
                self.end(track, b, last + 1)
        return self.done

    def end(self, track, begin, t):
        self.done.append((track, begin[0], max(t, begin[0] + 1), begin[1]))


def of_json(data):
    events = json.loads(data, parse_float=decimal.Decimal)
    if isinstance(events, dict):
        events = events["traceEvents"]
    s = Slices()
    for e in events:
        track = "thread %s %s" % (e.get("pid", 0), e.get("tid", 0))
        if e["ph"] == "M":
            continue
        t = decimal.Decimal(e["ts"])
        start = int(t * 1000 // 1)
        name = e.get("name") or "unnamed"
        if e["ph"] == "X":
            s.done.append((track, start, max(int((t + e["dur"]) * 1000 // 1), start + 1), name))
        elif e["ph"] in "BE":
            s.add(start, e["ph"], track, (e.get("name") or NOTHING) if e["ph"] == "E" else name)
        else:
            s.add(start - (e["ph"] in "eF"), "other", track, name)
    return s.all()


class Clocks:
    def __init__(self):
        self.snapshots, self.last, self.main, self.units = [], {}, 0, {}

    @staticmethod
    def key(sequence, clock):
        return (sequence, clock) if 64 <= clock <= 127 else (0, clock)

    def snapshot(self, sequence, message):
        self.main = self.main or message.primary_trace_clock
        at = {}
        for c in message.clocks:
            key = self.key(sequence, c.clock_id)
            unit = c.unit_multiplier_ns or 1
            self.units[key] = unit, c.is_incremental
            at[key] = self.last[key] = c.timestamp * unit
        self.snapshots.append(at)

    def convert(self, t, a, b):
        """Returns a time of clock b by the latest snapshot before t in clock a, or the first one."""
        found = None
        for at in self.snapshots:
            if a in at and b in at and (found is None or at[a] <= t):
                found = at
        return None if found is None else t - found[a] + found[b]

    def time(self, sequence, clock, t):
        main = (0, self.main or 6)
        key = self.key(sequence, clock) if clock else main
        unit, is_delta = self.units.get(key, (1, False))
        t *= unit
        if is_delta:
            t = self.last[key] = t + self.last[key]
        if key == main:
            return t
        direct = self.convert(t, key, main)
        if direct is not None:
            return direct
        for way in ((0, 3), (0, 6)):
            between = self.convert(t, key, way)
            if between is not None:
                return self.convert(between, way, main)
        return None


def packets(data, trace_class):
    for packet in trace_class.FromString(data).packet:
        if packet.HasField("compressed_packets"):
            yield from packets(zlib.decompress(packet.compressed_packets), trace_class)
        else:
            yield packet


def of_perfetto(data):
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

    s, clocks, sequences, tracks = Slices(), Clocks(), {}, {}
    for p in packets(data, pb.Trace):
        seq = sequences.setdefault(p.trusted_packet_sequence_id, {"valid": False, "names": {}, "defaults": pb.TracePacketDefaults()})
        if p.incremental_state_cleared or p.sequence_flags & 1:
            seq.update(valid=True, names={}, defaults=pb.TracePacketDefaults())
        elif p.previous_packet_dropped:
            seq["valid"] = False
        if p.HasField("trace_packet_defaults"):
            seq["defaults"] = p.trace_packet_defaults
        if seq["valid"]:
            seq["names"].update((n.iid, n.name) for n in p.interned_data.event_names)
        if p.HasField("clock_snapshot"):
            clocks.snapshot(p.trusted_packet_sequence_id, p.clock_snapshot)
        if p.HasField("track_descriptor"):
            tracks.setdefault(p.track_descriptor.uuid, pb.TrackDescriptor()).MergeFrom(p.track_descriptor)
        if not p.HasField("track_event") or p.sequence_flags & 2 and not seq["valid"]:
            continue
        e, defaults = p.track_event, seq["defaults"]
        t = clocks.time(p.trusted_packet_sequence_id, p.timestamp_clock_id or defaults.timestamp_clock_id, p.timestamp)
        if t is None:
            continue
        uuid = e.track_uuid if e.HasField("track_uuid") else defaults.track_event_defaults.track_uuid
        name = e.name or seq["names"].get(e.name_iid, "")
        if e.type == 1:
            s.add(t, "B", uuid, name or "unnamed")
        elif e.type == 2:
            s.add(t, "E", uuid, NOTHING)
        elif e.type == 5:
            s.add(t, "S", uuid, name)
        else:
            s.add(t, "other", uuid, name)
    return [(label(tracks.get(uuid)), *rest) for uuid, *rest in s.all()]


def label(d):
    if d is None:
        return "track"
    if d.HasField("thread"):
        return "thread %d %d" % (d.thread.pid, d.thread.tid)
    if d.HasField("process"):
        return "process %d" % d.process.pid
    return "track"


def of_spans(file):
    """Reads OTLP with OpenTelemetry's message classes, also for JSON, which spans.py writes of the same spans."""
    from opentelemetry.proto.trace.v1 import trace_pb2

    with open(file.replace(".json", ".pb"), "rb") as f:
        for resource in trace_pb2.TracesData.FromString(f.read()).resource_spans:
            name = [a.value.string_value for a in resource.resource.attributes if a.key == "service.name"][0]
            for scope in resource.scope_spans:
                for s in scope.spans:
                    yield "service " + name, s.start_time_unix_nano, s.end_time_unix_nano, s.name


with open(sys.argv[1], "rb") as f:
    content = f.read()
if "spans." in sys.argv[1]:
    found = of_spans(sys.argv[1])
elif content.lstrip()[:1] in (b"[", b"{"):
    found = of_json(content)
else:
    found = of_perfetto(content)
for line in sorted("%s\t%d\t%d\t%s" % one for one in found):
    print(line)
