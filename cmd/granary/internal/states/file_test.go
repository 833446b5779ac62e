package states

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/clitest"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/file"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/ihs"
	"github.com/granarydb/granary/trace"
)

// smallCache makes history files keep as few blocks as package paged allows, until the test ends.
func smallCache(t testing.TB) {
	t.Helper()
	was := cacheBytes
	cacheBytes = 1
	t.Cleanup(func() { cacheBytes = was })
}

// done calls the program, which must succeed, and returns its output.
func done(t testing.TB, args ...string) string {
	t.Helper()
	r := granary(t, append([]string{"history"}, args...)...)
	if r.code != cli.ExitOK {
		t.Fatalf("%q: %+v", args, r)
	}
	return r.stdout
}

// names returns the files of the current folder.
func names(t testing.TB) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// TestFileAnswers: each command answers the same from a history file as from the set and the CSV that it is made of.
func TestFileAnswers(t *testing.T) {
	inSet(t)
	const want = ": 24 intervals of 10 attributes, from 2026-01-31T09:00:00Z to 2026-01-31T09:00:10Z, in "
	for _, args := range [][]string{
		{"a.history", "run"}, {"b.history", "states.csv"}, {"c.history", "--unit", "s", "states.csv"}, {"d.HISTORY", "a.history"},
	} {
		name := args[0]
		if got := done(t, append([]string{"import", "-o"}, args...)...); !strings.HasPrefix(got, name+want) {
			t.Errorf("%q, want %q", got, name+want)
		}
		if got := done(t, "verify", name); !strings.Contains(got, "Whole:   24 intervals") {
			t.Error(got)
		}
	}
	if err := os.Rename("c.history", "c.data"); err != nil { // known by its header
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"at", "FILE", "CPUs/0", "+2.25s"},
		{"at", "--json", "FILE", "Threads/4297/Exec_name", "50%"},
		{"slice", "FILE", "+2.25s"},
		{"slice", "--nulls", "--csv", "--match", "CPUs/*/..", "FILE", "+2.25s"},
		{"range", "FILE", "CPUs/0"},
		{"range", "--resolution", "3s", "FILE", "CPUs/0"},
		{"sample", "--csv", "--nulls", "--pixels", "100000", "FILE"},
		{"slice", "--format", "arrow", "-o", "-", "FILE", "+2.25s"},
		{"plot", "-o", "-", "--title", "run", "FILE"},
		{"plot", "-o", "-", "--title", "run", "--match", "CPUs/*", "FILE"},
	} {
		of := func(name string) string {
			given := append([]string(nil), args...)
			for i := range given {
				if given[i] == "FILE" {
					given[i] = name
				}
			}
			return done(t, given...)
		}
		want := of("run")
		for _, name := range []string{"a.history", "b.history", "c.data", "./d.HISTORY"} {
			if got := of(name); got != want {
				t.Errorf("%q of %s:\n%s\nwant\n%s", args, name, got, want)
			}
		}
	}
	if picture := done(t, "plot", "-o", "-", "a.history"); !strings.Contains(picture, `class="title" x="10" y="28">a</text>`) {
		t.Error("the title of the picture is not the name of the file")
	}
	if got := done(t, "load", "--db", "db", "a.history"); !strings.HasPrefix(got, "Stored a"+strings.TrimSuffix(want, ", in ")) {
		t.Error(got)
	}
	if got, want := done(t, "slice", "--db", "db", "a", "50%"), done(t, "slice", "run", "50%"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestFileGolden: what info and verify print of a file. Sizes depend on the library that compresses.
func TestFileGolden(t *testing.T) {
	goldens, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	inSet(t)
	if err := os.Symlink(goldens, "testdata"); err != nil {
		t.Fatal(err)
	}
	done(t, "import", "-o", "run.history", "run")
	data, err := os.ReadFile("run.history")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(mustWd(t), "cut.history"), append(data, make([]byte, 3000)...))
	size := regexp.MustCompile(`[0-9.]+ ([KM]i)?B\b`)
	for name, args := range map[string][]string{"info-file": {"info", "run.history"}, "info-lost": {"info", "cut.history"}, "verify": {"verify", "run.history"}} {
		clitest.Golden(t, name+".golden", size.ReplaceAllString(done(t, args...), "SIZE"))
	}
	var got recordingInfo
	if err := json.Unmarshal([]byte(done(t, "info", "--json", "cut.history")), &got); err != nil {
		t.Fatal(err)
	}
	f := got.File
	if f == nil || f.Provider != "granary history import 1" || f.Blocks != 1 || f.BlockBytes <= 0 || f.RawBytes < f.BlockBytes || f.Lost != 3000 || !f.Closed ||
		got.Bytes != int64(len(data))+3000 || got.Intervals != 24 {
		t.Errorf("%+v, %+v", got, f)
	}
}

