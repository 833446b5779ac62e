package partialfile_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/granarydb/granary/internal/effort"
)

func TestMain(m *testing.M) {
	effort.CollectRarely()
	goleak.VerifyTestMain(m)
}
