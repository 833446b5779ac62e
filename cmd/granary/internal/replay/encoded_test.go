package replay

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// TestEachField reads fields that are cut, or of no type.
func TestEachField(t *testing.T) {
	for _, bad := range []string{"\x08", "\x80", "\x12\x05a", "\x09\x01", "\x12\x80"} {
		if err := eachField([]byte(bad), func(protowire.Number, []byte, []byte) error { return nil }); !errors.Is(err, errWire) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
