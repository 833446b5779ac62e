package file

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/granarydb/granary/internal/effort"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(killedFile); name != "" {
		writeUntilKilled(name)
	}
	effort.CollectRarely()
	goleak.VerifyTestMain(m)
}
