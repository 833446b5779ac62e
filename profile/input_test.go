package profile

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/gzipped"
)

// encoded returns a profile's encoding, gzipped and plain.
func encoded(t testing.TB, p *pprof.Profile) (zipped, plain []byte) {
	t.Helper()
	var z, u bytes.Buffer
	if err := errors.Join(p.Write(&z), p.WriteUncompressed(&u)); err != nil {
		t.Fatal(err)
	}
	return z.Bytes(), u.Bytes()
}

// P5: input is limited before it is decoded. Errors are ErrProfile or ErrTooLarge, never both.
func TestInput(t *testing.T) {
	small := makeProfile(start, "n:count m:count", stack{frames: "a b c", values: []int64{1, 2}}, stack{frames: "b c", values: []int64{3, 4}})
	zipped, plain := encoded(t, small)
	noTypes, _ := encoded(t, &pprof.Profile{})
	noSamples, _ := encoded(t, &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "n", Unit: "count"}}})
	for _, tc := range []struct {
		name   string
		data   []byte
		limits Limits
		want   error
	}{
		{"gzipped", zipped, Limits{}, nil},
		{"not gzipped", plain, Limits{}, nil},
		{"no samples", noSamples, Limits{}, nil},
		{"nothing", nil, Limits{}, ErrProfile},
		{"text", []byte("goroutine profile: total 7\n"), Limits{}, ErrProfile},
		{"HTML", []byte("<!DOCTYPE html><html>"), Limits{}, ErrProfile},
		{"gzip of nothing", gzipped.Of(t, nil), Limits{}, ErrProfile},
		{"gzip of text", gzipped.Of(t, []byte("hello, hello")), Limits{}, ErrProfile},
		{"gzip cut in its header", zipped[:5], Limits{}, ErrProfile},
		{"gzip cut", zipped[:len(zipped)/2], Limits{}, ErrProfile},
		{"gzip without its checksum", zipped[:len(zipped)-4], Limits{}, ErrProfile},
		{"protobuf cut", plain[:len(plain)-3], Limits{}, ErrProfile},
		{"no sample types", noTypes, Limits{}, ErrProfile},
		{"as large as the limit", plain, Limits{Bytes: len(plain)}, nil},
		{"gzipped as large as the limit", zipped, Limits{Bytes: len(plain)}, nil},
		{"too large", plain, Limits{Bytes: len(plain) - 1}, ErrTooLarge},
		{"gzipped too large", zipped, Limits{Bytes: len(plain) - 1}, ErrTooLarge},
		{"as many samples as the limit", zipped, Limits{Samples: 2}, nil},
		{"too many samples", zipped, Limits{Samples: 1}, ErrTooLarge},
		{"as deep as the limit", zipped, Limits{Depth: 3}, nil},
		{"too deep", zipped, Limits{Depth: 2}, ErrTooLarge},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rows, err := testDB(t, Options{Limits: tc.limits}).InsertEncoded(ctx, tc.data, InsertOptions{})
			if !errors.Is(err, tc.want) || rows > 0 && err != nil {
				t.Fatalf("%d rows, error %v, want %v", rows, err, tc.want)
			}
			if errors.Is(err, ErrProfile) && errors.Is(err, ErrTooLarge) {
				t.Errorf("error %v is of two kinds", err)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q", err)
			}
		})
	}
}

// parse reads a profile within the limits, and then with google/pprof.
func parse(data []byte, limits Limits) (*pprof.Profile, error) {
	var w workspace
	if err := w.read(data, limits.WithDefaults()); err != nil {
		return nil, err
	}
	return pprof.ParseData(data)
}

// unzipped returns data, decompressed if it is gzipped.
func unzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return data
	}
	plain, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// P5: with a limit of 1 MiB, a small file that decompresses to 64 MiB costs at most 16 MiB.
func TestGzipBomb(t *testing.T) {
	bomb := gzipped.Of(t, make([]byte, 64<<20))
	db := testDB(t, Options{Limits: Limits{Bytes: 1 << 20}})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := db.InsertEncoded(ctx, bomb, InsertOptions{})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v, want %v", err, ErrTooLarge)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
		t.Errorf("it took %d bytes", took)
	}
}

// Insert applies the same checks and limits to profiles in memory.
func TestInsertChecks(t *testing.T) {
	db := testDB(t, Options{Limits: Limits{Samples: 2, Depth: 3}})
	good := func() *pprof.Profile {
		return makeProfile(start, "n:count", stack{frames: "a b c", values: []int64{1}}, stack{frames: "b", values: []int64{2}})
	}
	for _, tc := range []struct {
		name   string
		change func(p *pprof.Profile)
		want   error
	}{
		{"too many samples", func(p *pprof.Profile) { p.Sample = append(p.Sample, p.Sample...) }, ErrTooLarge},
		{"too deep", func(p *pprof.Profile) { p.Sample[0].Location = append(p.Sample[0].Location, p.Location[0]) }, ErrTooLarge},
		{"no types", func(p *pprof.Profile) { p.SampleType, p.Sample = nil, nil }, ErrProfile},
		{"too few values", func(p *pprof.Profile) { p.Sample[1].Value = nil }, ErrProfile},
		{"nil sample", func(p *pprof.Profile) { p.Sample[0] = nil }, ErrProfile},
		{"nil location", func(p *pprof.Profile) { p.Sample[0].Location[0] = nil }, ErrProfile},
		{"line without a function", func(p *pprof.Profile) { p.Location[0].Line[0].Function = nil }, ErrProfile},
		{"label without a name", func(p *pprof.Profile) { p.Sample[1].Label = map[string][]string{"": {"v"}} }, columnstore.ErrBatch},
	} {
		p := good()
		tc.change(p)
		if rows, err := db.Insert(context.Background(), p, InsertOptions{}); !errors.Is(err, tc.want) || rows != 0 {
			t.Errorf("%s: %d rows, error %v, want %v", tc.name, rows, err, tc.want)
		}
	}
	// P2: the refused profiles left nothing.
	lists, err := db.typeLists(view(t, db))
	if err != nil {
		t.Fatal(err)
	}
	if got := db.store.Stats().Rows; got != 0 || len(lists.all) != 0 {
		t.Errorf("%d rows, lists %v", got, lists)
	}
	if rows := insert(t, db, good()); rows != 2 {
		t.Errorf("%d rows of a good profile, want 2", rows)
	}
}

