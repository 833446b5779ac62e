package states

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/beside"
)

// statsOf returns the totals of history stats by key.
func statsOf(t *testing.T, args ...string) map[string]uint64 {
	t.Helper()
	r := granary(t, append([]string{"history", "stats", "--json"}, args...)...)
	var found statsJSON
	if err := json.Unmarshal([]byte(r.stdout), &found); r.code != cli.ExitOK || err != nil {
		t.Fatalf("%q: %+v, %v", args, r, err)
	}
	totals, all := map[string]uint64{}, uint64(0)
	for _, row := range found.Rows {
		totals[strings.Trim(fmt.Sprint(row.Key), "[]")] = row.Total
		all += row.Total
	}
	if all != found.Total {
		t.Errorf("%q: %d in all, the rows have %d", args, found.Total, all)
	}
	return totals
}

// TestStats_Want holds the sums of Go execution traces to those of golang.org/x/exp/trace.
func TestStats_Want(t *testing.T) {
	for trace, wantFile := range map[string]string{
		"short-500ms": "short-500ms", "three-generations": "three-generations", "cut-third-generation": "cut-third-generation", "clock-back-10s": "three-generations",
	} {
		data, err := os.ReadFile(beside.Data(t, "traces/"+wantFile+".want.tsv"))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]uint64{}
		for line := range strings.Lines(string(data)) {
			var goroutine, ns uint64
			cells := strings.Split(line, "\t")
			if n, _ := fmt.Sscan(cells[0]+" "+cells[2], &goroutine, &ns); n == 2 {
				want[fmt.Sprintf("Goroutines/%d %s", goroutine, cells[1])] = ns
			}
		}
		name := beside.Data(t, "traces/"+trace+".trace")
		if got := statsOf(t, "--by", "attribute,state", name); !maps.Equal(got, want) || len(want) < 30 {
			t.Errorf("%s: %v, want %v", trace, got, want)
		}
	}
}

// TestStats asks a set, its history file and its history in a directory: the sums are those of the CSV.
func TestStats(t *testing.T) {
	dir := t.TempDir()
	csv := write(t, filepath.Join(dir, "run.csv"), []byte(`time,attribute,value
0,T/1,run
100,T/1,wait
110,T/1,run
150,T/1,
0,T/2,wait
60,T/2,wait (lock)
0,T/1/name,a
120,T/1/name,b
199,T/2,
`))
	of, db := filepath.Join(dir, "run.history"), filepath.Join(dir, "run.db")
	for _, args := range [][]string{{"import", "-o", of, csv}, {"load", "--db", db, csv}} {
		if r := granary(t, append([]string{"history"}, args...)...); r.code != cli.ExitOK {
			t.Fatalf("%+v", r)
		}
	}
	for _, file := range [][]string{{csv}, {of}, {"--db", db, "run"}} {
		for _, tc := range []struct {
			args []string
			want map[string]uint64
		}{
			{[]string{"--match", "T/*"}, map[string]uint64{"run": 140, "wait": 70, "wait (lock)": 139}},
			{[]string{"--match", "T/*", "--by", "attribute"}, map[string]uint64{"T/1": 150, "T/2": 199}},
			{[]string{"--match", "T/*", "--by", "name"}, map[string]uint64{"a": 120, "b": 30, "<nil>": 199}},
			{[]string{"--match", "T/1", "--by", "name,state", "--from", "+105ns", "--to", "+129ns"}, map[string]uint64{"a wait": 5, "a run": 10, "b run": 10}},
			{nil, map[string]uint64{"run": 140, "wait": 70, "wait (lock)": 139, "a": 120, "b": 80}},
		} {
			if got := statsOf(t, append(tc.args, file...)...); !maps.Equal(got, tc.want) {
				t.Errorf("%q of %q: %v, want %v", tc.args, file, got, tc.want)
			}
		}
		r := granary(t, append([]string{"history", "stats", "--match", "T/*"}, file...)...)
		if want := "   140 ns  40.1%        2     40 ns     70 ns     40 ns    100 ns    100 ns  +0s            run\n"; !strings.Contains(r.stdout, want) {
			t.Errorf("%q: %s, want %q", file, r.stdout, want)
		}
		r = granary(t, append([]string{"history", "stats", "--top", "wait", "-n", "2"}, file...)...)
		if want := "   139 ns  +60ns          wait (lock)               T/2\n    60 ns  +0s            wait                      T/2\n1 more interval not shown"; !strings.Contains(r.stdout, want) {
			t.Errorf("%q: %s, want %q", file, r.stdout, want)
		}
	}
	for want, args := range map[string][]string{
		"choose one of --by and --top": {"--by", "state", "--top", "waits"},
		"--by a*":                      {"--by", "a*"},
		"matches no attribute":         {"--match", "X/*"},
	} {
		if r := granary(t, append([]string{"history", "stats", csv}, args...)...); r.code != cli.ExitUsage || !strings.Contains(r.stderr, want) {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if r := granary(t, "history", "stats", "--top", "waits", "--json", goTrace); !strings.Contains(r.stdout, `"value": "waiting (sleep)"`) {
		t.Errorf("%+v", r)
	}
}
