//go:build unix

package measure

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// CPU returns the CPU time that the process has used, user and system.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // RUSAGE_SELF cannot fail
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Process returns the CPU time that the process has used, user and system, in nanoseconds. It is more exact
// than CPU, which some kernels count in ticks.
func Process() time.Duration { return clock(unix.CLOCK_PROCESS_CPUTIME_ID) }

// Thread returns the calling thread's CPU time. The caller must have locked its goroutine to the thread.
func Thread() time.Duration { return clock(unix.CLOCK_THREAD_CPUTIME_ID) }

func clock(of int32) time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(of, &at); err != nil {
		panic(err) // the clocks exist on every Unix that Go supports
	}
	return time.Duration(at.Nano())
}
