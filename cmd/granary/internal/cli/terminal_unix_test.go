//go:build linux || darwin || freebsd

package cli

import (
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// A picture is as wide as its terminal, whatever COLUMNS is.
func TestWidthOfTerminal(t *testing.T) {
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer tty.Close()
	t.Setenv("COLUMNS", "90")
	for columns, want := range map[uint16]int{132: 132, 40: 40, 39: 39, 23: MinWidth, 2000: MaxWidth} {
		size := struct{ rows, columns, x, y uint16 }{24, columns, 0, 0}
		if _, _, failed := syscall.Syscall(syscall.SYS_IOCTL, tty.Fd(), syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size))); failed != 0 {
			t.Skip(failed)
		}
		if got := Width(tty, 0); got != want {
			t.Errorf("a terminal of %d columns: %d, want %d", columns, got, want)
		}
	}
}
