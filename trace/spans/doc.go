// Package spans reads the spans of OpenTelemetry (OTLP) from files: as JSON, one request or one a line, and as protobuf, a request or
// requests behind their sizes of four bytes, as the Collector's file exporter writes both.
//
//	Services/checkout/1             the spans of a service that have no parent in it: the span's name
//	Services/checkout/2             the name of a child of the span above it
//	Services/checkout/lane 2/1      a span beside another
//	Services/checkout/instants      events of spans, for one nanosecond
//
// A service is called by the attribute service.name of its resource. Package internal/tracks has the rules of levels, lanes
// and times.
//
// # Invariants
//
//	S1  A span is below its parent if that is in the file, in the same service, and holds at all its times. Else it has level
//	    1 of a lane. Times alone never make one span the child of another.
//	S2  Times are dates, as they are in the file.
//	S3  A file that breaks off is imported up to its last whole request, or in protobuf its last whole resource, and
//	    Outcome.Lost says so. Bytes without a span are ErrFormat. No bytes panic.
//	S4  Links between spans are counted in the outcome. Attributes of spans, their kind and their status have no effect.
//	S5  Memory is one resource with its spans, and some 250 bytes a span. A resource in JSON has at most 256 MiB.
package spans
