package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/testdata"
)

// pods is the number of pods that each profile is replayed as.
const pods = 20

// result is what is printed. Times are CPU time.
type result struct {
	Rows          int64              `json:"rows"`
	Stacks        int                `json:"stacks"`
	Series        int                `json:"series"`
	InsertNsRow   float64            `json:"insert_ns_per_row"`   // maintenance included
	CompactNsRow  float64            `json:"compact_ns_per_row"`  // the rest of it, after the last insert
	HeapBytesRow  float64            `json:"heap_bytes_per_row"`  // all in
	OwnBytesRow   float64            `json:"own_bytes_per_row"`   // the store's own accounting
	PartsBytesRow float64            `json:"parts_bytes_per_row"` // without dictionaries
	Amplification float64            `json:"write_amplification"`
	QueryMs       map[string]float64 `json:"query_ms"`
	CommitUs      float64            `json:"commit_us_per_granule"` // of 2,000, beyond building the part
	HeldRatio     float64            `json:"insert_ratio_snapshot_held"`
}

func main() {
	rows := flag.Int64("rows", 1_000_000, "rows to insert")
	repeat := flag.Int("repeat", 5, "runs of each query; the median is printed")
	workload := flag.String("workload", "", "replay: the project's own profiles, as pprof (the default); fleet: a made-up fleet, what its rows cost; queries: the same with symbols and traces, what questions cost; arrow: the fleet as Arrow records; histories: interval histories of the sets that are named, files or synth:ATTRIBUTES:CHANGES; pprof: with -peers, real pprof files as a fleet")
	scale := flag.Int("scale", 0, "with -workload queries: ask fleets with so many times the rows too, one of more jobs and one for longer; 10 takes some minutes and 4 GB at a million rows")
	peers := flag.String("peers", "", "measure stores side by side, each in a process of its own: `names` with commas between them, or all")
	flag.Parse()
	if err := choose(*workload, *peers, *rows, *repeat, *scale); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		if errors.Is(err, errUsage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

var errUsage = errors.New("wrong usage")

// choose runs what the flags ask for.
func choose(workload, peers string, rows int64, repeat, scale int) error {
	switch {
	case peers != "":
		names := strings.Split(peers, ",")
		if peers == "all" {
			names = nil
		}
		return runPeers(rows, repeat, names, cmp.Or(workload, "fleet"))
	case workload == "" || workload == "replay":
		return run(rows, repeat)
	case workload == "fleet":
		return runFleet(rows, repeat)
	case workload == "queries":
		return runQueries(rows, repeat, scale)
	case workload == "arrow":
		return runArrow(rows, repeat)
	case workload == "histories":
		sets := flag.Args()
		if len(sets) == 0 {
			sets = historySets
		}
		return runHistories(sets, repeat)
	}
	return fmt.Errorf("%w: workload %q: want replay, fleet, queries, arrow or histories, or pprof with -peers", errUsage, workload)
}

func run(rows int64, repeat int) error {
	ctx := context.Background()
	templates, err := load()
	if err != nil {
		return err
	}
	before := heap()
	store, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		return err
	}
	start := cpuTime()
	if err := insert(ctx, db, templates, rows); err != nil {
		return err
	}
	inserted := cpuTime()
	if err := store.Compact(ctx); err != nil {
		return err
	}
	compacted := cpuTime()
	stats := store.Stats()
	n := float64(stats.Rows)
	r := result{
		Rows: stats.Rows, Stacks: stats.Stacks, Series: stats.Series,
		InsertNsRow: float64(inserted-start) / n, CompactNsRow: float64(compacted-inserted) / n,
		HeapBytesRow: float64(heap()-before) / n, OwnBytesRow: float64(stats.Bytes()) / n, PartsBytesRow: float64(stats.PartBytes) / n,
		Amplification: stats.WriteAmplification(),
	}
	if r.QueryMs, err = queries(ctx, db, repeat); err != nil {
		return err
	}
	commit, err := commitCost(ctx, repeat)
	if err != nil {
		return err
	}
	r.CommitUs = float64(commit) / 1e3
	if r.HeldRatio, err = heldRatio(ctx, templates, repeat); err != nil {
		return err
	}
	runtime.KeepAlive(templates)
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(r)
}

func load() (map[string]*pprof.Profile, error) {
	templates := map[string]*pprof.Profile{}
	err := fs.WalkDir(testdata.Profiles, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".pb.gz") {
			return err
		}
		data, err := testdata.Profiles.ReadFile(name)
		if err != nil {
			return err
		}
		templates[name], err = profile.Parse(data, profile.Limits{})
		return err
	})
	return templates, err
}

