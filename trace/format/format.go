package format

import (
	"context"
	"io"

	"github.com/granarydb/granary/trace"
	"github.com/granarydb/granary/trace/chrome"
	"github.com/granarydb/granary/trace/golang"
	"github.com/granarydb/granary/trace/jfr"
	"github.com/granarydb/granary/trace/linux"
	"github.com/granarydb/granary/trace/perfetto"
	"github.com/granarydb/granary/trace/spans"
)

// Format is a format of recordings.
type Format struct {
	// Name is the name in sentences, such as "a Go execution trace".
	Name string
	// Import writes a whole recording into a target and closes its history. After an error the target has the
	// committed states, and may be in a transaction.
	Import func(ctx context.Context, r io.Reader, to trace.Target) (trace.Outcome, error)

	// HasProfiles means that recordings have profiles too, which profile/format reads.
	HasProfiles bool

	is func(head []byte) bool
}

// formats are all, in the order in which they are tried.
var formats = []Format{
	{Name: "a Go execution trace", Import: golang.Import, is: golang.Magic},
	{Name: "a trace in the JSON of Chrome", Import: chrome.Import, is: chrome.Magic},
	{Name: "a trace in the protobuf of Perfetto", Import: perfetto.Import, is: perfetto.Magic},
	{Name: "spans of OpenTelemetry (OTLP)", Import: spans.Import, is: spans.Magic},
	{Name: "a recording of Java's Flight Recorder (JFR)", Import: jfr.Import, is: jfr.Magic, HasProfiles: true},
	{Name: "a trace of LTTng as text", Import: linux.Options{}.Import, is: linux.IsLTTng},
	{Name: "a trace of perf or ftrace as text", Import: linux.Options{}.Import, is: linux.IsFtrace},
}

// PeekBytes is the number of bytes at the start of a recording that Of needs at most.
const PeekBytes = 4 << 10

// Of returns the format of a recording by its first bytes, decompressed, and whether there is one.
func Of(head []byte) (Format, bool) {
	head = head[:min(len(head), PeekBytes)]
	for _, f := range formats {
		if f.is(head) {
			return f, true
		}
	}
	return Format{}, false
}
