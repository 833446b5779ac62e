package chrome

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/granarydb/granary/trace"
)

// generated returns a trace as Chromium writes it: nested slices of 8 threads with arguments, in the order of their ends.
func generated(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"traceEvents":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		dur := 40
		at := 1_000_000_000 + (i/4)*50
		if i%4 < 3 {
			dur, at = 10, at+12*(i%4)
		}
		fmt.Fprintf(&b, `{"args":{"src_file":"../../base/message_loop/message_pump.cc","src_func":"Run"},"cat":"toplevel","dur":%d,"name":"ThreadControllerImpl::RunTask%d","ph":"X","pid":4211,"tid":%d,"ts":%d.%03d}`+"\n",
			dur, i%200, 4211+(i/1024)%8, at, 0)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

func BenchmarkImport(b *testing.B) {
	const events = 200_000
	data := generated(events)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		_, err := trace.Build(func(to trace.Target) error {
			_, err := Import(b.Context(), bytes.NewReader(data), to)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(events*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkRead(b *testing.B) {
	const events = 200_000
	data := generated(events)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		r := newImporter()
		if err := r.read(b.Context(), newScanner(bytes.NewReader(data))); err != nil || r.events != events {
			b.Fatal(err)
		}
	}
	b.ReportMetric(events*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
