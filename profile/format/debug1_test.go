package format_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	library "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/gzipped"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
)

// decoded returns the only profile of an input.
func decoded(data []byte, h format.Hints) (out format.Decoded, err error) {
	for p, err := range format.Decode(data, h) {
		if err != nil {
			return format.Decoded{}, err
		}
		out = p
	}
	return out, nil
}

// asPprof compares a profile with the one that the library of go tool pprof reads from the same text.
func asPprof(got, want *library.Profile) error {
	types := func(p *library.Profile) string {
		text := fmt.Sprintf("%s/%s %d", p.PeriodType.Type, p.PeriodType.Unit, p.Period)
		for _, t := range p.SampleType {
			text += " " + t.Type + "/" + t.Unit
		}
		return text
	}
	if types(got) != types(want) || len(got.Sample) != len(want.Sample) {
		return fmt.Errorf("%s, %d samples, want %s, %d", types(got), len(got.Sample), types(want), len(want.Sample))
	}
	for i, s := range got.Sample {
		if of := want.Sample[i]; !slices.Equal(s.Value, of.Value) {
			return fmt.Errorf("sample %d: %v, want %v", i, s.Value, of.Value)
		}
	}
	return nil
}

// Work of the profiles below.
var kept [][]byte

//go:noinline
func allocating() {
	for range 64 {
		kept = append(kept, make([]byte, 300_000))
	}
}

//go:noinline
func waiting(ctx context.Context, in *sync.WaitGroup) {
	in.Done()
	<-ctx.Done()
}

// texts returns what runtime/pprof writes about this program, by the name of the profile, with debug=1.
func texts(t testing.TB) map[string][]byte {
	t.Helper()
	runtime.SetBlockProfileRate(1)
	runtime.SetMutexProfileFraction(3)
	t.Cleanup(func() { runtime.SetBlockProfileRate(0); runtime.SetMutexProfileFraction(0); kept = nil })
	allocating()
	runtime.GC()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var begun, ended sync.WaitGroup
	begun.Add(1)
	ended.Go(func() {
		pprof.Do(ctx, pprof.Labels("job", "a \"b\"", "shard", "7\n"), func(ctx context.Context) { waiting(ctx, &begun) })
	})
	begun.Wait()
	var lock sync.Mutex
	for range 50 {
		lock.Lock()
		var other sync.WaitGroup
		other.Go(func() { lock.Lock(); lock.Unlock() }) //nolint:staticcheck // waits for the lock, and for nothing else
		time.Sleep(100 * time.Microsecond)
		lock.Unlock()
		other.Wait()
	}
	out := map[string][]byte{}
	for _, name := range []string{"heap", "allocs", "goroutine", "threadcreate", "block", "mutex"} {
		var b bytes.Buffer
		if err := pprof.Lookup(name).WriteTo(&b, 1); err != nil {
			t.Fatal(err)
		}
		out[name] = b.Bytes()
	}
	cancel()
	ended.Wait()
	return out
}

// TestDebug1 reads the profiles of this program as text. Types and values are those of go tool pprof. Functions,
// which pprof takes from the binary, and labels, which it ignores, are those of the text.
func TestDebug1(t *testing.T) {
	has := map[string]string{"heap": "allocating", "allocs": "allocating", "goroutine": "waiting", "block": "texts", "mutex": "texts"}
	kinds := map[string]string{"block": "block", "mutex": "mutex"}
	for name, text := range texts(t) {
		want, err := library.ParseData(text)
		if err != nil && name != "threadcreate" { // whose stacks are empty, which the library refuses
			t.Fatal(err)
		}
		for form, data := range map[string][]byte{"plain": text, "zipped": gzipped.Of(t, text), "of Windows": bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))} {
			p, err := decoded(data, format.Hints{})
			if err != nil || p.Parsed == nil {
				t.Fatalf("%s, %s: %v", name, form, err)
			}
			err = p.Parsed.CheckValid()
			if err == nil && want != nil {
				err = asPprof(p.Parsed, want)
			}
			if err != nil || len(p.Parsed.Sample) == 0 || p.Kind != kinds[name] || format.Of(data) != format.Debug1 {
				t.Errorf("%s, %s: %v, %d samples, kind %q, format %q", name, form, err, len(p.Parsed.Sample), p.Kind, format.Of(data))
			}
			found, labels := "", map[string]string{}
			for _, s := range p.Parsed.Sample {
				for _, l := range s.Location {
					for _, line := range l.Line {
						if strings.Contains(line.Function.Name, "."+has[name]) && line.Line > 0 && strings.HasSuffix(line.Function.Filename, "debug1_test.go") {
							found = line.Function.Name
						}
					}
				}
				for k, v := range s.Label {
					labels[k] = strings.Join(v, " ")
				}
			}
			if has[name] != "" && found == "" {
				t.Errorf("%s, %s: no function %s", name, form, has[name])
			}
			if name == "goroutine" && (labels["job"] != `a "b"` || labels["shard"] != "7\n") {
				t.Errorf("labels %q", labels)
			}
		}
	}
}

