// Package gzipped makes the compressed inputs of tests.
package gzipped

import (
	"bytes"
	"compress/gzip"
	"testing"
)

// Of returns the gzip of data. The result is the caller's.
func Of(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
