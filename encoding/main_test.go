package encoding

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/granarydb/granary/internal/effort"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

func TestMain(m *testing.M) {
	effort.CollectRarely()
	effort.DrawLess()
	goleak.VerifyTestMain(m)
}
