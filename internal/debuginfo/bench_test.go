//go:build unix

package debuginfo

import (
	"debug/elf"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"
)

var benchBinary = flag.String("debuginfo.binary", "", "`FILE` to measure BenchmarkLookup with; by default a Go program")

// used returns the processor's time of this process: others can have most of the machine.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLookup measures what the first names of a binary cost, and the later ones.
func BenchmarkLookup(b *testing.B) {
	path := *benchBinary
	if path == "" {
		path = goProgram(b)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	start := used(b)
	f := open(b, path)
	code := f.elf.code[0]
	if s := f.elf.Section(".text"); s != nil {
		code = elf.ProgHeader{Vaddr: s.Addr, Memsz: s.Size}
	}
	opened := used(b) - start
	f.Frames(MappedAddress{Address: code.Vaddr + code.Memsz/2})
	first := used(b) - start - opened
	r := rand.New(rand.NewPCG(1, 2))
	addrs := make([]uint64, 10_000)
	named, inlined := 0, 0
	start = used(b)
	for i := range addrs {
		addrs[i] = code.Vaddr + r.Uint64N(code.Memsz)
		frames := f.Frames(MappedAddress{Address: addrs[i]})
		if len(frames) > 0 && frames[0].Line > 0 {
			named++
		}
		if len(frames) > 1 {
			inlined++
		}
	}
	cold := used(b) - start
	fmt.Fprintf(os.Stderr, "%s: %d MB, open %v, first name %v, 10,000 addresses %v, %d with a line, %d with inlined calls, %d MB of memory; %v\n",
		path, info.Size()>>20, opened, first, cold, named, inlined, f.Bytes()>>20, f.Problem())
	n := 0
	for start = used(b); b.Loop(); n++ {
		f.Frames(MappedAddress{Address: addrs[n%len(addrs)]})
	}
	b.ReportMetric(float64(n)/(used(b)-start).Seconds(), "lookups/cpu-s")
	b.ReportMetric(float64(f.Bytes()), "bytes")
}
