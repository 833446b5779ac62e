package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/cmd/granary/internal/check"
	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/effort"
)

// ordersRepository makes a repository of the program in testdata/orders, with one commit, and enters it.
func ordersRepository(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "orders"))); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	overwrite(t, "go.mod", "module example.com/orders\n\ngo 1.26\n")
	t.Setenv("GOWORK", "off")
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "."}, {"-c", "user.name=x", "-c", "user.email=x@localhost", "commit", "--quiet", "--message", "base"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Skipf("git %v: %v: %s", args, err, out)
		}
	}
}

// plant replaces a text of the program, or takes it back.
func plant(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile("orders.go")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), from) != 1 {
		t.Fatalf("orders.go has no %q", from)
	}
	overwrite(t, "orders.go", strings.Replace(string(text), from, to, 1))
}

func overwrite(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// worse returns the functions that are worse, by type.
func worse(r check.Report) map[string][]string {
	all := map[string][]string{}
	for _, one := range r.Types {
		for _, f := range one.Functions {
			if f.Verdict == check.Worse {
				all[one.Sample] = append(all[one.Sample], f.Name)
			}
		}
	}
	return all
}

// TestCheckBench measures a real program ten times without a change, and ten times with one that lets a function allocate 5 % more:
// it finds nothing, and the function each time. CPU time is compared too, and must not be told worse in either.
func TestCheckBench(t *testing.T) {
	effort.Slow(t)
	ordersRepository(t)
	times := effort.Part(10, 10)
	args := []string{"--bench", "Report", "--against", "HEAD", "--count", "5", "--benchtime", "100ms"}
	for range times {
		if r := checkJSON(t, cli.ExitOK, args...); len(r.Types) != 3 || r.Types[0].By != check.PerOperation || r.Types[0].Method != check.ByRuns {
			t.Fatalf("%+v", r)
		}
	}
	plant(t, "every = 1 << 30", "every = 20")
	for i := range times {
		found := worse(checkJSON(t, cli.ExitFailed, args...))
		if found["alloc_objects"][0] != "internal/stringslite.Clone" || len(found["cpu"]) > 0 {
			t.Errorf("check %d: %v", i, found)
		}
	}
	t.Logf("nothing in %d of %d equal runs, and the regression in %d of %d", times, times, times, times)
	if out, err := exec.Command("git", "worktree", "list").Output(); err != nil || strings.Count(string(out), "\n") != 1 {
		t.Errorf("a worktree is left: %s%v", out, err)
	}
}

// TestCheckBenchTime finds a function that needs three times the time, in a second a run, and compares with kept profiles as with a commit.
func TestCheckBenchTime(t *testing.T) {
	effort.Slow(t)
	ordersRepository(t)
	plant(t, "rounds = 100", "rounds = 300")
	args := []string{"--bench", "Report", "--count", "5", "--benchtime", "1s", "--sample-index", "cpu"}
	r := checkJSON(t, cli.ExitFailed, append(args, "--against", "HEAD", "--keep", "kept")...)
	if found := worse(r)["cpu"]; !slices.Contains(found, "example.com/orders.checksum") {
		t.Errorf("%v", found)
	}
	again := checkJSON(t, cli.ExitFailed, "--sample-index", "cpu", filepath.Join("kept", "base"), filepath.Join("kept", "new"))
	if texts(t, again) != texts(t, r) {
		t.Errorf("of kept profiles:\n%s\nwant\n%s", texts(t, again), texts(t, r))
	}
	if found := worse(checkJSON(t, cli.ExitFailed, append(args, filepath.Join("kept", "base"))...))["cpu"]; !slices.Contains(found, "example.com/orders.Report") {
		t.Errorf("against kept profiles: %v", found)
	}
	if r := granary(t, append([]string{"check", "--keep", "kept"}, append(args, "--against", "HEAD")...)...); r.code != cli.ExitTrouble || !strings.Contains(r.stderr, "kept") {
		t.Errorf("into older profiles: %+v", r)
	}
	overwrite(t, "orders_test.go", "package orders\n\nfunc TestX() { broken")
	if r := granary(t, append([]string{"check"}, append(args, "--against", "HEAD")...)...); r.code != cli.ExitTrouble || !strings.Contains(r.stderr, "orders_test.go") {
		t.Errorf("a program that cannot be built: %+v", r)
	}
}
