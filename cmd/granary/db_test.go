package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile"
)

// stored loads inputs into a new directory.
func stored(t *testing.T, args ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "db")
	if r := granary(t, append([]string{"load", "--db", dir}, args...)...); r.code != cli.ExitOK {
		t.Fatalf("load: %+v", r)
	}
	return dir
}

// A directory answers as its inputs do, for each command that reads profiles.
func TestDB_AnswersAsInputs(t *testing.T) {
	effort.Slow(t)
	inputs := filepath.Join("..", "..", "testdata", "profiles")
	if effort.Race { // fewer profiles are read by the same goroutines
		few := t.TempDir()
		for _, program := range []string{"compile", "nats-server", "pebble"} {
			if err := os.CopyFS(filepath.Join(few, program), os.DirFS(filepath.Join(inputs, program))); err != nil {
				t.Fatal(err)
			}
		}
		inputs = few
	}
	dir := filepath.Join(t.TempDir(), "db")
	names, err := os.ReadDir(inputs)
	if err != nil {
		t.Fatal(err)
	}
	var args []string // a load for each program, with each policy
	for i, name := range slices.DeleteFunc(names, func(e os.DirEntry) bool { return !e.IsDir() }) {
		arg := filepath.Join(inputs, name.Name())
		args = append(args, arg)
		if r := granary(t, "load", "--db", dir, "--cumulative", "sum", "--sync", disk.SyncNames()[i%len(disk.SyncNames())], arg); r.code != cli.ExitOK {
			t.Fatalf("load: %+v", r)
		}
	}
	for _, command := range [][]string{
		{"top", "--json", "--sample-index", "cpu"},
		{"top", "--json"}, // the default type
		{"top", "--json", "--sample-index", "inuse_space", "--from", "latest-100s"}, // rounded means
		{"peek", "gcBgMarkWorker$", "--json", "--sample-index", "cpu"},
		{"labels", "--json"},
		{"labels", "--json", "--name", "file"},
		{"series", "--json", "--sample-index", "cpu"},
		{"series", "--json", "--by", "file", "--sample-index", "inuse_space"},
		{"flamegraph", "-o", "-", "--sample-index", "cpu"},
		{"merge", "-o", "-", "--format", "folded", "--sample-index", "cpu"},
		{"merge", "-o", "-", "--format", "speedscope", "--sample-index", "alloc_space"},
		{"merge", "-o", "-", "--selector", `{__name__="mutex"}`},
		{"top", "--sample-index", "contentions"}, // an error that names the kinds and their inputs
		{"export", "-o", "-", "--format", "arrow", "--stacks", "ids"},
		{"export", "-o", "-", "--format", "parquet", "--sample-index", "cpu"},
	} {
		want := granary(t, append(append(slices.Clone(command), "--cumulative", "sum"), args...)...)
		got := granary(t, append(slices.Clone(command), "--db", dir)...)
		if got != want {
			t.Errorf("%q: %s", command, cmp.Diff(clipped(want), clipped(got)))
		}
	}
	r := granary(t, "diff", "--json", "--sample-index", "cpu", "--db", dir, inputs)
	if r.code != cli.ExitOK || !strings.Contains(r.stdout, `"functions": []`) {
		t.Errorf("diff of a directory and its inputs: %.2000v", r)
	}
	r = granary(t, "diff", "--json", "--sample-index", "cpu", "--db", dir, "--db", stored(t, args[0]))
	if want := granary(t, "diff", "--json", "--sample-index", "cpu", inputs, args[0]); r.code != cli.ExitOK || r.stdout != want.stdout {
		t.Errorf("diff of two directories: %s", cmp.Diff(clipped(want), clipped(r)))
	}
}

// clipped returns a result whose output is short enough to print.
func clipped(r result) []string {
	return []string{r.stdout[:min(len(r.stdout), 2000)], r.stderr}
}

