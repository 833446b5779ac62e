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

// Thread returns the CPU time of the calling thread. The caller must have locked its
// goroutine to the thread.
func Thread() time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
		panic(err) // the clock is there on every Unix that Go runs on
	}
	return time.Duration(at.Nano())
}
