package ihs

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzRead reads arbitrary bytes as a set. A valid set survives a round trip (S1, S3).
func FuzzRead(f *testing.F) {
	f.Add(file(0, 0, 0, 0))
	f.Add(file(2, 3, 0, 9, 0, 0, 0, 1, 2, 1, 18, 9, 4, 1, 'a', 0, 0, 8, 3, 1, 2, 3, 4, 5, 6, 7, 8))
	f.Add(file(1, 1, -1<<63, -1, 0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 2, 1))
	f.Add(file(1, 2, 0, 9, 0, 0, 0, 4, 1, 'a', 0, 18, 8, 4, 1, 'a'))
	f.Fuzz(func(t *testing.T, in []byte) {
		limits := Limits{Keys: 1 << 16, Intervals: 1 << 16, Text: 100, Texts: 10_000}
		s, err := Read(bytes.NewReader(in), limits)
		if err != nil {
			if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrLimit) {
				t.Fatalf("no typed error: %v", err)
			}
			return
		}
		_ = s.Check()
		var b bytes.Buffer
		if err := s.Write(&b, nil); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&b, limits)
		if err != nil || !cmp.Equal(s, again) {
			t.Fatalf("written and read: %v, another set", err)
		}
	})
}

// FuzzReadAttributes does the same with names.
func FuzzReadAttributes(f *testing.F) {
	f.Add("key\tparent\tname\n", 0)
	f.Add("", -25)
	f.Add("key\tparent\tname\n0\t-1\ta\n1\t0\ta\tb\n2\t-1\t", 3)
	f.Fuzz(func(t *testing.T, text string, keys int) {
		limits := Limits{Keys: 1 << 16, Text: 100, Texts: 10_000}
		attributes, err := ReadAttributes(strings.NewReader(text), keys, limits)
		if err != nil {
			if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrLimit) {
				t.Fatalf("no typed error: %v", err)
			}
			return
		}
		var b bytes.Buffer
		if err := WriteAttributes(&b, attributes); err != nil {
			t.Fatal(err)
		}
		again, err := ReadAttributes(&b, keys, limits)
		if err != nil || !cmp.Equal(attributes, again) {
			t.Fatalf("written and read: %v, %v, want %v", again, err, attributes)
		}
	})
}
