package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/bench/trees/postgres"
)

// The command measures all stores, in memory and on disk, and checks the answers.
func TestRun(t *testing.T) {
	stores := slices.DeleteFunc(peers(), func(p peer) bool { return p.server })
	if len(stores) != len(kinds)+2 {
		t.Errorf("%d stores without a server, want %d", len(stores), len(kinds)+2)
	}
	var names []string
	for _, p := range stores {
		names = append(names, p.name)
	}
	for _, dir := range []string{"", t.TempDir()} {
		var out strings.Builder
		o := options{sets: "synth:100:60", only: strings.Join(names, ","), dir: dir, repeat: 1, most: 1 << 30}
		if err := run(&out, o); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !regexp.MustCompile(`(?m)^ *synth:100:60 +` + name + ` +[0-9.]+ `).MatchString(out.String()) {
				t.Errorf("no row of %s\n%s", name, out.String())
			}
		}
	}
}

// A run has both layouts of PostgreSQL, or says that they are skipped.
func TestRun_Server(t *testing.T) {
	var out strings.Builder
	if err := run(&out, options{sets: "synth:100:60", only: "PG GiST,PG B-tree,rtree", repeat: 1, most: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	want := []string{"rtree", "PG GiST", "PG B-tree"}
	if _, err := postgres.Find(""); err != nil {
		want = []string{"rtree", "PG GiST and PG B-tree are skipped: " + postgres.ErrAbsent.Error()}
	}
	for _, text := range want {
		if !strings.Contains(out.String(), text) {
			t.Errorf("%q is not in\n%s", text, out.String())
		}
	}
}

// A tree that grows without bound is given up, and the table says so.
// The JSON has each figure of each store, the median between the lowest and the highest.
func TestRun_JSON(t *testing.T) {
	var out strings.Builder
	if err := run(&out, options{sets: "synth:100:60", only: "eSHT,history", repeat: 2, most: 1 << 30, json: true}); err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Sets) != 1 || len(got.Sets["synth:100:60"]) != 2 {
		t.Fatalf("%+v", got.Sets)
	}
	for name, s := range got.Sets["synth:100:60"] {
		if s.Intervals != 6099 || name != "history" && len(s.Figures) != len(keys) {
			t.Errorf("%s: %+v", name, s)
		}
		for key, f := range s.Figures {
			if keys[key] == "" || f.Low <= 0 || f.Median < f.Low || f.Median > f.High {
				t.Errorf("%s: %s is %+v", name, key, f)
			}
		}
	}
}

func TestRun_Stopped(t *testing.T) {
	var out strings.Builder
	if err := run(&out, options{sets: "synth:1000:20", only: "SHT", repeat: 1, most: 1 << 17}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "stopped after") {
		t.Errorf("the tree was not given up\n%s", out.String())
	}
}

func TestRun_Errors(t *testing.T) {
	if err := run(&strings.Builder{}, options{sets: "no-such-file", only: "eSHT", repeat: 1}); err == nil {
		t.Error("a set that does not exist is no error")
	}
	if err := run(&strings.Builder{}, options{sets: "synth:10:10", only: "eSTH", repeat: 1}); err == nil {
		t.Error("a store that does not exist is no error")
	}
}
