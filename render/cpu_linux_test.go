package render

import (
	"syscall"
	"testing"
)

// timeCPU reports the processor time of an operation, which other work on the machine changes less than the time. It
// returns a function that ends the measurement.
func timeCPU(b *testing.B) func() {
	now := func() float64 {
		var r syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
			b.Fatal(err)
		}
		return float64(r.Utime.Sec+r.Stime.Sec)*1e6 + float64(r.Utime.Usec+r.Stime.Usec)
	}
	began := now()
	return func() { b.ReportMetric((now()-began)/float64(b.N), "cpu-us/op") }
}
