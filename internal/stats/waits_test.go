package stats

import (
	"testing"

	"github.com/granarydb/granary/history"
)

// TestIsWait tells waits from other states, by the words of each importer.
func TestIsWait(t *testing.T) {
	for _, text := range []string{"waiting", "waiting (sync)", "waiting (CPU)", "Waiting", "blocked", "sleeping", "parked", "monitor wait"} {
		if !IsWait(history.String(text)) {
			t.Errorf("%s is no wait", text)
		}
	}
	for _, v := range []history.Value{{}, history.String(""), history.String("running"), history.String("runnable"), history.String("syscall"), history.Int(5)} {
		if IsWait(v) {
			t.Errorf("%v is a wait", v)
		}
	}
}
