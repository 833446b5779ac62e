package format_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	library "github.com/google/pprof/profile"
	"github.com/klauspost/compress/zstd"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/gzipped"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
)

// packed returns a text compressed with zstd.
func packed(t testing.TB, text string) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	return z.EncodeAll([]byte(text), nil)
}

// newDB returns a DB in a new store.
func newDB(t testing.TB) *profile.DB {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{FutureLimit: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// inserted decodes data into a new store, and returns its profiles as folded stacks of their first type.
func inserted(t *testing.T, data []byte, h format.Hints) (stacks map[string]int64, err error) {
	t.Helper()
	db := newDB(t)
	store := db.Store()
	rows, err := format.Insert(t.Context(), db, data, h, profile.InsertOptions{Time: time.Unix(1_790_000_000, 0)})
	if stored := store.Stats().Rows; stored != int64(rows) || err != nil && rows != 0 {
		t.Fatalf("%d rows are stored, and Insert says %d, %v", stored, rows, err)
	}
	if err != nil {
		return nil, err
	}
	stacks = map[string]int64{}
	err = store.View(t.Context(), func(snap *columnstore.Snapshot) error {
		typ, err := db.DefaultType(t.Context(), snap, profile.Query{})
		if err != nil {
			return err
		}
		all, err := db.Merge(t.Context(), snap, typ, profile.Query{})
		if err != nil {
			return err
		}
		for frames, value := range all.All() {
			names := make([]string, len(frames))
			for i, f := range frames {
				names[len(frames)-1-i] = f.Function
			}
			stacks[strings.Join(names, ";")] += value
		}
		return nil
	})
	return stacks, err
}

// TestDecode knows formats by content, gzipped or not.
func TestDecode(t *testing.T) {
	cpu, err := os.ReadFile("../../testdata/profiles/etcd/cpu-1.pb.gz")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"pprof": cpu, "pprof in zstd": packed(t, string(cpu))} {
		if got, err := inserted(t, data, format.Hints{}); err != nil || len(got) < 100 {
			t.Errorf("%s: %d stacks, %v", name, len(got), err)
		}
	}
	const text = "main;f;leaf 3\nmain;f 4\r\n\nmain;f;leaf 2\nmain; spaced name 1\n"
	for name, data := range map[string][]byte{"plain": []byte(text), "zipped": gzipped.Of(t, []byte(text)), "in zstd": packed(t, text), "zipped in zstd": packed(t, string(gzipped.Of(t, []byte(text)))), "with a mark": []byte("\xef\xbb\xbf" + text)} {
		got, err := inserted(t, data, format.Hints{})
		if err != nil || len(got) != 3 || got["main;f;leaf"] != 5 || got["main;f"] != 4 || got["main; spaced name"] != 1 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	long := strings.Repeat("a;b 1\n", 20_000) // beyond the bytes that tell the format
	for name, c := range map[string]struct {
		data   string
		hints  format.Hints
		is     error
		saying string
	}{
		"nothing":          {"", format.Hints{}, profile.ErrProfile, ""},
		"text":             {"some words", format.Hints{}, profile.ErrProfile, ""},
		"a number":         {long + "a;b x\n", format.Hints{}, profile.ErrProfile, "line 20001: "},
		"no number":        {long + "ab\n", format.Hints{}, profile.ErrProfile, "line 20001: "},
		"beyond 64 bits":   {"a;b 1\na;b 99999999999999999999\n", format.Hints{}, profile.ErrProfile, "line 2: "},
		"only pprof":       {text, format.Hints{Only: format.PPROF}, profile.ErrProfile, ""},
		"only folded":      {string(cpu), format.Hints{Only: format.Folded}, profile.ErrProfile, "not in the format folded"},
		"deep":             {"a;b;c 1\n", format.Hints{Limits: profile.Limits{Depth: 2}}, profile.ErrTooLarge, "line 1: profile is too large: a stack of more than 2 functions"},
		"a sum":            {"a;b 9000000000000000000\na;b 9000000000000000000\n", format.Hints{}, profile.ErrProfile, "line 2: a sum of more than 64 bits"},
		"many":             {"a;b 1\na;c 1\n", format.Hints{Limits: profile.Limits{Samples: 1}}, profile.ErrTooLarge, "more than 1 samples"},
		"large":            {"a;b 1\na;b 1\n", format.Hints{Limits: profile.Limits{Bytes: 10}}, profile.ErrTooLarge, "more than 10 bytes"},
		"gzip, no header":  {"\x1f\x8bxxxxxxxxmain;f 1\nmain;g 2\n", format.Hints{}, profile.ErrProfile, ""},
		"zstd, cut off":    {string(packed(t, long)[:20]), format.Hints{}, profile.ErrProfile, "decompressed: "},
		"large in zstd":    {string(packed(t, strings.Repeat("a;b 1\n", 1000))), format.Hints{Limits: profile.Limits{Bytes: 100}}, profile.ErrTooLarge, "more than 100 bytes"},
		"large and packed": {string(gzipped.Of(t, []byte("a;b 1\n"+strings.Repeat("\n", 1000)))), format.Hints{Limits: profile.Limits{Bytes: 100}}, profile.ErrTooLarge, "more than 100 bytes"},
	} {
		if got, err := inserted(t, []byte(c.data), c.hints); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.saying) {
			t.Errorf("%s: %v, %v; want %v %q", name, got, err, c.is, c.saying)
		}
	}
}

// shown returns a profile's types and samples: values, labels, and frames from the leaf, as functions with their lines or as
// addresses.
func shown(p *library.Profile) string {
	text := ""
	for _, t := range p.SampleType {
		text += t.Type + "/" + t.Unit + " "
	}
	for _, s := range p.Sample {
		text += fmt.Sprint("; ", s.Value)
		for _, labels := range []any{s.Label, s.NumLabel} {
			if labels := fmt.Sprint(labels); labels != "map[]" {
				text += " " + labels
			}
		}
		for _, l := range s.Location {
			switch {
			case len(l.Line) == 0:
				text += fmt.Sprintf(" %#x", l.Address)
			case l.Line[0].Line != 0:
				text += fmt.Sprintf(" %s:%d", l.Line[0].Function.Name, l.Line[0].Line)
			default:
				text += " " + l.Line[0].Function.Name
			}
			if l.Mapping != nil {
				text += "@" + l.Mapping.File
			}
		}
	}
	return text
}

// hostile is an input, and the error that it is refused with. Without one it is accepted.
type hostile struct {
	text   string
	is     error
	saying string
}

// smallLimits are those of hostile inputs.
var smallLimits = profile.Limits{Bytes: 100_000, Samples: 3, Depth: 4}

// wantHostile decodes inputs. Errors say what it is, or the format. Whatever is accepted can be stored.
func wantHostile(t *testing.T, only format.Name, what string, all map[string]hostile) {
	t.Helper()
	if len(all) < 30 {
		t.Errorf("%d inputs", len(all))
	}
	db := newDB(t)
	for name, c := range all {
		h := format.Hints{Only: only, Limits: smallLimits}
		p, err := decoded([]byte(c.text), h)
		if !errors.Is(err, c.is) || err != nil && (!strings.Contains(err.Error(), c.saying) || !strings.Contains(err.Error(), what) && !strings.Contains(err.Error(), string(only))) {
			t.Errorf("%s: %v; want %v, %q", name, err, c.is, c.saying)
		}
		if err != nil {
			continue
		}
		if err := p.Parsed.CheckValid(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := format.Insert(t.Context(), db, []byte(c.text), h, profile.InsertOptions{Time: time.Unix(1_790_000_000, 0)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// fuzz decodes any bytes in a format: what it returns is whole, or an error.
func fuzz(f *testing.F, only format.Name, seeds ...string) {
	f.Helper()
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decoded(data, format.Hints{Only: only, Limits: profile.Limits{Bytes: 1 << 16, Samples: 100, Depth: 10}})
		if err != nil {
			if !errors.Is(err, profile.ErrProfile) && !errors.Is(err, profile.ErrTooLarge) {
				t.Fatal(err)
			}
			return
		}
		if err := p.Parsed.CheckValid(); err != nil || len(p.Parsed.Sample) > 100 {
			t.Fatal(len(p.Parsed.Sample), err)
		}
	})
}

// wantCut decodes all starts of an input.
func wantCut(t *testing.T, only format.Name, text string) {
	t.Helper()
	for i := range text {
		if _, err := decoded([]byte(text[:i]), format.Hints{Only: only}); err != nil && !errors.Is(err, profile.ErrProfile) {
			t.Errorf("%q: %v", text[:i], err)
		}
	}
}

// TestOf tells folded stacks from other text with numbers.
func TestOf(t *testing.T) {
	for text, want := range map[string]format.Name{
		"a;b 1\n": format.Folded, "a;b 1": format.Folded, "main 3\na;b 1\r\n\n": format.Folded, "\xef\xbb\xbfa;b 1\n": format.Folded, "a;\xff 1\n": format.Folded,
		strings.Repeat("f;", 20_000) + "g 1\n": format.Folded, "a;b 1\n" + strings.Repeat("x", 100_000): format.Folded, "a;b -1 \t\n": format.Folded,
		"": "", "\n": "", "main 3\n": "", "a;b\n": "", "a;b 1\nword\n": "", "goroutine profile: total 5\n1 @ 0x43;\n": format.Debug1, "goroutine profile: total 5 of 6\n": "", "heap profile: 1: 2 [3: 4] @ heapprofile\n": format.Debug1, "heap profile: 1: 2 [3: 4] @ growthz\n": "", "--- contentionz 1 ---\n": "", "a;b 1.5\n": "", "\x04;b 1\n": "",
		strings.Repeat("f;", 100_000) + "g 1\n": "",
		"goroutine 1 [running]:\nmain.main()\n": format.Debug2, "\r\ngoroutine 7 gp=0xc000 m=0 mp=0x1 [select, 5 minutes, locked to thread]:\r\n": format.Debug2, "goroutine 1 is here\n": "",
		"busy 25013  1753.583724:   10101010 cpu-clock:ppp: \n\t 961a3 f+0x83 (/lib/libc.so.6)\n": format.PerfScript, "# captured on: today\n\n   my prog 1/2 [003]  17.5: cycles: \n": format.PerfScript,
		"# a comment\n": "", "at 12 1753.5: nothing\n": "",
		`{"version":"0.0.1","$schema":"https://www.speedscope.app/file-format-schema.json"}`: format.Speedscope, `["https://www.speedscope.app/file-format-schema.json"]`: "",
		"heap_v2/524288\n  t*: 1: 2 [0: 0]\n": format.Jemalloc, "heap_v2/x\n": "",
	} {
		if got := format.Of([]byte(text)); got != want {
			t.Errorf("%.40q: %q, want %q", text, got, want)
		}
		for how, data := range map[string][]byte{"zipped": gzipped.Of(t, []byte(text)), "in zstd": packed(t, text)} {
			if got := format.Of(data); got != want {
				t.Errorf("%.40q, %s: %q, want %q", text, how, got, want)
			}
		}
	}
}

// TestInsert_Real reads what async-profiler wrote.
func TestInsert_Real(t *testing.T) {
	data, err := os.ReadFile("../../../shared/data/clients/async-profiler.collapsed")
	if err != nil {
		t.Skip("there is no folder with files of other profilers beside this repository: ", err)
	}
	if got, err := inserted(t, data, format.Hints{}); err != nil || len(got) < 5 {
		t.Errorf("%v, %v", got, err)
	}
}

// FuzzDecode decodes any bytes: what it returns is whole, or an error.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("main;f;leaf 3\nmain;f -4\n"))
	f.Add(gzipped.Of(f, []byte("a;b 1\n;; 2\n")))
	f.Add(packed(f, "a;b 1\n;; 2\n"))
	f.Add([]byte("\x0a\x04\x08\x01\x10\x02"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for p, err := range format.Decode(data, format.Hints{Limits: profile.Limits{Bytes: 1 << 16, Samples: 100, Depth: 10}}) {
			switch {
			case err != nil:
				if !errors.Is(err, profile.ErrProfile) && !errors.Is(err, profile.ErrTooLarge) {
					t.Fatal(err)
				}
			case p.Parsed != nil:
				if err := p.Parsed.CheckValid(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
