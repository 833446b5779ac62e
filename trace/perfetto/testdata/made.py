#!/usr/bin/env python3
"""Writes a trace with the message classes that Perfetto publishes (pip install perfetto): made.py > made.pftrace

A process has two threads with slices, a counter, an asynchronous track, and what a CPU ran, in compressed packets in part."""
import random
import sys
import zlib

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

random.seed(11)
PID, BOOT, WALL = 4000, 1_000_000_000, 1_790_000_000_000_000_000
trace = pb.Trace()


def add(sequence=1, into=trace):
    packet = into.packet.add()
    packet.trusted_packet_sequence_id = sequence
    return packet


snapshot = add().clock_snapshot
for clock, at in ((6, BOOT), (3, BOOT - 500), (1, WALL)):
    snapshot.clocks.add(clock_id=clock, timestamp=at)
process = add().track_descriptor
process.uuid, process.process.pid, process.process.process_name = 1, PID, "made"
for uuid, name in ((10, "main"), (11, "worker")):
    d = add().track_descriptor
    d.uuid, d.parent_uuid, d.thread.pid, d.thread.tid, d.thread.thread_name = uuid, 1, PID, PID + uuid - 10, name
heap = add().track_descriptor
heap.uuid, heap.parent_uuid, heap.name, heap.counter.unit_multiplier = 20, 1, "heap", 1024
download = add().track_descriptor
download.uuid, download.parent_uuid, download.name = 30, 1, "downloads"

names = ["load", "parse", "layout", "draw", "wait"]


def slices(track, sequence, into):
    first = add(sequence, into)
    first.sequence_flags = 1
    first.trace_packet_defaults.timestamp_clock_id = 64
    first.trace_packet_defaults.track_event_defaults.track_uuid = track
    for i, name in enumerate(names):
        first.interned_data.event_names.add(iid=i + 1, name=name)
    first.clock_snapshot.clocks.add(clock_id=3, timestamp=BOOT - 500)
    first.clock_snapshot.clocks.add(clock_id=64, timestamp=(BOOT - 500) // 1000, is_incremental=True, unit_multiplier_ns=1000)
    depth = 0
    for _ in range(120):
        packet = add(sequence, into)
        packet.sequence_flags, packet.timestamp = 2, random.randrange(0, 400)
        if depth and random.random() < 0.5:
            packet.track_event.type = pb.TrackEvent.TYPE_SLICE_END
            depth -= 1
        else:
            packet.track_event.type = pb.TrackEvent.TYPE_SLICE_BEGIN
            packet.track_event.name_iid = random.randrange(1, 6)
            depth += 1
        if random.random() < 0.2:
            counter = add(sequence, into)
            counter.timestamp, counter.timestamp_clock_id = BOOT + random.randrange(20_000_000), 6
            counter.track_event.type, counter.track_event.track_uuid = pb.TrackEvent.TYPE_COUNTER, 20
            counter.track_event.counter_value = random.randrange(1000)


slices(10, 2, trace)
inner = pb.Trace()
slices(11, 3, inner)
add().compressed_packets = zlib.compress(inner.SerializeToString())
for i in range(12):
    for kind, at in ((pb.TrackEvent.TYPE_SLICE_BEGIN, i * 900_000), (pb.TrackEvent.TYPE_SLICE_END, i * 900_000 + 800_000)):
        packet = add()
        packet.timestamp, packet.timestamp_clock_id = BOOT + at, 6
        packet.track_event.type, packet.track_event.track_uuid, packet.track_event.name = kind, 30, "file %d" % i
for packet in (add(),):
    packet.ftrace_events.cpu = 0
    c = packet.ftrace_events.compact_sched
    c.intern_table.extend(["main", "worker", "swapper/0"])
    for i in range(60):
        c.switch_timestamp.append(BOOT if i == 0 else random.randrange(1000, 600_000))
        c.switch_prev_state.append(random.choice([0, 1, 2]))
        who = random.randrange(3)
        c.switch_next_pid.append([PID, PID + 1, 0][who])
        c.switch_next_prio.append(120)
        c.switch_next_comm_index.append(who)
sys.stdout.buffer.write(trace.SerializeToString())
