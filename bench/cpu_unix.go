//go:build unix

package main

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the CPU time that the process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // RUSAGE_SELF cannot fail
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// threadTime returns the CPU time of the calling thread, which must be locked to its
// goroutine.
func threadTime() time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
		panic(err) // the clock is there on every Unix that Go runs on
	}
	return time.Duration(at.Nano())
}
