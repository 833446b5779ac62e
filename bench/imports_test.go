package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/granarydb/granary/bench"

// below has the packages of this module that each package may import: imports run down.
var below = map[string][]string{
	"":          {"targets", "workloads", "peers", "results"},
	"compare":   {"targets", "results", "programs"},
	"targets":   {"workloads", "peers", "replay", "fleet", "measure", "results"},
	"workloads": {"peers", "replay", "fleet", "measure", "results"},
	"peers":     {"replay", "fleet", "measure", "results"},
	"replay":    {"fleet"},
	"fleet":     {},
	"measure":   {"results"},
	"serve":     {"fleet", "results", "programs"},
	"front":     {"fleet", "results", "programs"},
	"fleetdir":  {"fleet"},
	"partials":  {"measure", "pictures", "results"},
	"track":     {"pictures", "results", "programs"},
	"report":    {"targets", "pictures", "results", "programs", "trees/postgres"},
	"pictures":  {},
	"programs":  {},
	"results":   {},

	"trees": {
		"workloads", "measure", "results", "trees/sht", "trees/query", "trees/block", "trees/rectangles", "trees/postgres",
	},
	"trees/sht":   {"trees/query", "trees/block"},
	"trees/query": {"trees/block"},
	"trees/block": {},

	"polarsignals": {"replay", "measure", "results"},

	"trees/rectangles": {"trees/query", "trees/block", "measure"},
	"trees/postgres":   {"trees/block"},
}

func TestImportsRunOneWay(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		names := strings.Fields(line)
		name := strings.TrimPrefix(strings.TrimPrefix(names[0], module), "/")
		allowed, known := below[name]
		if !known {
			t.Errorf("package %s is not in the table of this test", names[0])
		}
		for _, imported := range names[1:] {
			if to, ours := strings.CutPrefix(imported, module+"/"); ours && !slices.Contains(allowed, to) {
				t.Errorf("%s imports %s", names[0], imported)
			}
		}
	}
}

// A wrong workload is an error of usage, and a wrong size is named.
func TestRun_Errors(t *testing.T) {
	for want, o := range map[string]options{
		`workload "fleets"`: {workload: "fleets"},
		`unknown size "2m"`: {targets: true, sizes: "2m", rows: 1, repeat: 1},
		`unknown group "x"`: {targets: true, sizes: "1m", groups: "ids,x", rows: 1, repeat: 1},
		"unknown peer":      {peers: "nobody", rows: 1, repeat: 1},
	} {
		if err := run(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
