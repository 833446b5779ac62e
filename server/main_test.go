package server

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/granarydb/granary/internal/effort"
)

func TestMain(m *testing.M) {
	effort.CollectRarely()
	// Parallel tests here wait for timeouts, so more of them run at once than there are processors.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
