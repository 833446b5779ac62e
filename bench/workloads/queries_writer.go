package workloads

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

const (
	writerSeconds = 5   // seconds in each phase
	writerPace    = 500 // profiles a second when paced: 250,000 rows, six times the fleet's rate
	quietAsks     = 300 // number of each merge, for its quiet median
	fileEvery     = 17  // profiles a file: about a hundred files in two scrapes, with all types and jobs
)

// writerKeys explains the figures.
var writerKeys = map[string]string{
	"phases":         "paced: the writer inserts 500 profiles a second (250,000 rows, six times the rate of the fleet) and the maintainer keeps up. pprof: it decodes and inserts a hundred gzipped pprof files of the fleet in turns without a pause. codes: it inserts batches of codes without a pause; the maintainer does not keep up, and inserts help. Each phase uses default options and no memory budget. The fleet continues where the filled one ended, ten seconds a scrape, with codes that were looked up before. All stacks are known, except those of pprof, whose locations have other ids, the first time",
	"reads":          "wall times of one-job merges of one type, to codes; the reader takes the four in turns without a pause",
	"held":           "on a snapshot from before the writer began, with the same parts each time: a slower read is due to the writer",
	"same-rows":      "on a new snapshot, which is part of the time, as below: the rows from before the writer began, by a condition on their times. The answer is that of held, which is checked, but later rows lie among them",
	"last":           "the newest rows, as much time as the filled fleet has: an answer of the same size, except just after and during pprof",
	"all-time":       "all rows: the answer grows",
	"quiet_us":       "median before the writer began",
	"quiet_after_us": "median after the phase, compacted",
	"p99_ratio":      "p99_us / quiet_us; of held and same-rows it must be at most 5",
	"machine":        "wall times of pieces of 40 us of arithmetic in the same process with nothing beside them: the p99 of the machine without the store",
	"inserts":        "wall times of Codes.Insert, one profile each, and of profile.DB.InsertEncoded in phase pprof; the bound of the p99 is 200 us when paced. Three goroutines share the CPUs, so without a pause some wait for a time slice of 10 ms, which is in these figures and in those of reads",
}

// writerFigures are latencies beside a writer.
type writerFigures struct {
	Keys    map[string]string `json:"keys"`
	Machine results.Latencies `json:"machine"`
	Phases  []writerPhase     `json:"phases"`
}

type writerPhase struct {
	Name        string            `json:"name"`
	Seconds     float64           `json:"seconds"`
	RowsASecond float64           `json:"rows_a_second"`
	RowsAfter   int64             `json:"rows_after"`
	PartsAfter  int               `json:"parts_after"` // at the writer's end
	Inserts     results.Latencies `json:"inserts"`
	MustUs      float64           `json:"inserts_must_p99_us,omitempty"`
	Reads       []readFigure      `json:"reads"`
}

type readFigure struct {
	Read string `json:"read"`
	results.Latencies
	QuietUs      float64 `json:"quiet_us"`
	QuietAfterUs float64 `json:"quiet_after_us"`
	P99Ratio     float64 `json:"p99_ratio"`
	MustRatio    float64 `json:"must_ratio,omitempty"`
}

// besideWriter measures a reader beside a writer. The store has more rows afterwards, which the questions'
// snapshot does not see.
func besideWriter(q *FilledFleet) (*writerFigures, error) {
	w, err := newWriter(q)
	if err != nil {
		return nil, err
	}
	quiet, err := w.quiet()
	if err != nil {
		return nil, err
	}
	figures := &writerFigures{Keys: writerKeys, Machine: machineLatency(40*time.Microsecond, 50_000)}
	for _, how := range w.ways() {
		p, err := w.phase(how, writerSeconds*time.Second, quiet)
		if err != nil {
			return nil, fmt.Errorf("beside a writer: %w", err)
		}
		figures.Phases = append(figures.Phases, p)
	}
	return figures, nil
}

