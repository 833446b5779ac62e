package format

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/granarydb/granary/trace"
)

// TestOf knows a recording by its first bytes, and imports it.
func TestOf(t *testing.T) {
	for name, want := range map[string]string{
		"../golang/testdata/small.trace":         "a Go execution trace",
		"../chrome/testdata/node.json":           "a trace in the JSON of Chrome",
		"../chrome/testdata/torch.json":          "a trace in the JSON of Chrome",
		"../../profile/format/testdata/busy.jfr": "a recording of Java's Flight Recorder (JFR)",
		"../perfetto/testdata/made.pftrace":      "a trace in the protobuf of Perfetto",
		"../linux/testdata/lttng.txt":            "a trace of LTTng as text",
		"../linux/testdata/perf.txt":             "a trace of perf or ftrace as text",
		"../linux/testdata/ftrace.txt":           "a trace of perf or ftrace as text",
	} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, is := Of(data)
		if !is || f.Name != want {
			t.Errorf("%s is %q, want %q", name, f.Name, want)
			continue
		}
		r, err := trace.Build(func(to trace.Target) error {
			_, err := f.Import(context.Background(), bytes.NewReader(data), to)
			return err
		})
		if err != nil || r.Len() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if f, is := Of([]byte(`{"resourceSpans":[`)); !is || f.Name != "spans of OpenTelemetry (OTLP)" {
		t.Errorf("spans are %q", f.Name)
	}
	for _, other := range []string{"", "time,attribute,value\n1,a,b\n", "IHS1", strings.Repeat("go 1.22 ", 1000)} {
		if f, is := Of([]byte(other)); is {
			t.Errorf("%.20q is %s", other, f.Name)
		}
	}
}
