#!/usr/bin/env python3
"""Makes spans with OpenTelemetry's SDK, and writes them as OTLP: spans.py FOLDER makes spans.pb and spans.json there."""
import base64
import json
import sys
import threading
import time

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult


class Collected(SpanExporter):
    spans = []

    def export(self, spans):
        self.spans += spans
        return SpanExportResult.SUCCESS


def tracer(service):
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(SimpleSpanProcessor(Collected()))
    return provider.get_tracer("compat")


shop, db = tracer("shop"), tracer("db")


def request():
    with shop.start_as_current_span("GET /cart"):
        with shop.start_as_current_span("render") as render:
            render.add_event("cache miss")
            with db.start_as_current_span("SELECT"):
                time.sleep(0.001)
        with shop.start_as_current_span("send"):
            time.sleep(0.0005)


clients = [threading.Thread(target=lambda: [request() for _ in range(10)]) for _ in range(4)]
for client in clients:
    client.start()
for client in clients:
    client.join()
message = encode_spans(Collected.spans)
with open(sys.argv[1] + "/spans.pb", "wb") as out:
    out.write(message.SerializeToString())


def with_digits(value):
    """Writes ids as digits, as OTLP does, where protobuf's JSON has base64."""
    if isinstance(value, list):
        return [with_digits(v) for v in value]
    if not isinstance(value, dict):
        return value
    ids = ("traceId", "spanId", "parentSpanId")
    return {k: base64.b64decode(v).hex() if k in ids else with_digits(v) for k, v in value.items()}


with open(sys.argv[1] + "/spans.json", "w") as out:
    json.dump(with_digits(MessageToDict(message)), out)
