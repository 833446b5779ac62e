package peers

import (
	"maps"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/replay"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// fillAll opens stores by name and inserts the same profiles into each.
func fillAll(t *testing.T, w source, rows int64, names ...string) (map[string]Store, schema.Batch) {
	t.Helper()
	peers := map[string]Store{}
	var about schema.Batch
	for _, name := range names {
		p, err := kinds[name].open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
		l := loader{peer: p}
		if about, err = l.load(w, rows); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		peers[name] = p
	}
	return peers, about
}

// kindsHere returns the kinds of stores that this program can open.
func kindsHere() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(kinds)), func(name string) bool { return kinds[name].open == nil })
}

// TestPeers asks every store every question, before compaction and after, and expects the
// answers of the oracle. The questions avoid known errors of others: a != of FrostDB on a
// label that some rows lack changes with compaction, and kelindar merges values whose
// 32-bit hashes are equal.
func TestPeers(t *testing.T) {
	for _, name := range []string{"queries", "pprof"} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(replay.SharedData("pprof")); name == "pprof" && err != nil {
				t.Skip(replay.SharedData("pprof"), "is not there")
			}
			w, err := openSource(name)
			if err != nil {
				t.Fatal(err)
			}
			const rows = 20_000
			peers, about := fillAll(t, w, rows, kindsHere()...)
			for _, settled := range []bool{false, true} {
				for name, p := range peers {
					if settled {
						if err := p.Settle(); err != nil {
							t.Fatalf("%s: %v", name, err)
						}
					}
				}
				comparePeers(t, peers, about, settled)
			}
		})
	}
}

func comparePeers(t *testing.T, peers map[string]Store, about schema.Batch, settled bool) {
	t.Helper()
	for _, q := range Questions(about) {
		want := answered(t, peers["oracle"], q)
		if len(want) == 0 {
			t.Errorf("%s has no answer: it tests nothing", q.Name)
		}
		for name, p := range peers {
			if name == "oracle" || !kinds[name].asked(q) {
				continue
			}
			got := answered(t, p, q)
			if maps.Equal(got, want) {
				continue
			}
			t.Errorf("%s: %s, settled %v: %d elements, want %d; the first that differ: %s", name, q.Name, settled, len(got), len(want), FirstDifferent(got, want))
		}
	}
}

// TestDurable measures each store in a directory, from which all rows come back.
func TestDurable(t *testing.T) {
	for _, name := range durableKinds() {
		m, err := measureDurable(name, 20_000)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for key := range durableKeys {
			if frost := name != "granary"; m.Figures[key] <= 0 && (key != "open_files_ns_per_row" || !frost) {
				t.Errorf("%s: %s is %v", name, key, m.Figures[key])
			}
		}
		for key := range m.Figures {
			if durableKeys[key] == "" {
				t.Errorf("%s: %s is not explained", name, key)
			}
		}
		t.Logf("%s: %v", name, m.Figures)
	}
	if _, err := measureDurable("kelindar", 1); err == nil {
		t.Error("kelindar has no directory")
	}
}

