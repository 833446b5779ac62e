//go:build !linux

package postgres

import "syscall"

// withParent does nothing: a server outlives a parent that is killed.
func withParent(*syscall.SysProcAttr) {}