// What load prints, and that profiles count as often as they are loaded.
func TestLoad_Twice(t *testing.T) {
	input := file(t, "cpu.pb.gz", service())
	dir := filepath.Join(t.TempDir(), "db")
	for i, want := range []string{"total 1 s", "total 2 s"} {
		r := granary(t, "load", "--db", dir, "--label", "job=api", input)
		rows := []string{"has 10 rows in ", "has 20 rows in "}[i]
		if r.code != cli.ExitOK || !strings.HasPrefix(r.stdout, "Stored 1 profile, 10 rows\n"+dir) || !strings.Contains(r.stdout, rows) {
			t.Errorf("load: %+v", r)
		}
		if r := granary(t, "top", "--db", dir, "--selector", `{job="api"}`, "--sample-index", "cpu"); !strings.Contains(r.stdout, want) {
			t.Errorf("after %d loads: %+v", i+1, r)
		}
	}
	r := granary(t, "labels", "--db", dir, "--name", "file")
	if !strings.Contains(r.stdout, input+" (2)") {
		t.Errorf("the second load has no name of its own: %+v", r)
	}
}

// Inputs that cannot be read do not keep the others out.
func TestLoad_SomeInputsAreBad(t *testing.T) {
	bad, dir := write(t, "bad.pb.gz", []byte("bad")), filepath.Join(t.TempDir(), "db")
	r := granary(t, "load", "--db", dir, bad, file(t, "good.pb.gz", service()))
	if r.code != cli.ExitFailed || len(r.problems()) != 1 || !strings.Contains(r.stderr, bad) || !strings.HasPrefix(r.stdout, "Stored 1 profile, 10 rows\n") {
		t.Errorf("%+v", r)
	}
	if r := granary(t, "load", "--db", dir, bad); r.code != cli.ExitFailed || r.stdout != "" {
		t.Errorf("%+v", r)
	}
	if r := granary(t, "top", "--db", dir); !strings.Contains(r.stdout, "total 1 s") {
		t.Errorf("%+v", r)
	}
}

func TestDB_Inspect(t *testing.T) {
	dir := stored(t, services(t, time.Minute))
	if r := granary(t, "history", "load", "--db", dir, "synth:10:10"); r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	var found struct {
		Rows  int64
		Bytes map[string]int64
		Disk  struct {
			Log, Files int64
			FileBytes  int64 `json:"file_bytes"`
		}
	}
	r := granary(t, "inspect", "--json", "--db", dir)
	if err := json.Unmarshal([]byte(r.stdout), &found); err != nil || found.Rows != 40 {
		t.Fatalf("%v: %+v", err, r)
	}
	files, bytes := int64(0), int64(0)
	for _, pattern := range []string{"rows-*", "dicts-*", "states-*"} {
		names, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, name := range names {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			files, bytes = files+1, bytes+info.Size()
		}
	}
	const manifests = 2 // at most
	if d := found.Disk; d.Files <= files || d.Files > files+manifests || d.FileBytes <= bytes || d.Log == 0 {
		t.Errorf("disk %+v, want %d files of %d bytes and manifests, and a log", d, files, bytes)
	}
	sum := int64(0)
	for _, bytes := range found.Bytes {
		sum += bytes
	}
	if total := found.Bytes["total"]; sum != 2*total || found.Bytes["histories"] == 0 {
		t.Errorf("bytes %v do not sum to their total", found.Bytes)
	}
	r = granary(t, "inspect", "--db", dir, "--granule-rows", "12", "--compact")
	if !strings.Contains(r.stdout, " + histories ") || !strings.Contains(r.stdout, "\nDisk: log ") || !strings.Contains(r.stdout, "\nGranule 2: ") {
		t.Errorf("%+v", r)
	}
}

// filesOf returns a directory's files.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(data)
	}
	return out
}

