package index

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchVersion returns a version with n entries whose bounds look like keys of
// profiles: a time bucket, a series, a stack.
func benchVersion(n int) (*Version[*int], []string) {
	rng := rand.New(rand.NewPCG(1, 2))
	edit := New[*int]().Edit()
	bounds := make([]string, n)
	for i := range bounds {
		key := binary.BigEndian.AppendUint64(nil, uint64(i/50))
		key = fmt.Appendf(key, "cpu\x00\x00nanoseconds\x00\x00pod-%06d\x00\x00", rng.IntN(1e6))
		bounds[i] = string(binary.BigEndian.AppendUint32(key, rng.Uint32()))
		edit.Set(bounds[i], new(int))
	}
	return edit.Done(), bounds
}

func sizes(b *testing.B, run func(b *testing.B, v *Version[*int], bounds []string)) {
	for _, n := range []int{200, 2000, 20000} {
		b.Run(fmt.Sprintf("entries=%d", n), func(b *testing.B) {
			v, bounds := benchVersion(n)
			b.ReportAllocs()
			run(b, v, bounds)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/call")
		})
	}
}

func BenchmarkFloor(b *testing.B) {
	sizes(b, func(b *testing.B, v *Version[*int], bounds []string) {
		i := 0
		for b.Loop() {
			v.Floor(bounds[i*7919%len(bounds)])
			i++
		}
	})
}

// BenchmarkEditSet measures a commit that replaces one granule.
func BenchmarkEditSet(b *testing.B) {
	sizes(b, func(b *testing.B, v *Version[*int], bounds []string) {
		value := new(int)
		i := 0
		for b.Loop() {
			edit := v.Edit()
			edit.Set(bounds[i*7919%len(bounds)], value)
			v = edit.Done()
			i++
		}
	})
}

// BenchmarkEditAmend measures a commit that adds to one of n granules.
func BenchmarkEditAmend(b *testing.B) {
	sizes(b, func(b *testing.B, v *Version[*int], bounds []string) {
		value := new(int)
		i := 0
		for b.Loop() {
			edit := v.Edit()
			edit.Amend(bounds[i*7919%len(bounds)], value)
			v = edit.Done()
			i++
		}
	})
}