// machineLatency times pieces of arithmetic that take a given time when undisturbed.
func machineLatency(piece time.Duration, pieces int) results.Latencies {
	spin := func(n int) (us float64) {
		start, x := time.Now(), uint64(1)
		for range n {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		took := time.Since(start)
		runtime.KeepAlive(x) // keeps the loop
		return float64(took) / 1e3
	}
	const trial = 1_000_000
	rounds := max(1, int(trial*float64(piece)/1e3/min(spin(trial), spin(trial), spin(trial))))
	us := make([]float64, pieces)
	for i := range us {
		us[i] = spin(rounds)
	}
	return results.LatenciesOf(us)
}

// fleetWriter continues a fleet that is in a store, with known codes.
type fleetWriter struct {
	*FilledFleet
	codes    *columnstore.Codes
	profiles []schema.Batch    // profiles in two scrapes, inserted again and again
	files    []fleet.PprofFile // few, because they are in the heap that paces the collector
	db       *profile.DB
	offsets  []int64      // offsets of their times, from the start of the first scrape
	span     int64        // time of these scrapes
	next     int          // profiles inserted
	start    int64        // time of the first profile
	newest   atomic.Int64 // time
	last     int64        // start of the time range for the read "last"
	same     *columnstore.Groups
}

// writerHow is the way in which a writer inserts during a phase.
type writerHow struct {
	name   string
	pace   int                         // profiles a second, 0 for no limit
	insert func(n int, at int64) error // inserts profile n with that time
	must   float64                     // bound for the p99 of inserts in microseconds, 0 for none
}

// ways returns the writer's ways, one phase each.
func (w *fleetWriter) ways() []writerHow {
	return []writerHow{
		{name: "paced", pace: writerPace, insert: w.insertCodes, must: 200},
		{name: "pprof", insert: w.insertPprof},
		{name: "codes", insert: w.insertCodes},
	}
}

// newWriter makes codes for two scrapes' profiles, and files for some of them. The generator is garbage
// then.
func newWriter(q *FilledFleet) (*fleetWriter, error) {
	const scrapes = 2
	v := q.variant
	v.Symbols = false // the store has them
	f := fleet.NewVariant(fleet.Seed, v)
	filled := f.Place(q.about.Profiles-1).Scrape + 1
	w := &fleetWriter{
		FilledFleet: q, span: int64(scrapes * fleet.ScrapeInterval), last: int64(fleet.ScrapeInterval) * int64(filled),
		start: fleet.Start.UnixNano() + int64(fleet.ScrapeInterval)*int64(filled),
	}
	w.newest.Store(w.start - 1)
	var err error
	if w.db, err = profile.Open(q.Store, profile.Options{}); err != nil {
		return nil, err
	}
	if w.codes, err = q.Table.Codes(w.start); err != nil {
		return nil, err
	}
	coder := fleet.NewCoder(w.codes)
	for n := range f.Number(fleet.Place{Scrape: scrapes}) {
		made := f.Profile(n, fleet.Start)
		b, err := coder.Code(made)
		if err != nil {
			return nil, err
		}
		w.profiles = append(w.profiles, b)
		if n%fileEvery == 0 {
			file, err := fleet.NewPprofFile(made)
			if err != nil {
				return nil, err
			}
			w.files = append(w.files, file)
		}
		w.offsets = append(w.offsets, b.Columns[profile.ColumnTimestamp].Int64s[0]-fleet.Start.UnixNano())
	}
	runtime.GC() // drops the generator, which is large
	return w, nil
}

// insertNext inserts the next profile and returns its wall time in microseconds.
func (w *fleetWriter) insertNext(insert func(n int, at int64) error) (us float64, err error) {
	n := w.next % len(w.profiles)
	at := w.start + int64(w.next/len(w.profiles))*w.span + w.offsets[n]
	if _, end := w.codes.Range(); at > end {
		return 0, errors.New("the writer went past the time that its codes are for: use fewer seconds")
	}
	start := time.Now()
	if err := insert(n, at); err != nil {
		return 0, err
	}
	us = float64(time.Since(start)) / 1e3
	w.next++
	w.newest.Store(max(at, w.newest.Load()))
	return us, nil
}

func (w *fleetWriter) insertCodes(n int, at int64) error {
	b := w.profiles[n]
	b.Columns[profile.ColumnTimestamp].Int64s[0] = at
	_, err := w.codes.Insert(context.Background(), b)
	return err
}

func (w *fleetWriter) insertPprof(n int, at int64) error {
	return w.files[n%len(w.files)].Insert(w.db, at)
}

// write inserts until stop is set.
func (w *fleetWriter) write(how writerHow, stop *atomic.Bool) (us []float64, err error) {
	begin := time.Now()
	for n := 0; !stop.Load(); n++ {
		if how.pace > 0 {
			time.Sleep(time.Until(begin.Add(time.Duration(n) * time.Second / time.Duration(how.pace))))
		}
		one, err := w.insertNext(how.insert)
		if err != nil {
			return nil, err
		}
		us = append(us, one)
	}
	return us, nil
}

// phase runs a writer and a reader side by side for some time.
func (w *fleetWriter) phase(how writerHow, long time.Duration, quiet []float64) (p writerPhase, err error) {
	p.Name, p.MustUs = how.name, how.must
	type written struct {
		us  []float64
		err error
	}
	before := w.Store.Stats().Rows
	var stop atomic.Bool
	done, begin := make(chan written, 1), time.Now()
	go func() {
		us, err := w.write(how, &stop)
		done <- written{us, err}
	}()
	taken := make([][]float64, len(reads))
	for i := 0; time.Since(begin) < long && err == nil; i++ {
		var us float64
		us, err = w.read(reads[i%len(reads)])
		taken[i%len(reads)] = append(taken[i%len(reads)], us)
	}
	stop.Store(true)
	inserted := <-done
	p.Seconds = time.Since(begin).Seconds()
	stats := w.Store.Stats()
	p.RowsAfter, p.PartsAfter, p.RowsASecond = stats.Rows, stats.Parts, float64(stats.Rows-before)/p.Seconds
	if err := errors.Join(err, inserted.err, w.Settle()); err != nil {
		return p, err
	}
	p.Inserts = results.LatenciesOf(inserted.us)
	after, err := w.quiet()
	if err != nil {
		return p, err
	}
	for i, name := range reads {
		r := readFigure{Read: name, Latencies: results.LatenciesOf(taken[i]), QuietUs: quiet[i], QuietAfterUs: after[i]}
		r.P99Ratio = r.P99 / r.QuietUs
		if isFixed(name) {
			r.MustRatio = 5
		}
		p.Reads = append(p.Reads, r)
	}
	return p, nil
}

// PacedInserts inserts 500 profiles a second beside a reader and the maintainer, in `rounds` rounds, and
// returns each round's wall times of inserts.
func PacedInserts(q *FilledFleet, rounds int, long time.Duration) (all []results.Latencies, err error) {
	w, err := newWriter(q)
	if err != nil {
		return nil, err
	}
	quiet, err := w.quiet()
	if err != nil {
		return nil, err
	}
	for range rounds {
		p, err := w.phase(w.ways()[0], long, quiet)
		if err != nil {
			return nil, fmt.Errorf("beside a writer: %w", err)
		}
		all = append(all, p.Inserts)
	}
	return all, nil
}