// TestDebug1_Gperftools reads heaps of C++ as the library of go tool pprof does. Addresses have their mappings.
func TestDebug1_Gperftools(t *testing.T) {
	for _, kind := range []string{"heapprofile", "heap_v2/524288", "heapz_v2/1000", "heap/1048576"} {
		for _, maps := range []string{"MAPPED_LIBRARIES:", "--- Memory map: ---"} {
			text := "heap profile:     3:  2000 [    9:  9000] @ " + kind + "\n     1:  1000 [     2:  2000] @ 0x00000012 0x7f02\n     2:  1000 [     7:  7000] @ 0x13\n\n" + maps + "\n" + jemallocMaps
			want, err := library.ParseData([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			p, err := decoded([]byte(text), format.Hints{})
			if err == nil {
				err = errors.Join(asPprof(p.Parsed, want), p.Parsed.CheckValid())
			}
			if err != nil {
				t.Errorf("%s: %v", kind, err)
			} else if got := shown(p.Parsed); !strings.Contains(got, " 0x11@/b/prog 0x7f01@/lib/a b.so (deleted); ") {
				t.Errorf("%s: %s", kind, got)
			}
		}
	}
	p, err := decoded([]byte("heap profile: 1: 2 [3: 4] @ heapprofile\nMAPPED_LIBRARIES:\n1ffffffffffffffff-2 r-xp 0 0:0 0 x\n"), format.Hints{})
	if !errors.Is(err, profile.ErrProfile) || !strings.Contains(err.Error(), "heap of gperftools, line 3: an address of more than 64 bits") {
		t.Errorf("%v, %v", p, err)
	}
}

// TestDebug1_Text reads samples whose values are known.
func TestDebug1_Text(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want string // values, labels and functions of the samples
	}{
		"frames": {
			"goroutine profile: total 3\n2 @ 0x11 0x21 0x31\n# labels: {\"a\":\"x\", \"b\":\"\"}\n#\t0x10\tmain.f+0x4\t\t/a b/c.go:7\n#\t0x20\tmain.g[go.shape.struct { A int }]+0xf\tc.go:8\n\n1 @ 0x11\n#\t0x10\tmain.f+0x4\t/a b/c.go:7\n",
			`[2] map[a:[x] b:[]] map[] main.f main.g[go.shape.struct { A int }]; [1] map[] map[] main.f`,
		},
		"no frames":       {"x profile: total 1\n1 @ 0x11 0x21\n", "[1] map[] map[] 0x10 0x20"},
		"no name":         {"x profile: total 1\n1 @ 0x11 0x21\n#\t0x10\n#\t0x20\tf+0x1\tx.go:1\n", "[1] map[] map[] 0x10 f"},
		"nothing":         {"heap profile: 0: 0 [0: 1] @ heap/1048576\n\n# runtime.MemStats\n# Alloc = 1\n", ""},
		"heap, all":       {"heap profile: 1: 8 [2: 16] @ heap/2\n1: 8 [2: 16] @ 0x2\n", "[2 16 1 8] map[] map[bytes:[8]] 0x1"},
		"heap, estimated": {"heap profile: 1: 1024 [1: 1024] @ heap/1048576\n0: 0 [1: 524288] @ 0x2\n", "[1 829411 0 0] map[] map[bytes:[524288]] 0x1"},
		"block":           {"--- contention:\ncycles/second=2000000000\n3000 4 @ 0x2\n", "[4 1500] map[] map[] 0x1"},
		"mutex":           {"--- mutex:\ncycles/second=1000000000\nsampling period=5\n30 4 @ 0x2\n", "[20 150] map[] map[] 0x1"},
		"mutex, off":      {"--- mutex:\ncycles/second=1000000000\nsampling period=0\n30 4 @ 0x2\n", "[4 30] map[] map[] 0x1"},
	} {
		p, err := decoded([]byte(c.text), format.Hints{Only: format.Debug1})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, s := range p.Parsed.Sample {
			text := fmt.Sprint(s.Value, s.Label, s.NumLabel)
			for _, l := range s.Location {
				if len(l.Line) == 0 {
					text += fmt.Sprintf(" %#x", l.Address)
				} else {
					text += " " + l.Line[0].Function.Name
				}
			}
			got = append(got, text)
		}
		if got := strings.Join(got, "; "); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

// TestDebug1_Hostile refuses texts that are wrong or too large, and says where.
func TestDebug1_Hostile(t *testing.T) {
	const head, heap, mutex = "x profile: total 1\n", "heap profile: 1: 1 [1: 1] @ heap/1048576\n", "--- mutex:\ncycles/second=1\n"
	small := profile.Limits{Bytes: 100_000, Samples: 3, Depth: 4}
	deep := "1 @" + strings.Repeat(" 0x1", 5) + "\n"
	for name, c := range map[string]struct {
		text   string
		is     error
		saying string
	}{
		"a word":                 {head + "1 @ 0x1\nword\n", profile.ErrProfile, `line 3: want a sample, not "word"`},
		"an address":             {head + "1 @ 0x1ffffffffffffffff\n", profile.ErrProfile, "more than 64 bits"},
		"an address of a frame":  {head + "1 @ 0x1\n#\t0x1ffffffffffffffff\n", profile.ErrProfile, "line 3: an address"},
		"a number":               {head + "99999999999999999999 @ 0x1\n", profile.ErrProfile, "want a number of 64 bits"},
		"a line of a file":       {head + "1 @ 0x1\n#\t0x1\tf+0x1\tf.go:99999999999999999999\n", profile.ErrProfile, "line 3: want a number"},
		"a rate":                 {"heap profile: 1: 1 [1: 1] @ heap/99999999999999999999\n", profile.ErrProfile, "line 1: want a number"},
		"bytes of nothing":       {heap + "0: 5 [1: 5] @ 0x1\n", profile.ErrProfile, "5 bytes of no object"},
		"an estimate":            {heap + "1: 1 [9000000000000000000: 9000000000000000000] @ 0x1\n", profile.ErrProfile, "more than 64 bits"},
		"a delay":                {mutex + "9000000000000000000 1 @ 0x1\n", profile.ErrProfile, "more than 64 bits"},
		"contentions":            {"--- mutex:\nsampling period=9\n1 9000000000000000000 @ 0x1\n", profile.ErrProfile, "more than 64 bits"},
		"contentions, by a bit":  {"--- mutex:\nsampling period=103\n1 89547301328687144 @ 0x1\n", profile.ErrProfile, "more than 64 bits"},
		"a setting":              {"--- mutex:\nformat=java\n", profile.ErrProfile, "line 2: want cycles/second"},
		"labels, no brace":       {head + "1 @ 0x1\n# labels: x\n", profile.ErrProfile, "line 3: want labels"},
		"labels, cut":            {head + "1 @ 0x1\n# labels: {\"a\":\"b\"\n", profile.ErrProfile, "line 3: want labels"},
		"labels, a comma":        {head + "1 @ 0x1\n# labels: {\"a\":\"b\",}\n", profile.ErrProfile, "line 3: want labels"},
		"labels, no value":       {head + "1 @ 0x1\n# labels: {\"a\"}\n", profile.ErrProfile, "line 3: want labels"},
		"many samples":           {head + strings.Repeat("1 @ 0x1\n", 4), profile.ErrTooLarge, "line 5: "},
		"deep":                   {head + deep, profile.ErrTooLarge, "more than 4 functions"},
		"deep, not last":         {head + deep + "1 @\n", profile.ErrTooLarge, "line 3: "},
		"deep, frames":           {head + "1 @ 0x1\n" + strings.Repeat("#\t0x1\tf+0x1\tf.go:1\n", 5), profile.ErrTooLarge, "line 7: "},
		"large":                  {head + strings.Repeat("# \n", 50_000), profile.ErrTooLarge, "more than 100000 bytes"},
		"no newline, no samples": {"x profile: total 1", nil, ""},
		"names beyond UTF-8":     {"\xff profile: total 1\n1 @ 0x1\n#\t0x1\t\xfe+0x1\t\xfd:1\n# labels: {\"\\xff\":\"\\xff\"}\n", nil, ""},
	} {
		p, err := decoded([]byte(c.text), format.Hints{Only: format.Debug1, Limits: small})
		if !errors.Is(err, c.is) || err != nil && !strings.Contains(err.Error(), c.saying) {
			t.Errorf("%s: %v; want %v, %q", name, err, c.is, c.saying)
		}
		if err == nil {
			if err := p.Parsed.CheckValid(); err != nil {
				t.Errorf("%s: %v, %s", name, err, p.Parsed)
			}
		}
	}
}

// TestDebug1_Insert stores profiles as text: a block and a mutex profile are of two kinds, whatever their files are called.
func TestDebug1_Insert(t *testing.T) {
	db := newDB(t)
	for name, text := range texts(t) {
		opts := profile.InsertOptions{Time: time.Unix(1_790_000_000, 0), Origin: "mutex.txt"}
		if rows, err := format.Insert(t.Context(), db, text, format.Hints{}, opts); err != nil || rows == 0 && name != "threadcreate" {
			t.Errorf("%s: %d rows, %v", name, rows, err)
		}
	}
	err := db.Store().View(t.Context(), func(snap *columnstore.Snapshot) error {
		kinds, err := db.Kinds(t.Context(), snap, profile.Query{})
		names := map[string]bool{}
		for _, k := range kinds {
			names[k.String()] = true
		}
		if !names["block (contentions, delay)"] || !names["mutex (contentions, delay)"] {
			t.Errorf("kinds %v", names)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestInsert_Mended stores names that are not UTF-8 as U+FFFD, and counts them.
func TestInsert_Mended(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		mended int64
	}{
		"folded": {"main;caf\xe9 1\nmain;caf\xc3\xa9 1\n", 1},
		"debug1": {"\xff profile: total 1\n1 @ 0x1\n#\t0x1\t\xfe+0x1\t\xfd:1\n# labels: {\"\\xfc\":\"\\xfb\"}\n", 5},
		"perf":   {"\xff 1 1.5: cycles: \n\t1 \xfe (\xfd)\n", 3},
		"debug2": {"goroutine 1 [\xff]:\nmain.\xfe()\n\t/\xfd.go:5\n", 3},
	} {
		db := newDB(t)
		rows, err := format.Insert(t.Context(), db, []byte(c.text), format.Hints{}, profile.InsertOptions{Time: time.Unix(1_790_000_000, 0)})
		if err != nil || rows == 0 || db.Mended() != c.mended {
			t.Errorf("%s: %d rows, %d mended, %v", name, rows, db.Mended(), err)
		}
	}
}

// TestDebug1_Real reads a heap of another program.
func TestDebug1_Real(t *testing.T) {
	data, err := os.ReadFile("../../../shared/data/clients/heap.debug1.txt")
	if err != nil {
		t.Skip("there is no folder with files of other profilers beside this repository: ", err)
	}
	p, err := decoded(data, format.Hints{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := library.ParseData(data)
	if err == nil {
		err = asPprof(p.Parsed, want)
	}
	inuse := int64(0)
	for _, s := range p.Parsed.Sample {
		inuse += s.Value[3]
	}
	if text := fmt.Sprintf("%.2f MB", float64(inuse)/(1<<20)); err != nil || text != "12.10 MB" {
		t.Errorf("%v, %s in use", err, text)
	}
}

// octal matches numbers that the library reads with the base 8. The runtime writes none.
var octal = regexp.MustCompile(`(?m)(^|=)0\d`)

// FuzzDebug1 compares texts with the library of go tool pprof: where both read a text, types and values are the same.
func FuzzDebug1(f *testing.F) {
	f.Add([]byte("--- contention:\ncycles/second=2000000000\n3000 4 @ 0x2 0x3\n#\t0x1\tmain.f+0x4\t/a b/c.go:7\n#\t0x2\tmain.main+0x9\tc.go:8\n\n"))
	f.Add([]byte("threadcreate profile: total 2\n1 @\n#\t0x0\n\n1 @ 0x11\n#\t0x10\truntime.newm+0x1\tproc.go:1\n"))
	f.Add([]byte("--- mutex:\ncycles/second=1000000000\nsampling period=5\n30 4 @ 0x2\n#\t0x1\tf+0x1\tf.go:1\n"))
	f.Add([]byte("heap profile: 1: 1024 [2: 2048] @ heap/1048576\n-1: -1024 [2: 2048] @ 0x2 0x3\n"))
	f.Add([]byte("heap profile: 1: 2 [3: 4] @ heapprofile\n 1: 2 [ 3: 4] @ 0x02\nMAPPED_LIBRARIES:\n1-20 r-xp 0 0:0 0 a\n"))
	f.Add([]byte("x profile: total 1\n1 @ 0x1\n# labels: {\"a\":\"b\", \"c\":\"\\xff\"}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if format.Of(data) != format.Debug1 || !utf8.Valid(data) || octal.Match(data) {
			return
		}
		p, err := decoded(data, format.Hints{Limits: profile.Limits{Bytes: 1 << 16, Samples: 100, Depth: 10}})
		if err != nil {
			if !errors.Is(err, profile.ErrProfile) && !errors.Is(err, profile.ErrTooLarge) {
				t.Fatal(err)
			}
			return
		}
		if err := p.Parsed.CheckValid(); err != nil {
			t.Fatal(err)
		}
		want, err := library.ParseData(data)
		if err != nil || len(want.SampleType) != len(p.Parsed.SampleType) { // two types, if no object was freed
			return
		}
		if err := asPprof(p.Parsed, want); err != nil {
			t.Fatal(err)
		}
	})
}
