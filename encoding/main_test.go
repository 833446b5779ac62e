package encoding

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
