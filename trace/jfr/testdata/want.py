#!/usr/bin/env python3
"""Prints what the JDK's own reader finds in a recording: want.py FILE.jfr.gz. A line is a thread or GC, start and duration in
nanoseconds, and the name of the event. It needs the command jfr of a JDK."""
import datetime
import gzip
import json
import re
import subprocess
import sys
import tempfile

EVENTS = "ThreadPark,ThreadSleep,JavaMonitorEnter,JavaMonitorWait,GarbageCollection,GCPhasePause"
with tempfile.NamedTemporaryFile(suffix=".jfr") as file:
    file.write(gzip.open(sys.argv[1]).read())
    file.flush()
    out = subprocess.run(["jfr", "print", "--json", "--stack-depth", "0", "--events", EVENTS, file.name], check=True, capture_output=True).stdout
lines = []
for event in json.loads(out)["recording"]["events"]:
    v = event["values"]
    text, fraction, zone = re.fullmatch(r"(.*?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", v["startTime"]).groups()
    at = datetime.datetime.fromisoformat(text + zone.replace("Z", "+00:00"))
    start = int(at.timestamp()) * 10**9 + int((fraction or "0").ljust(9, "0"))
    minutes, seconds = re.fullmatch(r"PT(?:(\d+)M)?(?:([0-9.]+)S)?", v["duration"]).groups()
    whole, _, part = (seconds or "0").partition(".")
    duration = (int(minutes or 0) * 60 + int(whole)) * 10**9 + int(part.ljust(9, "0"))
    thread = v.get("eventThread") or {}
    of = "GC" if event["type"].startswith("jdk.G") else "%s %d" % (thread["javaName"], thread["javaThreadId"])
    lines.append("%s\t%d\t%d\t%s" % (of, start, duration, event["type"]))
print("\n".join(sorted(lines)))
