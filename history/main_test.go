package history_test

import (
	"os"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" && !raceEnabled { // most heaps are small: a third of the time would be collections
		debug.SetGCPercent(400)
	}
	goleak.VerifyTestMain(m)
}
