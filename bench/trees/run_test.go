package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/granarydb/granary/bench/trees/postgres"
)

// The command measures all stores, in memory and on disk, and checks the answers. It has both layouts of PostgreSQL, or
// says that they are skipped. A tree that grows without bound is given up, and the table says so.
func TestRun(t *testing.T) {
	row := func(name string) string { return `(?m)^ *synth:100:60 +` + name + ` +[0-9]+ ` }
	server := []string{row("rtree"), row("PG GiST"), row("PG B-tree")}
	if _, err := postgres.Find(""); err != nil {
		server = []string{row("rtree"), "PG GiST and PG B-tree are skipped: " + postgres.ErrAbsent.Error()}
	}
	all := []string{"history", "rtree"}
	var rows []string
	for _, name := range append(all, trees...) {
		rows = append(rows, row(name))
	}
	names := strings.Join(append(all, trees...), ",")
	for _, c := range []struct {
		options
		want []string
	}{
		{options{sets: "synth:100:60", only: names, Most: 1 << 30}, rows},
		{options{sets: "synth:100:60", only: names, Most: 1 << 30, Dir: t.TempDir()}, rows},
		{options{sets: "synth:100:60", only: "PG GiST,PG B-tree,rtree", Most: 1 << 30}, server},
		{options{sets: "synth:1000:20", only: "SHT", Most: 1 << 17}, []string{"SHT +stopped after [0-9]+ "}},
	} {
		var out strings.Builder
		c.repeat = 1
		if err := run(&out, c.options); err != nil {
			t.Fatal(err)
		}
		for _, text := range c.want {
			if !regexp.MustCompile(text).MatchString(out.String()) {
				t.Errorf("%q is not in\n%s", text, out.String())
			}
		}
	}
}

// The JSON has each figure of each store, the median between the lowest and the highest.
func TestRun_JSON(t *testing.T) {
	var out strings.Builder
	if err := run(&out, options{sets: "synth:100:60", only: "eSHT,history", repeat: 2, Most: 1 << 30, json: true}); err != nil {
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
		if s.Intervals != 6099 || name != "history" && len(s.Figures) != len(got.Keys) {
			t.Errorf("%s: %+v", name, s)
		}
		for key, f := range s.Figures {
			if got.Keys[key] == "" || f.Low <= 0 || f.Median < f.Low || f.Median > f.High {
				t.Errorf("%s: %s is %+v", name, key, f)
			}
		}
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
