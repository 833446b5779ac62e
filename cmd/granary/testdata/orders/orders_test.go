package orders

import (
	"fmt"
	"testing"
)

func lines() []string {
	var all []string
	for i := range 2000 {
		all = append(all, fmt.Sprintf("customer-%02d,%d,goods of the kind %d", i%20, i%7, i%100))
	}
	return all
}

func BenchmarkReport(b *testing.B) {
	all := lines()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Report(all); err != nil {
			b.Fatal(err)
		}
	}
}
