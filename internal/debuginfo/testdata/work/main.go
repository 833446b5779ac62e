// Command work profiles itself: it writes a CPU profile to its first argument.
package main

import (
	"os"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"
)

type shelf[T any] struct{ items []T }

func (s *shelf[T]) each(f func(T) int) (n int) {
	for _, it := range s.items {
		n += f(it)
	}
	return n
}

func mix(x int) int { return (x*1103515245 + 12345) & 0x7fffffff } // inlined

func mixTwice(x int) int { return mix(mix(x)) } // inlined, and its calls in it

//go:noinline
func turn(n int) int {
	x := n
	for range 20_000 {
		x = mixTwice(x)
	}
	return x
}

// used returns the processor's time of this process, because a busy machine gives it little in a second.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano())
}

func spend(most time.Duration) (n int) {
	s := shelf[int]{items: []int{1, 2, 3}}
	for used() < most {
		n += s.each(turn) + len(strings.Repeat("ab", 1000))
	}
	return n
}

func main() {
	out, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	if err := pprof.StartCPUProfile(out); err != nil {
		panic(err)
	}
	spend(300 * time.Millisecond)
	pprof.StopCPUProfile()
	if err := out.Close(); err != nil {
		panic(err)
	}
}
