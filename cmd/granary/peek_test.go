package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/clitest"
	"github.com/granarydb/granary/profile"
)

func TestPeek(t *testing.T) {
	input := file(t, "in.pb.gz", service())
	r := granary(t, "peek", "^handle$|^pa", input)
	if r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	clitest.CheckWidth(t, "peek", r.stdout)
	clitest.Golden(t, "peek.golden", r.stdout)
	var out struct {
		SampleType string `json:"sample_type"`
		Unit       string
		Total      int64
		Magnitude  int64
		MeanOver   int `json:"mean_over_times"`
		Functions  []peeked
	}
	if err := json.Unmarshal([]byte(granary(t, "peek", "--json", "--cum", "-n", "1", "^handle$|^pa", input).stdout), &out); err != nil {
		t.Fatal(err)
	}
	want := []peeked{{
		Function: profile.Function{Name: "handle", Cum: 9e8},
		Callers:  []profile.Call{{Name: "main", Value: 9e8}},
		Callees:  []profile.Call{{Name: "compress", Value: 6e8}, {Name: "parse", Value: 3e8}},
	}}
	if diff := cmp.Diff(want, out.Functions); diff != "" || out.Total != 1e9 || out.SampleType != "cpu" {
		t.Errorf("%+v: %s", out, diff)
	}
	if r := granary(t, "peek", "nothing", input); r.code != cli.ExitFailed || r.stderr != "granary: no function matches nothing\n" || !strings.HasPrefix(r.stdout, "Type: cpu") {
		t.Errorf("%+v", r)
	}
	for _, args := range [][]string{{"peek"}, {"peek", "main"}, {"peek", "(", input}} {
		if r := granary(t, args...); r.code != cli.ExitUsage {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

// TestPeek_Lines shows the lines of a real function, as google/pprof reads them, as text and as JSON.
func TestPeek_Lines(t *testing.T) {
	input := "../../testdata/profiles/etcd/cpu-1.pb.gz"
	data, err := os.ReadFile(input)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pprof.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	want := map[peekedLine]bool{} // without values
	flat := int64(0)
	for _, s := range p.Sample {
		for depth, l := range s.Location {
			for i, line := range l.Line {
				if line.Function.Name == "runtime.memmove" {
					want[peekedLine{File: line.Function.Filename, Line: line.Line}] = true
					if depth == 0 && i == 0 {
						flat += s.Value[len(s.Value)-1]
					}
				}
			}
		}
	}
	var out struct{ Functions []peeked }
	if err := json.Unmarshal([]byte(granary(t, "peek", "--json", "--lines", "--sample-index", "cpu", "^runtime.memmove$", input).stdout), &out); err != nil || len(out.Functions) != 1 {
		t.Fatalf("%v: %+v", err, out)
	}
	for _, l := range out.Functions[0].Lines {
		if !want[peekedLine{File: l.File, Line: l.Line}] {
			t.Errorf("%+v is no line of it", l)
		}
		flat -= l.Flat
	}
	if len(out.Functions[0].Lines) != len(want) || flat != 0 {
		t.Errorf("%d lines, want %d; flat differs by %d", len(out.Functions[0].Lines), len(want), flat)
	}
	r := granary(t, "peek", "--lines", "--sample-index", "cpu", "^runtime.memmove$", input)
	if r.code != cli.ExitOK || strings.Count(r.stdout, "  line  ") != len(want) {
		t.Errorf("%+v", r)
	}
}