// A question writes no rows and no dictionaries.
func TestDB_ReadLeavesFiles(t *testing.T) {
	dir := stored(t, services(t, time.Minute))
	before := filesOf(t, dir)
	for range 2 {
		if r := granary(t, "top", "--db", dir); r.code != cli.ExitOK {
			t.Fatalf("%+v", r)
		}
	}
	after := filesOf(t, dir)
	if len(after) != len(before) {
		t.Errorf("%d files, %d before", len(after), len(before))
	}
	for name, data := range before {
		if kind, _, _ := strings.Cut(name, "-"); (kind == "rows" || kind == "dicts") && after[name] != data {
			t.Errorf("%s has changed or gone", name)
		}
	}
}

// Directories that cannot be read are one line that names them, and stay as they are.
func TestDB_BadDirectories(t *testing.T) {
	missing, empty := filepath.Join(t.TempDir(), "missing"), t.TempDir()
	plain := write(t, "plain", []byte("text"))
	locked := stored(t, services(t, time.Minute))
	store, err := columnstore.Open(columnstore.Options{Dir: locked})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	other := filepath.Join(t.TempDir(), "other")
	if err := fillOther(other); err != nil {
		t.Fatal(err)
	}
	damaged, damagedFile := changed(t, "rows-*", func(data []byte) { data[len(data)/2] ^= 1 })
	newer, newerFile := changed(t, "rows-*", func(data []byte) {
		data[4]++ // the version in the header, which has a checksum
		binary.LittleEndian.PutUint32(data[60:], crc32.Checksum(data[:60], crc32.MakeTable(crc32.Castagnoli)))
	})
	for _, tc := range []struct{ name, dir, want string }{
		{"missing", missing, "there is no such directory"},
		{"empty", empty, "there are no profiles in it"},
		{"file", plain, "it is a file, or below one: want a directory"},
		{"in use", locked, "another process has it open"},
		{"other table", other, `no table "profiles"`},
		{"damaged", damaged, damagedFile + " is damaged"},
		{"newer", newer, newerFile + ": format is newer than this program"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, args := range [][]string{{"top"}, {"inspect"}, {"export", "-o", filepath.Join(t.TempDir(), "x.arrows")}, {"diff", "--db", tc.dir}} {
				r := granary(t, append(args, "--db", tc.dir)...)
				if r.code != cli.ExitFailed || len(r.problems()) != 1 || !strings.Contains(r.stderr, "--db "+tc.dir+": ") || !strings.Contains(r.stderr, tc.want) || r.stdout != "" {
					t.Errorf("%s: %+v", args[0], r)
				}
			}
		})
	}
	if _, err := os.Stat(missing); !os.IsNotExist(err) {
		t.Errorf("a question made the directory: %v", err)
	}
	if left := filesOf(t, empty); len(left) > 0 {
		t.Errorf("a question made files: %v", left)
	}
	if r := granary(t, "load", "--db", locked, file(t, "cpu.pb.gz", service())); r.code != cli.ExitFailed || !strings.Contains(r.stderr, "another process has it open") {
		t.Errorf("load: %+v", r)
	}
}

