package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		profile.Function{Name: "handle", Cum: 9e8},
		[]profile.Call{{Name: "main", Value: 9e8}},
		[]profile.Call{{Name: "compress", Value: 6e8}, {Name: "parse", Value: 3e8}},
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