// TestLabelNames: a profile with a label that no column can have is refused, because it would not come
// out as it went in (P1). The error names the label and the sample. A sample without rows has none.
func TestLabelNames(t *testing.T) {
	for _, tc := range []struct{ name, want string }{
		{"", `invalid batch: sample 1 has a label named "": want a name of printable UTF-8`},
		{"a\nb", `invalid batch: sample 1 has a label named "a\nb": want`},
		{"a\x7f", `invalid batch: sample 1 has a label named "a\x7f": want`},
		{"\xff", ""},
		{strings.Repeat("x", 2000), `sample 1 has a label named "xxx`},
		{"a.", ""},
		{"Größe é", ""},
		{strings.Repeat("x", 1000), ""},
	} {
		for _, number := range []bool{false, true} {
			for _, value := range []int64{2, 0} {
				bad := stack{frames: "c", values: []int64{value}}
				if bad.labels = map[string][]string{tc.name: {"v"}}; number {
					bad.labels, bad.nums = nil, map[string][]int64{tc.name: {7}}
				}
				p := makeProfile(start, "n:count", stack{frames: "a", values: []int64{1}, labels: map[string][]string{"k": {"v"}}}, bad)
				db := testDB(t, Options{})
				_, err := db.Insert(t.Context(), p, InsertOptions{})
				if refused := tc.want != "" && value != 0; refused != errors.Is(err, columnstore.ErrBatch) || refused && !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%q with value %d: %v, want %q", tc.name, value, err, tc.want)
				}
			}
		}
	}
}

// FuzzInsert checks P5. Bytes are refused with ErrProfile or ErrTooLarge, or they are a
// profile. The store refuses the profile with an error of a known kind, or returns it on
// request.
func FuzzInsert(f *testing.F) {
	p := makeProfile(start, "n:count m:count", stack{frames: "a +b c", values: []int64{1, -2}, labels: map[string][]string{"k": {"v", "w"}}},
		stack{frames: "c", values: []int64{0, 4}, nums: map[string][]int64{"n": {1, 2}}, units: map[string][]string{"n": {"", "bytes"}}})
	zipped, plain := encoded(f, p)
	f.Add(zipped)
	f.Add(plain)
	f.Add([]byte("heap profile: 0: 0 [0: 0] @ heap/1048576\n"))
	for _, name := range []string{"two-stacks.pb.gz", "single-stack.pb.gz", "no-python.pb.gz"} {
		if data, err := os.ReadFile(filepath.Join("..", "..", "shared", "data", "pprof", name)); err == nil {
			f.Add(data)
		}
	}
	limits := Limits{Bytes: 1 << 20, Samples: 1000, Depth: 100}
	f.Fuzz(func(t *testing.T, data []byte) {
		db := openDB(t, Options{Limits: limits})
		defer db.store.Close()
		p, err := parse(data, limits)
		if err != nil {
			if !errors.Is(err, ErrProfile) && !errors.Is(err, ErrTooLarge) {
				t.Fatalf("error of no kind: %v", err)
			}
			if _, insertErr := db.InsertEncoded(ctx, data, InsertOptions{}); insertErr == nil || insertErr.Error() != err.Error() {
				t.Fatalf("InsertEncoded: error %v, want %v", insertErr, err)
			}
			return
		}
		// Some profiles are inserted from memory, others from bytes. TestDecodeEqualsPprof
		// checks that both are equal.
		var rows int
		if len(data)%2 == 0 {
			rows, err = db.Insert(ctx, p, InsertOptions{})
		} else {
			rows, err = db.InsertEncoded(ctx, data, InsertOptions{})
		}
		if err != nil {
			if !errors.Is(err, ErrProfile) && !errors.Is(err, ErrTooLarge) && !errors.Is(err, columnstore.ErrBatch) && !errors.Is(err, columnstore.ErrLimit) {
				t.Fatalf("error of no kind: %v", err)
			}
			if db.store.Stats().Rows != 0 {
				t.Fatal("refused, but rows are there") // P2
			}
			return
		}
		if rows != countValues(p) {
			t.Fatalf("%d rows of %d values", rows, countValues(p))
		}
		err = db.store.View(ctx, func(snap *columnstore.Snapshot) error {
			out, err := db.Profile(ctx, snap, Query{})
			if err != nil {
				return err
			}
			for _, typ := range typeListOf(p).Types {
				stacks, err := db.Merge(ctx, snap, typ, Query{})
				if err != nil {
					return err
				}
				stacks.Top()
				checkFlameGraph(t, stacks)
			}
			return out.CheckValid()
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
