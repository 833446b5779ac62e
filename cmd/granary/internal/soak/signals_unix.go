//go:build unix

package soak

import "syscall"

// The signals that stop a process and let it go on.
const (
	stopSignal     = syscall.SIGSTOP
	continueSignal = syscall.SIGCONT
)
