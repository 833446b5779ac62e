package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/repair"
)

// What is whole is verified as such, and there is nothing to repair.
func TestVerify_Whole(t *testing.T) {
	dir := stored(t, services(t, time.Minute))
	before := bytesOf(t, dir)
	r := granary(t, "verify", "--db", dir)
	if r.code != cli.ExitOK || !strings.Contains(r.stdout, "Whole: 40 rows, up to commit ") || strings.Contains(r.stdout, "Damaged") {
		t.Errorf("verify: %+v", r)
	}
	var report repair.Report
	r = granary(t, "verify", "--db", dir, "--json")
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || report.Rows != 40 || report.Files == 0 || report.Damages == nil {
		t.Errorf("verify --json: %v, %+v", err, r)
	}
	for _, args := range [][]string{{"repair", "--db", dir}, {"repair", "--db", dir, "--yes"}} {
		if r := granary(t, args...); r.code != cli.ExitOK || !strings.Contains(r.stdout, "There is nothing to repair") {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if after := bytesOf(t, dir); !maps.Equal(before, after) {
		t.Error("the files have changed")
	}
}

// A directory that is refused is listed with what its damage costs, and opens after a repair. The
// damaged file is kept.
func TestRepair(t *testing.T) {
	flip := func(data []byte) { data[len(data)/2] ^= 1 }
	for _, tc := range []struct{ pattern, cost, rows string }{
		{"rows-*", `it costs 20 rows of table "profiles" from 2023-11-14T22:15:00Z to 2023-11-14T22:29:59Z`, "total "},
		{"dicts-*", `it costs 40 rows of table "profiles" from `, "There are no samples"},
		{"manifest-*1", "", ""},
	} {
		t.Run(tc.pattern, func(t *testing.T) {
			if tc.cost == "" {
				tc.cost, tc.rows = "it costs nothing: another copy is whole", "total "
			}
			dir, file := damagedOf(t, tc.pattern, flip)
			before := bytesOf(t, dir)
			for _, args := range [][]string{{"verify"}, {"repair"}} {
				r := granary(t, append(args, "--db", dir)...)
				if r.code != cli.ExitFailed || !strings.Contains(r.stdout, "Damaged: "+file+"\n") || !strings.Contains(r.stdout, tc.cost) || len(r.problems()) != 1 {
					t.Errorf("%q: %+v", args, r)
				}
			}
			if after := bytesOf(t, dir); !maps.Equal(before, after) {
				t.Error("verify, or a repair without --yes, has changed files")
			}
			if r := granary(t, "repair", "--db", dir, "--yes"); r.code != cli.ExitOK || !strings.Contains(r.stdout, tc.cost) || !strings.Contains(r.stdout, "Repaired") {
				t.Errorf("repair: %+v", r)
			}
			if r := granary(t, "top", "--db", dir); !strings.Contains(r.stdout+r.stderr, tc.rows) {
				t.Errorf("top after the repair: %+v", r)
			}
			if r := granary(t, "load", "--db", dir, file0(t)); r.code != cli.ExitOK {
				t.Errorf("load after the repair: %+v", r)
			}
			if r := granary(t, "verify", "--db", dir); r.code != cli.ExitOK || !strings.Contains(r.stdout, "Aside: ") {
				t.Errorf("verify after the repair: %+v", r)
			}
			if data, err := os.ReadFile(filepath.Join(dir, file+repair.Suffix)); err != nil || string(data) != before[file] {
				t.Errorf("%s is not set aside: %v", file, err)
			}
		})
	}
}

// file0 is a profile.
func file0(t *testing.T) string { return file(t, "cpu.pb.gz", service()) }

// damagedOf changes a file of a pattern in a new directory, the last one, and returns the names of both.
func damagedOf(t *testing.T, pattern string, change func(data []byte)) (dir, name string) {
	t.Helper()
	dir = stored(t, services(t, time.Minute))
	names, err := filepath.Glob(filepath.Join(dir, strings.TrimRight(pattern, "1")))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	path := names[len(names)-1]
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	change(data)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, filepath.Base(path)
}

// Directories that are no store, are open to write, or have lost both copies of the manifest, are not
// repaired, and say why.
func TestRepair_Refused(t *testing.T) {
	missing, empty := filepath.Join(t.TempDir(), "missing"), t.TempDir()
	locked := stored(t, services(t, time.Minute))
	store, err := columnstore.Open(columnstore.Options{Dir: locked})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	lost := stored(t, services(t, time.Minute))
	manifests, err := filepath.Glob(filepath.Join(lost, "manifest-*"))
	if err != nil || len(manifests) != 2 {
		t.Fatalf("manifests %v, %v", manifests, err)
	}
	for _, name := range manifests {
		if err := os.Truncate(name, 100); err != nil {
			t.Fatal(err)
		}
	}
	before := bytesOf(t, lost)
	for _, args := range [][]string{{"verify"}, {"repair"}, {"repair", "--yes"}} {
		for dir, want := range map[string]string{missing: "there is no store\n", empty: "there is no store\n", locked: "another process has it open"} {
			r := granary(t, append(args, "--db", dir)...)
			if r.code != cli.ExitFailed || !strings.Contains(r.stderr, want) || len(r.problems()) != 1 || r.stdout != "" {
				t.Errorf("%q %s: %+v", args, dir, r)
			}
		}
		if r := granary(t, append(args, "--db", lost)...); r.code != cli.ExitFailed || !strings.Contains(r.stdout, "it costs all that is in files") {
			t.Errorf("%q without a manifest: %+v", args, r)
		}
		for wrong, want := range map[string][]string{"--db DIR is missing": args, "there are no other arguments": append(slices.Clone(args), "--db", lost, "x")} {
			if r := granary(t, want...); r.code != cli.ExitUsage || !strings.Contains(r.stderr, wrong) {
				t.Errorf("%q: %+v", want, r)
			}
		}
	}
	if r := granary(t, "repair", "--db", lost, "--yes"); !strings.Contains(r.stderr, "take a backup") {
		t.Errorf("repair without a manifest: %+v", r)
	}
	if after := bytesOf(t, lost); !maps.Equal(before, after) {
		t.Error("what cannot be repaired has changed")
	}
	if _, err := os.Stat(missing); !os.IsNotExist(err) {
		t.Errorf("a repair made the directory: %v", err)
	}
}