// TestLoad_NothingStored makes no directory if no input is a profile, and one with the profiles after bad inputs.
func TestLoad_NothingStored(t *testing.T) {
	notes := write(t, "notes.txt", []byte("to be or not to be\n"))
	dir, empty := filepath.Join(t.TempDir(), "new.db"), t.TempDir()
	for _, to := range []string{dir, empty} {
		for _, input := range []string{notes, filepath.Join(empty, "none.pb.gz")} {
			if r := granary(t, "load", "--db", to, input); r.code != cli.ExitFailed || len(r.problems()) != 1 {
				t.Errorf("%+v", r)
			}
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("load left a directory: %v", err)
	}
	if left := filesOf(t, empty); len(left) > 0 {
		t.Errorf("load left files: %v", left)
	}
	if r := granary(t, "load", "--db", dir, notes, file(t, "cpu.pb.gz", service()), notes); r.code != cli.ExitFailed || !strings.HasPrefix(r.stdout, "Stored 1 profile, ") {
		t.Errorf("%+v", r)
	}
	if r := granary(t, "load", "--db", filepath.Join(notes, "sub"), file(t, "cpu.pb.gz", service())); r.code != cli.ExitFailed || len(r.problems()) != 1 || !strings.Contains(r.stderr, "want a directory") {
		t.Errorf("%+v", r)
	}
}

// fillOther makes a directory whose store has no table of profiles under the command's name.
func fillOther(dir string) error {
	store, err := columnstore.Open(columnstore.Options{Dir: dir})
	if err != nil {
		return err
	}
	if _, err := profile.Open(store, profile.Options{Table: "others"}); err != nil {
		return err
	}
	return store.Close()
}

// changed makes a directory, changes its first file of a pattern and returns the name of both.
func changed(t *testing.T, pattern string, change func(data []byte)) (dir, name string) {
	t.Helper()
	dir = stored(t, services(t, time.Minute))
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no file %s, %v", pattern, err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	change(data)
	if err := os.WriteFile(names[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, filepath.Base(names[0])
}

func TestDB_WrongUse(t *testing.T) {
	good := file(t, "good.pb.gz", service())
	dir := stored(t, good)
	folder := filepath.Dir(good)
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"load", good}, "--db DIR is missing"},
		{[]string{"load", "--db", "", good}, "--db has no name"},
		{[]string{"load", "--db", dir}, "name at least one profile"},
		{[]string{"load", "--db", dir, "--sync", "daily", good}, `--sync "daily": want periodically, each or never`},
		{[]string{"load", "--db", folder, good}, "it has other files"},
		{[]string{"demo", "--db", folder}, "it has other files"},
		{[]string{"top", "--db", "", good}, "leave out"},
		{[]string{"top", "--db", ""}, "--db has no name"},
		{[]string{"top", "--db", dir, good}, "instead of inputs"},
		{[]string{"top", "--db", dir, "--db", dir}, "too often"},
		{[]string{"top", "--db", dir, "--label", "a=b"}, "--label is about inputs"},
		{[]string{"inspect", "--db", dir, "--seconds", "3"}, "--seconds is about inputs"},
		{[]string{"peek", "--db", dir}, "name a function"},
		{[]string{"diff", "--db", dir}, "diff compares two inputs"},
		{[]string{"diff", "--db", dir, "--db", dir, good}, "instead of inputs"},
		{[]string{"diff", "--db", dir, "--db", dir, "--db", dir}, "diff compares two inputs"},
		{[]string{"export", "--demo", "1m", "--db", dir, "-o", "x.parquet"}, "--demo and --db: choose one"},
	} {
		if r := granary(t, tc.args...); r.code != cli.ExitUsage || !strings.Contains(r.stderr, tc.want) || r.stdout != "" {
			t.Errorf("%q: %+v, want %q", tc.args, r, tc.want)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "lock")); !os.IsNotExist(err) {
		t.Errorf("load wrote into a folder of profiles: %v", err)
	}
}

// A load that is killed leaves its first profiles, whole.
func TestLoad_Killed(t *testing.T) {
	effort.Long(t)
	if runtime.GOOS == "windows" {
		t.Skip("a killed process keeps its files open for a moment")
	}
	inputs, dir, all := t.TempDir(), "", 400
	for killed := false; !killed; all *= 2 { // a process that ends before it is killed gets twice as many profiles
		for i := range all {
			p := service()
			p.TimeNanos += int64(i)
			file(t, filepath.Join(inputs, fmt.Sprintf("%06d.pb.gz", i)), p)
		}
		dir = filepath.Join(t.TempDir(), "db")
		killed = killLoad(t, dir, inputs)
	}
	r := granary(t, "labels", "--db", dir, "--json", "--name", "file")
	var found struct{ Values []struct{ Value string } }
	if err := json.Unmarshal([]byte(r.stdout), &found); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	n := len(found.Values)
	if n < 10 {
		t.Errorf("%d profiles are left", n)
	}
	for i, v := range found.Values {
		if want := filepath.Join(inputs, fmt.Sprintf("%06d.pb.gz", i)); v.Value != want {
			t.Errorf("profile %d is %s, want %s", i, v.Value, want)
		}
	}
	r = granary(t, "inspect", "--db", dir)
	if !strings.Contains(r.stdout, cli.Many(10*n, "row")+",") {
		t.Errorf("want %d rows: %+v", 10*n, r)
	}
	t.Logf("%d of %d profiles were stored", n, all/2)
}