// The oracle is compared with sums over the generated rows.
func TestOracle(t *testing.T) {
	w, err := openSource("fleet")
	if err != nil {
		t.Fatal(err)
	}
	peers, about := fillAll(t, w, 2_000, "oracle")
	var rows, sum int64
	for n := 0; rows < 2_000; n++ {
		b := w.profile(n)
		rows += int64(b.Rows)
		for _, v := range b.Columns[profile.ColumnValue].Int64s {
			sum += v
		}
	}
	check := func(what string, got, want int64) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	picked, err := peers["oracle"].Pick(nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	check("rows", picked, rows)
	picked, err = peers["oracle"].Pick(OfType(about), nil, nil)
	if err != nil || picked == 0 || picked >= rows {
		t.Errorf("rows of a type: %d of %d, %v", picked, rows, err)
	}
	var counted, totalled, merged int64
	err = peers["oracle"].Totals(fleet.LabelPrefix+"pod", func(_ string, rows, sum int64) { counted, totalled = counted+rows, totalled+sum })
	if err != nil {
		t.Fatal(err)
	}
	if err := peers["oracle"].Merge(nil, func(_ []byte, sum int64) { merged += sum }); err != nil {
		t.Fatal(err)
	}
	check("rows by pod", counted, rows)
	check("sum by pod", totalled, sum)
	check("sum by stack", merged, sum)
}

// A process measures every figure that is explained, and no other. Each store has a process of its own, as
// in the command: its memory is told by what the process holds, which the tests before this one change.
func TestMeasurePeer(t *testing.T) {
	const ofProcess = "GRANARY_MEASURED_PEER"
	if name := os.Getenv(ofProcess); name != "" {
		checkMeasured(t, name)
		return
	}
	for _, name := range []string{"granary", "kelindar"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestMeasurePeer$")
		cmd.Env = append(os.Environ(), ofProcess+"="+name)
		if printed, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, printed)
		}
	}
}

// checkMeasured fails if the figures or answers of a store are not what is documented.
func checkMeasured(t *testing.T, name string) {
	t.Helper()
	m, err := measureStore(name, "fleet", 5_000, true, kinds[name].open)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for key, v := range m.Figures {
		key, _, _ = strings.Cut(key, ".")
		got[key] = true
		if math.IsNaN(v) || v < 0 {
			t.Errorf("%s is %v", key, v)
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(keys)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("(-documented +measured)\n%s", diff)
	}
	if len(m.Answers) < 10 {
		t.Errorf("%d answers", len(m.Answers))
	}
}

func TestDisagreements(t *testing.T) {
	runs := map[string][]result{
		"a": {{Answers: map[string]string{"same": "1", "other": "1"}}},
		"b": {{Answers: map[string]string{"same": "1", "other": "2", "alone": "3"}}},
	}
	want := map[string]map[string]string{"other": {"a": "1", "b": "2"}}
	if diff := cmp.Diff(want, disagreements(runs)); diff != "" {
		t.Error(diff)
	}
}

func TestFindPeers(t *testing.T) {
	if _, err := findKinds([]string{"granary", "nobody"}, durableWorkload); err == nil || !strings.Contains(err.Error(), `"nobody"`) {
		t.Errorf("unknown name: %v", err)
	}
	if _, err := findKinds([]string{"duckdb"}, "fleet"); err == nil || !strings.Contains(err.Error(), `"duckdb"`) {
		t.Errorf("a format in another workload: %v", err)
	}
	if names, err := findKinds([]string{"granary", "duckdb"}, durableWorkload); err != nil || len(names) != 2 {
		t.Errorf("a format: %v, %v", names, err)
	}
	if names, err := findKinds([]string{"all", "oracle"}, "fleet"); err != nil || len(names) != len(kinds) {
		t.Errorf("all and the oracle: %v, %v", names, err)
	}
	all, err := findKinds(nil, "fleet")
	if err != nil || len(all) != len(kinds)-1 {
		t.Errorf("%v, %v", all, err)
	}
}

// An impossible measurement is an error before any process starts.
func TestRunPeers_Errors(t *testing.T) {
	for want, run := range map[string]func() error{
		"unknown peer":     func() error { return Run(Options{Rows: 1, Repeat: 1, Names: []string{"nobody"}, Workload: "fleet"}) },
		"unknown workload": func() error { return Run(Options{Rows: 1, Repeat: 1, Workload: "fleets"}) },
		"at least one row": func() error { return Run(Options{Repeat: 1, Workload: "fleet"}) },
	} {
		if err := run(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// answered returns the answer of a store to a question.
func answered(t *testing.T, p Store, q Question) map[string]int {
	t.Helper()
	all, err := Answer(p, q)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
