package dbdir

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/granarydb/granary/internal/disk"
)

// TestExplain tells a full disk what the log wants of it.
func TestExplain(t *testing.T) {
	err := Explain("d", fmt.Errorf("%w: reserve 67108864 bytes for log-1: %w", disk.ErrDisk, syscall.ENOSPC))
	for _, want := range []string{"--db d: ", "67108864", "two", "--disk-budget"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: no %s", err, want)
		}
	}
	if err := Explain("d", nil); err != nil {
		t.Error(err)
	}
}