// insert replays the templates: every pod is scraped every 10 seconds and has
// about a third of the samples each time.
func insert(ctx context.Context, db *profile.DB, templates map[string]*pprof.Profile, rows int64) error {
	names := make([]string, 0, len(templates))
	for name := range templates {
		names = append(names, name)
	}
	slices.Sort(names)
	rng := rand.New(rand.NewPCG(1, 1))
	at := time.Now().Add(-24 * time.Hour).Truncate(time.Hour)
	for done := int64(0); done < rows; at = at.Add(10 * time.Second) {
		for _, name := range names {
			for pod := range pods {
				n, err := db.Insert(ctx, scrape(rng, templates[name], at), profile.InsertOptions{Labels: map[string]string{
					"job": strings.Split(name, "/")[1], "kind": name, "pod": fmt.Sprint("pod-", pod), "zone": string(rune('a' + pod%3)),
				}})
				if err != nil {
					return err
				}
				done += int64(n)
			}
		}
	}
	return nil
}

func scrape(rng *rand.Rand, from *pprof.Profile, at time.Time) *pprof.Profile {
	p := &pprof.Profile{
		SampleType: from.SampleType, DefaultSampleType: from.DefaultSampleType, PeriodType: from.PeriodType, Period: from.Period,
		Mapping: from.Mapping, Location: from.Location, Function: from.Function,
		TimeNanos: at.UnixNano(), DurationNanos: from.DurationNanos,
	}
	for _, s := range from.Sample {
		if rng.IntN(3) == 0 {
			p.Sample = append(p.Sample, s)
		}
	}
	return p
}

// queries measures CPU milliseconds by name.
func queries(ctx context.Context, db *profile.DB, repeat int) (map[string]float64, error) {
	one, err := profile.ParseSelector(`{pod="pod-3"}`)
	if err != nil {
		return nil, err
	}
	some, err := profile.ParseSelector(`{pod=~"pod-1."}`)
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	err = db.Store().View(ctx, func(snap *columnstore.Snapshot) error {
		cpu, err := db.FindType(ctx, snap, "cpu")
		if err != nil {
			return err
		}
		for name, query := range map[string]func() error{
			"merge-type": func() error { _, err := db.Merge(ctx, snap, cpu, profile.Query{}); return err },
			"select-pod": func() error { _, err := db.Merge(ctx, snap, cpu, profile.Query{Selector: one}); return err },
			"regex-pods": func() error { _, err := db.Merge(ctx, snap, cpu, profile.Query{Selector: some}); return err },
			"types":      func() error { _, err := db.Types(ctx, snap); return err },
			"series-type": func() error {
				_, err := db.Range(ctx, snap, cpu, profile.Query{}, profile.RangeOptions{Step: time.Minute, By: []string{"pod"}})
				return err
			},
			"scan-arrow": func() error { return scan(ctx, db, snap) },
		} {
			if out[name], err = medianOf(repeat, query); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

func scan(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot) error {
	for rec, err := range db.Table().Scan(ctx, snap, columnstore.ScanOptions{}) {
		if err != nil {
			return err
		}
		rec.Release()
	}
	return nil
}

func medianOf(repeat int, f func() error) (float64, error) {
	var times []float64
	for range max(1, repeat) {
		runtime.GC()
		start := cpuTime()
		if err := f(); err != nil {
			return 0, err
		}
		times = append(times, float64(cpuTime()-start)/1e6)
	}
	return median(times), nil
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // the first one may end a cycle that began before
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
