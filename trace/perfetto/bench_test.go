package perfetto

import (
	"bytes"
	"testing"

	"github.com/granarydb/granary/trace"
)

// BenchmarkImport reads slices with interned names, as Perfetto's library writes them.
func BenchmarkImport(b *testing.B) {
	const events = 200_000
	data := all(thread8, packet(f(13, 1), f(59, f(11, f(11, 80))), f(12, many(200, func(i int) []byte { return f(2, all(f(1, i+1), f(2, "Scheduler::RunTask"+string(rune('a'+i))))) }))),
		many(events/2, func(i int) []byte {
			return all(packet(f(8, 1000*i), f(13, 2), f(11, all(f(9, 1), f(10, i%200+1), f(3, []int{1})))), packet(f(8, 1000*i+700), f(13, 2), f(11, f(9, 2))))
		}))
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
