package pprof

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/internal/effort"
)

// describe returns a flat profile as text without indexes: the header, then one line for each
// sample.
func describe(f *Flat) []string {
	typ := func(t FlatType) string { return f.Strings[t.Name] + ":" + f.Strings[t.Unit] }
	header := fmt.Sprintf("%s %q %d %d %d", typ(f.Period), f.Preferred, f.Time, f.Duration, f.Every)
	for _, t := range f.Types {
		header += " " + typ(t)
	}
	out := []string{header}
	for i := range f.Samples {
		stack, values, labels := f.Sample(i)
		s := fmt.Sprint(values)
		for _, l := range stack {
			s += " " + describeLocation(f, l)
		}
		var texts []string // a profile in memory has them in maps, without order
		for _, l := range labels {
			texts = append(texts, fmt.Sprintf("%q %q %d %t", f.Strings[l.Name], f.Strings[l.Text], l.Number, l.IsText))
		}
		slices.Sort(texts)
		out = append(out, fmt.Sprint(s, texts))
	}
	return out
}

func describeLocation(f *Flat, i uint32) string {
	l := f.Locations[i]
	m := f.Mappings[l.Mapping]
	s := fmt.Sprintf("%#x %t %#x %#x %#x %q %q %b", l.Address, l.Folded, m.Start, m.Limit, m.Offset, f.Strings[m.File], f.Strings[m.BuildID], m.Has)
	for _, ln := range f.LinesOf(i) {
		fn := f.Functions[ln.Function]
		s += fmt.Sprintf(" (%q %q %q %d %d %d)", f.Strings[fn.Name], f.Strings[fn.SystemName], f.Strings[fn.File], fn.StartLine, ln.Line, ln.Column)
	}
	return s
}

// checkDecode checks C1 and C2. It reports whether the bytes are accepted.
func checkDecode(t *testing.T, data []byte, limits Limits) bool {
	t.Helper()
	var decoded, flattened Flat
	err := Decode(string(data), limits, &decoded)
	if err != nil && errors.Is(err, ErrProfile) == errors.Is(err, ErrTooLarge) {
		t.Fatalf("error is not of one kind: %v", err)
	}
	p, errWant := pprof.ParseUncompressed(data)
	if errWant == nil {
		errWant = Flatten(p, limits, &flattened)
	}
	if (err == nil) != (errWant == nil) {
		t.Fatalf("the decoder says %v, google/pprof and the limits %v", err, errWant)
	}
	if err == nil && !slices.Equal(describe(&decoded), describe(&flattened)) {
		t.Fatalf("decoded\n%q\nin memory\n%q", describe(&decoded), describe(&flattened))
	}
	return err == nil
}

// plainProfiles returns the project's profiles, decompressed.
func plainProfiles(t testing.TB) [][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.FromSlash("../../testdata/profiles/*/*.pb.gz"))
	if err != nil || len(names) < 10 {
		t.Fatalf("%d profiles, %v", len(names), err)
	}
	var all [][]byte
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		zip, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(zip)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, plain)
	}
	return all
}

func TestDecodeEqualsFlatten(t *testing.T) {
	effort.Slow(t)
	for i, data := range plainProfiles(t) {
		if !checkDecode(t, data, Limits{}.WithDefaults()) {
			t.Errorf("profile %d is refused", i)
		}
		for cut := range 8 { // and a few that are cut short
			checkDecode(t, data[:len(data)*cut/8], Limits{}.WithDefaults())
		}
	}
}

func TestResetKeepsNothing(t *testing.T) {
	effort.Slow(t)
	all := plainProfiles(t)
	var used, fresh Flat
	for i, data := range all[:5] {
		fresh = Flat{}
		if err := errors.Join(Decode(string(data), Limits{}.WithDefaults(), &used), Decode(string(data), Limits{}.WithDefaults(), &fresh)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(describe(&used), describe(&fresh)) {
			t.Errorf("profile %d has something of the one before", i)
		}
	}
	used.Reset()
	if len(used.Strings)+len(used.Samples)+len(used.Types)+len(used.Labels) != 0 {
		t.Errorf("after a reset: %d strings, %d samples", len(used.Strings), len(used.Samples))
	}
}

// FuzzDecode checks C1, C2 and C3.
func FuzzDecode(f *testing.F) {
	for _, data := range plainProfiles(f) {
		if len(data) < 4<<10 {
			f.Add(data)
		}
	}
	f.Add([]byte("\x0a\x04\x08\x01\x10\x01\x32\x00\x32\x01n\x2a\x04\x08\x01\x10\x01\x22\x06\x08\x01\x22\x02\x08\x01\x12\x05\x0a\x01\x01\x10\x05"))
	limits := Limits{Bytes: 1 << 20, Samples: 1000, Depth: 100}
	f.Fuzz(func(t *testing.T, data []byte) { checkDecode(t, data, limits) })
}
