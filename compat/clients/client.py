"""Profiles itself for two seconds of CPU time with Pyroscope's SDK and pushes to the server of the argument."""

import sys
import time

import pyroscope


def spin(until):
    x = 0
    while time.process_time() < until:
        x += sum(range(1000))
    return x


pyroscope.configure(
    application_name="pyapp", server_address=sys.argv[1], sample_rate=100, tags={"zone": "a"}
)
with pyroscope.tag_wrapper({"phase": "one"}):
    spin(time.process_time() + 2)
pyroscope.shutdown()
