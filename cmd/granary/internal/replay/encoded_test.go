package replay

import (
	"errors"
	"testing"
)

// TestEachField reads fields that are cut, or of types that pprof does not use.
func TestEachField(t *testing.T) {
	for _, bad := range []string{"\x08", "\x80", "\x12\x05a", "\x09\x01", "\x12\x80"} {
		if err := eachField([]byte(bad), func(uint64, []byte, []byte) error { return nil }); !errors.Is(err, errWire) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
