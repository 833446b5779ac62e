package web

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// full is a writer that takes this number of bytes.
type full int

func (f *full) Write(b []byte) (int, error) {
	n := min(len(b), int(*f))
	if *f -= full(n); n < len(b) {
		return n, errors.New("full")
	}
	return n, nil
}

func TestZip(t *testing.T) {
	var out bytes.Buffer
	z := NewZip()
	for _, size := range []int{0, 1, zippedAtOnce - 1, zippedAtOnce, 5*zippedAtOnce + 3} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(i * i >> 3)
		}
		out.Reset()
		z.Reset(&out)
		if n, err := z.Write(data); n != size || err != nil {
			t.Fatalf("%d bytes: %d written, %v", size, n, err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := gzip.NewReader(&out)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes came back of %d, %v", len(got), size, err)
		}
	}
	little := full(100)
	z.Reset(&little)
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(uint32(i) * 2654435761 >> 24)
	}
	if n, err := z.Write(noise); err == nil || n == len(noise) {
		t.Fatalf("%d of %d bytes were written to a full disk, %v", n, len(noise), err)
	}
}
