//go:build linux || darwin || freebsd

package cli

import (
	"os"
	"syscall"
	"unsafe"
)

// terminalColumns returns the columns of a terminal, or 0 if they are unknown.
func terminalColumns(f *os.File) int {
	var size struct{ rows, columns, x, y uint16 }
	raw, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	var failed syscall.Errno
	err = raw.Control(func(fd uintptr) {
		_, _, failed = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	})
	if err != nil || failed != 0 {
		return 0
	}
	return int(size.columns)
}