// noise saves a set of random states in the current folder, which do not compress, and returns the number of its intervals.
func noise(t testing.TB, name string, attributes, changes int) int {
	t.Helper()
	random := rand.New(rand.NewPCG(7, 8))
	s := &ihs.Set{Header: ihs.Header{Keys: attributes, Intervals: attributes * changes, End: int64(attributes*changes)*1000 - 1}}
	starts := make([]int64, attributes)
	put := func(key int, end int64) {
		s.Keys, s.Starts, s.Ends = append(s.Keys, uint32(key)), append(s.Starts, starts[key]), append(s.Ends, end)
		s.Kinds, s.Words = append(s.Kinds, ihs.KindLong), append(s.Words, random.Uint64()>>20)
		starts[key] = end + 1
	}
	for key := range attributes {
		s.Attributes = append(s.Attributes, ihs.Attribute{Parent: ihs.NoParent, Name: strconv.Itoa(key)})
	}
	for i := range attributes * (changes - 1) {
		put(i%attributes, int64(i)*1000+random.Int64N(1000))
	}
	for key := range attributes {
		put(key, s.Header.End)
	}
	save(t, s, name)
	return s.Len()
}

// TestFileDamage: a block that is damaged is an error of each question that needs it, which names the file, and verify lists all of
// them. Other questions are answered.
func TestFileDamage(t *testing.T) {
	t.Chdir(t.TempDir())
	noise(t, "run", 70, 1000)
	done(t, "import", "-o", "run.history", "run")
	whole, err := os.ReadFile("run.history")
	if err != nil {
		t.Fatal(err)
	}
	want := done(t, "at", "run", "3", "0%")
	r, err := file.Open("run.history", fileOptions(ourProvider+providerVersion))
	if err != nil {
		t.Fatal(err)
	}
	blocks, _, _ := r.Blocks()
	if err := r.Close(); err != nil || blocks < 6 {
		t.Fatal(blocks, err)
	}
	if err := os.Mkdir("sub", 0o700); err != nil {
		t.Fatal(err)
	}
	bad := bytes.Clone(whole)
	bad[2*(64<<10)] ^= 1
	bad[4*(64<<10)] ^= 1
	write(t, filepath.Join(mustWd(t), "sub", "bad.history"), bad)
	v := granary(t, "history", "verify", "sub/bad.history")
	if v.code != cli.ExitFailed || strings.Count(v.stdout, "Damaged: byte ") != 2 ||
		!strings.Contains(v.stderr, fmt.Sprintf("sub/bad.history: 2 of %d blocks are damaged", blocks)) {
		t.Errorf("%+v", v)
	}
	var report fileReport
	v = granary(t, "history", "verify", "--json", "sub/bad.history")
	if err := json.Unmarshal([]byte(v.stdout), &report); err != nil || v.code != cli.ExitFailed || len(report.Damages) != 2 || report.Blocks != blocks {
		t.Errorf("%v, %+v", err, v)
	}
	for _, d := range report.Damages {
		if d.Offset <= 0 || d.Reason != "the checksum of a block is wrong" {
			t.Errorf("%+v", d)
		}
	}
	if got := done(t, "at", "sub/bad.history", "3", "0%"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for _, args := range [][]string{{"range", "sub/bad.history", "3"}, {"info", "sub/bad.history"}, {"plot", "-o", "-", "sub/bad.history"}, {"plot", "--fold", "--rows", "5", "-o", "-", "sub/bad.history"}, {"import", "-o", "x.history", "sub/bad.history"}} {
		r := granary(t, append([]string{"history"}, args...)...)
		if r.code != cli.ExitFailed || !strings.Contains(r.stderr, "sub/bad.history is damaged at byte ") || len(r.problems()) != 1 {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if all := strings.Join(names(t), " "); strings.Contains(all, "x.history") {
		t.Errorf("an import that failed left %s", all)
	}
}

// TestFileBroken: files that were cut, are of other formats, providers and versions, or are none.
func TestFileBroken(t *testing.T) {
	inSet(t)
	dir := mustWd(t)
	done(t, "import", "-o", "run.history", "run")
	whole, err := os.ReadFile("run.history")
	if err != nil {
		t.Fatal(err)
	}
	create := func(name, provider string, closed bool) {
		w, err := file.Create(name, file.Options{Provider: provider})
		if err != nil {
			t.Fatal(err)
		}
		tx, err := w.History.Begin()
		if err != nil {
			t.Fatal(err)
		}
		a, err := tx.Attribute("door", "open")
		if err != nil {
			t.Fatal(err)
		}
		for i := range int64(4) {
			if err := tx.Change(i*1e9, a, history.Bool(i%2 == 1)); err != nil {
				t.Fatal(err)
			}
		}
		if !closed {
			tx.Abort()
		} else if _, err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	create("other.history", "a program 3", true)
	create("old.history", "granary history import 0", true)
	create("empty.history", "granary history import 1", false)
	format := bytes.Clone(whole)
	format[8]++ // under a wrong checksum
	write(t, filepath.Join(dir, "format.history"), format)
	write(t, filepath.Join(dir, "cut.history"), whole[:len(whole)-1])
	write(t, filepath.Join(dir, "head.data"), whole[:20])
	write(t, filepath.Join(dir, "none.history"), []byte("no history"))
	if got := done(t, "range", "--csv", "other.history", "door/open"); !strings.Contains(got, "\n1000000000,1999999999,door/open,true,bool\n") {
		t.Error(got)
	}
	if got := done(t, "info", "other.history"); !strings.Contains(got, "Made:   by a program 3, which had not closed the history") {
		t.Error(got)
	}
	for name, want := range map[string]string{
		"old.history":     "old.history: version 0 of granary history import made it, and this is version 1: import it again",
		"empty.history":   "empty.history: the history has no states",
		"format.history":  "format.history is damaged at byte 0: the checksum of the header is wrong",
		"cut.history":     "cut.history: the history has no states: its writer was stopped",
		"head.data":       "head.data is damaged at byte 0",
		"none.history":    "none.history is damaged at byte 0: it does not begin as a history: it is no history file",
		"nothing.history": "nothing.history: no such file or directory",
	} {
		for _, args := range [][]string{{"info", name}, {"at", name, "CPUs/0", "50%"}, {"verify", name}, {"import", "-o", "out.history", name}, {"load", "--db", "db", name}} {
			r := granary(t, append([]string{"history"}, args...)...)
			if r.code != cli.ExitFailed || len(r.problems()) != 1 || !strings.Contains(r.stderr, want) || r.stdout != "" {
				t.Errorf("%q: %+v, want %q", args, r, want)
			}
		}
	}
	lost := append(bytes.Clone(whole), whole...)
	write(t, filepath.Join(dir, "lost.history"), lost)
	r := granary(t, "history", "verify", "lost.history")
	if r.code != cli.ExitFailed || !strings.Contains(r.stdout, "Lost:") || !strings.Contains(r.stderr, "lost.history: ") {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat("db"); err == nil {
		t.Error("a load that failed left a directory")
	}
}

// TestFileWrongUse: usage errors of import and verify.
func TestFileWrongUse(t *testing.T) {
	inSet(t)
	done(t, "import", "-o", "run.history", "run")
	for want, args := range map[string][]string{
		"a set is made of CSV: add -o FILE.history":           {"import", "-o", "x", "run.history"},
		"run: several files must be CSV":                      {"import", "-o", "x.history", "states.csv", "run"},
		"--unit is for CSV, and run is another recording":     {"import", "-o", "x.history", "--unit", "s", "run"},
		"-o run.history: the output is an input":              {"import", "-o", "run.history", "run.history"},
		"states.csv is no history file":                       {"verify", "states.csv"},
		"name one file, not 0":                                {"verify"},
		"-o ./run.history: the output is an input":            {"plot", "-o", "./run.history", "run.history"},
		"name at least one CSV file or other recording, or -": {"import", "-o", "x.history"},
	} {
		r := granary(t, append([]string{"history"}, args...)...)
		if r.code != cli.ExitUsage || len(r.problems()) != 1 || !strings.Contains(r.stderr, want) {
			t.Errorf("%q: %+v, want %q", args, r, want)
		}
	}
	if r := granary(t, "history", "verify", "nothing"); r.code != cli.ExitFailed || !strings.Contains(r.stderr, "nothing: no such file") {
		t.Errorf("%+v", r)
	}
}

// TestFileStopped: after an error amid a recording, or an interrupt, the output that was there is as it was, and nothing is left.
func TestFileStopped(t *testing.T) {
	t.Chdir(t.TempDir())
	noise(t, "run", 70, 400)
	data, err := os.ReadFile("run.ihs.gz")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(mustWd(t), "run.ihs.gz"), data[:len(data)-len(data)/10])
	write(t, filepath.Join(mustWd(t), "out.history"), []byte("as it was"))
	before := names(t)
	check := func(what string) {
		t.Helper()
		old, err := os.ReadFile("out.history")
		if after := names(t); err != nil || string(old) != "as it was" || strings.Join(after, " ") != strings.Join(before, " ") {
			t.Errorf("%s: %q, %v, files %q, want %q", what, old, err, after, before)
		}
	}
	if r := granary(t, "history", "import", "-o", "out.history", "run"); r.code != cli.ExitFailed || !strings.Contains(r.stderr, "granary: run: ") {
		t.Errorf("%+v", r)
	}
	check("error")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	if code := run(ctx, []string{"history", "import", "-o", "out.history", "synth:100:100"}, &stdout, &stderr); code != cli.ExitInterrupted || stdout.Len() > 0 {
		t.Errorf("exit code %d: %s%s", code, &stdout, &stderr)
	}
	check("interrupt")
	r := granary(t, "history", "import", "-o", "none/out.history", "synth:10:10")
	if r.code != cli.ExitFailed || !strings.Contains(r.stderr, "none/out.history") {
		t.Errorf("%+v", r)
	}
	check("no folder")
	if err := os.Mkdir("folder.history", 0o700); err != nil {
		t.Fatal(err)
	}
	before = names(t)
	r = granary(t, "history", "import", "-o", "folder.history", "synth:10:10")
	if r.code != cli.ExitFailed || !strings.Contains(r.stderr, "folder.history is no regular file") {
		t.Errorf("%+v", r)
	}
	check("a folder")
}

// TestFileReplaced: a file is replaced as a whole, with its permissions, and a link stays a link.
func TestFileReplaced(t *testing.T) {
	t.Chdir(t.TempDir())
	done(t, "import", "-o", "a.history", "synth:10:10")
	if err := os.Chmod("a.history", 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.history", "link.history"); err != nil {
		t.Fatal(err)
	}
	done(t, "import", "-o", "link.history", "synth:20:10")
	info, err := os.Lstat("a.history")
	link, err2 := os.Lstat("link.history")
	if err != nil || err2 != nil || info.Mode().Perm() != 0o640 || link.Mode().Type() != os.ModeSymlink || !strings.Contains(done(t, "info", "a.history"), "20 attributes") {
		t.Error(info, err, link, err2)
	}
}

// TestFileLargerThanMemory: a recording whose states take many times the cache is written and read in a heap of little more than
// that, and all answers are those of the history in memory.
func TestFileLargerThanMemory(t *testing.T) {
	effort.Long(t)
	t.Chdir(t.TempDir())
	smallCache(t)
	intervals := effort.Part(160_000, 4)
	if effort.Race { // one goroutine asks, and its heap is not measured
		intervals = 4_000
	}
	name := fmt.Sprintf("synth:100:%d", intervals)
	want, err := trace.Load(t.Context(), name, trace.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n, states := want.Intervals, want.Bytes
	want = nil
	sample := answer(t, "sample", "--csv", "--pixels", "30", name)
	const bound = 8 << 20
	if states < bound*3/2-1<<20 && !effort.Race {
		t.Fatalf("%d bytes of states show nothing", states)
	}
	most := heapOf(t, bound, func() {
		if got := answer(t, "import", "-o", "run.history", name); !strings.Contains(got, fmt.Sprintf(": %s of 100 attributes", cli.Many(n, "interval"))) {
			t.Error(got)
		}
	})
	t.Logf("%d bytes of states in memory; import takes %d of heap", states, most)
	if !effort.Race && most > bound {
		t.Errorf("import takes %d bytes of heap, at most %d", most, bound)
	}
	most = heapOf(t, bound, func() {
		if got := answer(t, "info", "run.history"); !strings.Contains(got, cli.Many(n, "interval")) {
			t.Error(got)
		}
		if got := answer(t, "sample", "--csv", "--pixels", "30", "run.history"); got != sample {
			t.Errorf("%d bytes of samples, want %d", len(got), len(sample))
		}
	})
	t.Logf("info and sample take %d", most)
	if !effort.Race && most > bound {
		t.Errorf("questions take %d bytes of heap, at most %d", most, bound)
	}
}

// answer calls the program, which must succeed and may show progress, and returns its output.
func answer(t testing.TB, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(context.Background(), append([]string{"history"}, args...), &stdout, &stderr); code != cli.ExitOK {
		t.Fatalf("%q: exit code %d: %s", args, code, &stderr)
	}
	return stdout.String()
}

// heapOf returns the most bytes that the heap had more while do ran, in the best of five runs that are not within enough: on a
// busy machine a collection takes long, and all that is allocated meanwhile counts. Memory that do needs counts in each run.
func heapOf(t testing.TB, enough int64, do func()) int64 {
	t.Helper()
	least := int64(math.MaxInt64)
	for run := 0; run < 5 && least > enough; run++ {
		least = min(least, heapOnce(do))
	}
	return least
}

// heapOnce returns the most bytes that live objects had more while do ran, at the end of a collection. Garbage does not
// count, because on a busy machine the collector falls behind. A collection comes each tenth of the live heap; a peak between
// two does not count.
func heapOnce(do func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	now := func() int64 {
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	runtime.GC()
	base := now()
	most := base
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				most = max(most, now())
			}
		}
	}()
	do()
	close(stop)
	<-stopped
	return most - base
}
