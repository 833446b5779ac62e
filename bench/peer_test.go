package main

import (
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// answer is what a peer says: how often it says each element.
func answer(t *testing.T, p peer, q question) map[string]int {
	t.Helper()
	all := map[string]int{}
	if err := q.ask(p, func(element string) { all[element]++ }); err != nil {
		t.Fatalf("%s: %v", q.name, err)
	}
	return all
}

// fill opens peers by name and inserts the same profiles in each.
func fill(t *testing.T, w workload, rows int64, names ...string) (map[string]peer, schema.Batch) {
	t.Helper()
	peers := map[string]peer{}
	var about schema.Batch
	for _, name := range names {
		p, err := peerKinds[name].open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.close(); err != nil {
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

// TestPeers asks every peer every question, before its rows are compacted and after,
// and wants the answers of the oracle. Questions leave out what peers are known to get
// wrong: FrostDB a != on a label that some rows lack (its answers change with
// compaction), kelindar columns of so many values that their 32-bit hashes meet.
func TestPeers(t *testing.T) {
	for _, name := range []string{"queries", "pprof"} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(replayFolder); name == "pprof" && err != nil {
				t.Skip(replayFolder, "is not there")
			}
			w, err := openWorkload(name)
			if err != nil {
				t.Fatal(err)
			}
			const rows = 20_000
			peers, about := fill(t, w, rows, slices.Collect(maps.Keys(peerKinds))...)
			for _, settled := range []bool{false, true} {
				for name, p := range peers {
					if settled {
						if err := p.settle(); err != nil {
							t.Fatalf("%s: %v", name, err)
						}
					}
				}
				comparePeers(t, peers, about, settled)
			}
		})
	}
}

func comparePeers(t *testing.T, peers map[string]peer, about schema.Batch, settled bool) {
	t.Helper()
	for _, q := range questions(about) {
		want := answer(t, peers["oracle"], q)
		if len(want) == 0 {
			t.Errorf("%s has no answer: it tests nothing", q.name)
		}
		for name, p := range peers {
			if name == "oracle" || !peerKinds[name].asked(q) {
				continue
			}
			got := answer(t, p, q)
			if maps.Equal(got, want) {
				continue
			}
			t.Errorf("%s: %s, settled %v: %d elements, want %d; the first that differ: %s", name, q.name, settled, len(got), len(want), firstDifferent(got, want))
		}
	}
}

// firstDifferent keeps a message short.
func firstDifferent(got, want map[string]int) string {
	var lines []string
	for _, side := range []struct {
		sign        string
		have, other map[string]int
	}{{"+", got, want}, {"-", want, got}} {
		for _, element := range slices.Sorted(maps.Keys(side.have)) {
			if side.have[element] != side.other[element] {
				lines = append(lines, side.sign+element)
				break
			}
		}
	}
	return strings.Join(lines, "\n")
}

// The oracle is held to rows that can be counted by hand.
func TestOracle(t *testing.T) {
	w, err := openWorkload("fleet")
	if err != nil {
		t.Fatal(err)
	}
	peers, about := fill(t, w, 2_000, "oracle")
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
	picked, err := peers["oracle"].pick(nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	check("rows", picked, rows)
	picked, err = peers["oracle"].pick(ofType(about), nil, nil)
	if err != nil || picked == 0 || picked >= rows {
		t.Errorf("rows of a type: %d of %d, %v", picked, rows, err)
	}
	var counted, totalled, merged int64
	err = peers["oracle"].totals(labelPrefix+"pod", func(_ string, rows, sum int64) { counted, totalled = counted+rows, totalled+sum })
	if err != nil {
		t.Fatal(err)
	}
	if err := peers["oracle"].merge(nil, func(_ []byte, sum int64) { merged += sum }); err != nil {
		t.Fatal(err)
	}
	check("rows by pod", counted, rows)
	check("sum by pod", totalled, sum)
	check("sum by stack", merged, sum)
}

// A process of a peer measures everything that is documented, and nothing else.
func TestMeasurePeer(t *testing.T) {
	for _, name := range []string{"granary", "kelindar"} {
		m, err := measurePeer(name, "fleet", 5_000)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for key, v := range m.Figures {
			key, _, _ = strings.Cut(key, ".")
			got[key] = true
			if math.IsNaN(v) || v < 0 {
				t.Errorf("%s: %s is %v", name, key, v)
			}
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(peerKeys)), slices.Sorted(maps.Keys(got))); diff != "" {
			t.Errorf("%s: (-documented +measured)\n%s", name, diff)
		}
		if len(m.Answers) < 10 {
			t.Errorf("%s: %d answers", name, len(m.Answers))
		}
	}
}

func TestDisagreements(t *testing.T) {
	runs := map[string][]measured{
		"a": {{Answers: map[string]string{"same": "1", "other": "1"}}},
		"b": {{Answers: map[string]string{"same": "1", "other": "2", "alone": "3"}}},
	}
	want := map[string]map[string]string{"other": {"a": "1", "b": "2"}}
	if diff := cmp.Diff(want, disagreements(runs)); diff != "" {
		t.Error(diff)
	}
}

func TestFindPeers(t *testing.T) {
	if _, err := findPeers([]string{"granary", "nobody"}); err == nil || !strings.Contains(err.Error(), `"nobody"`) {
		t.Errorf("unknown name: %v", err)
	}
	all, err := findPeers(nil)
	if err != nil || len(all) != len(peerKinds)-1 {
		t.Errorf("%v, %v", all, err)
	}
}

// What cannot be measured is an error, before any process is started.
func TestRunPeers_Errors(t *testing.T) {
	for want, run := range map[string]func() error{
		"unknown peer":     func() error { return runPeers(1, 1, []string{"nobody"}, "fleet") },
		"unknown workload": func() error { return runPeers(1, 1, nil, "fleets") },
		"at least one row": func() error { return runPeers(0, 1, nil, "fleet") },
	} {
		if err := run(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestOpenReplay_NoFolder(t *testing.T) {
	if _, err := openReplay(t.TempDir() + "/none"); err == nil || !strings.Contains(err.Error(), "is not there") {
		t.Errorf("%v", err)
	}
	if _, err := openReplay(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no profile") {
		t.Errorf("%v", err)
	}
}
