//go:build !unix

package soak

import "syscall"

// No signal stops a process here, and the command refuses to run.
const (
	stopSignal     = syscall.Signal(0)
	continueSignal = syscall.Signal(0)
)