// killLoad kills a load after a few of its profiles, and reports whether it was not over before.
func killLoad(t *testing.T, dir, inputs string) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0], "load", "--db", dir, "--sync", "each", inputs)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for { // until the log has twenty profiles: each has its path twice
		if data, err := os.ReadFile(filepath.Join(dir, "log-000000000001")); err == nil && bytes.Count(data, []byte(inputs)) > 40 {
			break
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("the load failed: %v", err)
			}
			return false
		case <-time.After(time.Millisecond):
		}
	}
	_ = cmd.Process.Kill() // it may have ended meanwhile
	return <-ended != nil
}

// A store that is named as an input is none, and the error says how it is asked.
func TestDB_AsInput(t *testing.T) {
	cpu := file(t, "cpu.pb.gz", service())
	dir := stored(t, cpu)
	for _, args := range [][]string{{"top"}, {"diff", cpu}, {"series"}, {"export", "-o", filepath.Join(t.TempDir(), "rows.parquet")}, {"peek", "main"}} {
		if r := granary(t, append(args, dir)...); r.code != cli.ExitUsage || !strings.Contains(r.stderr, "it is the directory of a store: use --db "+dir) {
			t.Errorf("%q: %+v", args, r)
		}
	}
	for _, args := range [][]string{{"view", "--no-open"}, {"push", "--to", "localhost:1"}, {"load", "--db", filepath.Join(t.TempDir(), "db")}} {
		if r := granary(t, append(args, dir)...); r.code != cli.ExitUsage || !strings.Contains(r.stderr, "granary serve --db "+dir+" shows it") {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

// The demo can keep its fleet.
func TestDemo_DB(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	if err := demo(t.Context(), io.Discard, io.Discard, t.TempDir(), columnstore.Options{Dir: dir}, 3); err != nil {
		t.Fatal(err)
	}
	if r := granary(t, "labels", "--db", dir); r.code != cli.ExitOK || !strings.Contains(r.stdout, "pod") {
		t.Errorf("%+v", r)
	}
	before := bytesOf(t, dir)
	if r := granary(t, "demo", "--span", "10s", "--db", dir); r.code != cli.ExitUsage || !strings.Contains(r.stderr, "there is a store in it already") {
		t.Errorf("a second demo: %+v", r)
	}
	if !maps.Equal(bytesOf(t, dir), before) {
		t.Error("a second demo changed the directory")
	}
}

// --disk-budget is for directories that are written, and says what it wants.
func TestDB_DiskBudget(t *testing.T) {
	inputs := filepath.Join("..", "..", "testdata", "profiles")
	dir := filepath.Join(t.TempDir(), "db")
	for _, args := range [][]string{
		{"load", "--db", dir, "--disk-budget", "1MiB", inputs},
		{"load", "--db", dir, "--disk-budget", "much", inputs},
		{"demo", "--disk-budget", "1GiB", "--span", "1m"},
	} {
		if r := granary(t, args...); r.code != cli.ExitUsage || !strings.Contains(r.stderr, "--disk-budget") {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory was made: %v", err)
	}
	if r := granary(t, "load", "--db", dir, "--disk-budget", "16MiB", inputs); r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	if r := granary(t, "labels", "--db", dir); r.code != cli.ExitOK || !strings.Contains(r.stdout, "file") {
		t.Errorf("%+v", r)
	}
}
