package pprof_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"

	"github.com/granarydb/granary/profile/pprof"
)

// An empty file is called so, also if it is compressed.
func TestReader_Empty(t *testing.T) {
	var zipped bytes.Buffer
	if err := gzip.NewWriter(&zipped).Close(); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"no bytes": nil, "gzip of no bytes": zipped.Bytes()} {
		var r pprof.Reader
		if err := r.Read(data, pprof.Limits{Bytes: 1 << 20}, new(pprof.Flat)); !errors.Is(err, pprof.ErrProfile) || !strings.Contains(err.Error(), "empty input") {
			t.Errorf("%s: %v, want %v: empty input", name, err, pprof.ErrProfile)
		}
	}
}
