package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

const (
	writerSeconds = 5   // of each phase
	writerPace    = 500 // profiles a second when paced, a quarter of a million rows: six times what the fleet makes
	quietAsks     = 300 // of each one-job merge, to know its quiet median
	fileEvery     = 17  // profiles: of two scrapes about a hundred files, of all types and jobs
)

// writerKeys says what each figure is.
var writerKeys = map[string]string{
	"phases":         "paced: the writer inserts 500 profiles a second (250,000 rows, six times what such a fleet makes) and the maintainer keeps up; pprof: it decodes and inserts gzipped pprof files of the same fleet without a pause, a hundred in turns, which is what one core takes in if it has one; codes: it inserts batches of codes without a pause, so that the maintainer does not keep up and inserts help. Each for as many seconds as it says, with default options and no memory budget. The fleet goes on where the filled one ended, ten seconds a scrape, in codes that were looked up before, but for pprof; all stacks are known, but for those of pprof, which names locations in its own way, the first time",
	"reads":          "wall times of one-job merges of one type, to codes; the reader takes the four in turns without a pause",
	"held":           "on a snapshot that was taken before the writer began: the same parts each time, so that all that is slower is what a writer beside it does",
	"same-rows":      "on a new snapshot, as those below, which is taken in the same time: of the rows that were there before the writer began, by a condition on their times. The answer is that of held, which is checked, but the rows lie among those that have come since",
	"last":           "of as much time as the filled fleet has, up to the newest insert, in rows that were just inserted: an answer of the same size, but for pprof and just behind it",
	"all-time":       "of all time: the answer grows",
	"quiet_us":       "median before the writer began",
	"quiet_after_us": "median after the phase, compacted",
	"p99_ratio":      "p99_us / quiet_us; of held and same-rows it must be at most 5",
	"machine":        "wall times of pieces of 40 us of arithmetic in the same process, with nothing beside them: what a p99 is on this machine without the store",
	"inserts":        "wall times of Codes.Insert, one profile each, of pprof those of profile.DB.InsertEncoded; the p99 must be at most 200 us when paced. Three goroutines share the CPUs, so that without a pause some wait for a time slice of 10 ms, which is in these figures and in those of reads",
}

// writerFigures is what happens beside a writer.
type writerFigures struct {
	Keys    map[string]string `json:"keys"`
	Machine latencies         `json:"machine"`
	Phases  []writerPhase     `json:"phases"`
}

type writerPhase struct {
	Name        string       `json:"name"`
	Seconds     float64      `json:"seconds"`
	RowsASecond float64      `json:"rows_a_second"`
	RowsAfter   int64        `json:"rows_after"`
	PartsAfter  int          `json:"parts_after"` // when the writer stops
	Inserts     latencies    `json:"inserts"`
	MustUs      float64      `json:"inserts_must_p99_us,omitempty"`
	Reads       []readFigure `json:"reads"`
}

type readFigure struct {
	Read string `json:"read"`
	latencies
	QuietUs      float64 `json:"quiet_us"`
	QuietAfterUs float64 `json:"quiet_after_us"`
	P99Ratio     float64 `json:"p99_ratio"`
	MustRatio    float64 `json:"must_ratio,omitempty"`
}

// besideWriter measures a reader and a writer beside each other. Afterwards the store
// has more rows; the snapshot of the questions does not see them.
func (q *queryFleet) besideWriter() (*writerFigures, error) {
	w, err := q.newWriter()
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

// machineLatency times pieces of arithmetic that take so long when nothing disturbs them.
func machineLatency(piece time.Duration, pieces int) latencies {
	spin := func(n int) (us float64) {
		start, x := time.Now(), uint64(1)
		for range n {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		took := time.Since(start)
		runtime.KeepAlive(x) // it is not left out
		return float64(took) / 1e3
	}
	const trial = 1_000_000
	rounds := max(1, int(trial*float64(piece)/1e3/min(spin(trial), spin(trial), spin(trial))))
	us := make([]float64, pieces)
	for i := range us {
		us[i] = spin(rounds)
	}
	return latenciesOf(us)
}

// fleetWriter goes on with a fleet that is in a store, from codes that are known.
type fleetWriter struct {
	*queryFleet
	codes    *columnstore.Codes
	profiles []schema.Batch // of some scrapes, inserted again and again
	files    []pprofFile    // of some of them: few, as they are no part of the store and the collector goes by the size of the heap
	db       *profile.DB
	offsets  []int64      // of their times, from the first scrape's start
	span     int64        // of time, of those scrapes
	next     int          // profiles inserted
	start    int64        // the time of the first
	newest   atomic.Int64 // time
	last     int64        // how much time the read of that name is about
	same     *columnstore.Groups
}

// writerHow is how a writer writes in a phase.
type writerHow struct {
	name   string
	pace   int                         // profiles a second; 0: as many as it can
	insert func(n int, at int64) error // profile n of w.profiles, of that time
	must   float64                     // the p99 of inserts at most, us; 0: no matter
}

// ways returns how the writer writes, one phase each.
func (w *fleetWriter) ways() []writerHow {
	return []writerHow{
		{name: "paced", pace: writerPace, insert: w.insertCodes, must: 200},
		{name: "pprof", insert: w.insertPprof},
		{name: "codes", insert: w.insertCodes},
	}
}

// newWriter makes codes of the profiles of two scrapes, and files of some of them. The
// generator is garbage then.
func (q *queryFleet) newWriter() (*fleetWriter, error) {
	const scrapes = 2
	v := q.variant
	v.symbols = false // they are there
	f := newFleetOf(peerSeed, v)
	filled := f.place(q.about.Profiles-1).scrape + 1
	w := &fleetWriter{
		queryFleet: q, span: int64(scrapes * fleetScrape), last: int64(fleetScrape) * int64(filled),
		start: peerStart.UnixNano() + int64(fleetScrape)*int64(filled),
	}
	w.newest.Store(w.start - 1)
	var err error
	if w.db, err = profile.Open(q.store, profile.Options{}); err != nil {
		return nil, err
	}
	if w.codes, err = q.table.Codes(w.start); err != nil {
		return nil, err
	}
	coder := fleetCoder{codes: w.codes, series: map[string]uint32{}}
	for n := range f.number(fleetPlace{scrape: scrapes}) {
		made := f.profile(n, peerStart)
		b, err := coder.code(made)
		if err != nil {
			return nil, err
		}
		w.profiles = append(w.profiles, b)
		if n%fileEvery == 0 {
			file, err := newPprofFile(made)
			if err != nil {
				return nil, err
			}
			w.files = append(w.files, file)
		}
		w.offsets = append(w.offsets, b.Columns[profile.ColumnTimestamp].Int64s[0]-peerStart.UnixNano())
	}
	runtime.GC() // the generator is large
	return w, nil
}

// insertNext inserts the next profile and returns how long it took, us.
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
	return w.files[n%len(w.files)].insert(w.db, at)
}

// write inserts until it is told to stop.
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

// reads are the one-job merges, in the order in which they take turns.
var reads = []string{"held", "same-rows", "last", "all-time"}

// isFixed says whether a read is of the rows that were there before the writer began.
func isFixed(name string) bool { return name == "held" || name == "same-rows" }

// read asks for one of them and returns how long it took, us.
func (w *fleetWriter) read(name string) (us float64, err error) {
	where := []columnstore.Expr{expr([]term{{column: labelPrefix + "job", text: w.subject.Columns[labelPrefix+"job"].Strings[0]}}), expr(ofType(w.subject))}
	switch {
	case isFixed(name):
		where = append(where, columnstore.Less(profile.ColumnTimestamp, w.start))
	case name == "last":
		where = append(where, columnstore.AtLeast(profile.ColumnTimestamp, w.newest.Load()-w.last))
	}
	opts := columnstore.AggregateOptions{Sum: profile.ColumnValue, By: []string{profile.ColumnStacktrace}, Where: columnstore.And(where...)}
	var groups *columnstore.Groups
	ctx, start := context.Background(), time.Now()
	if name == "held" {
		groups, err = w.table.Aggregate(ctx, w.snap, opts)
	} else {
		err = w.store.View(ctx, func(snap *columnstore.Snapshot) error {
			groups, err = w.table.Aggregate(ctx, snap, opts)
			return err
		})
	}
	us = float64(time.Since(start)) / 1e3
	if err != nil || !isFixed(name) {
		return us, err
	}
	if w.same == nil {
		w.same = groups
	}
	if got, want := sums(groups), sums(w.same); got != want {
		return us, fmt.Errorf("a merge of rows that stay the same gave %v groups, rows and sum, before it were %v", got, want)
	}
	return us, nil
}

// sums returns how many groups there are, of how many rows, and their sum.
func sums(g *columnstore.Groups) (all [3]int64) {
	all[0] = int64(len(g.Sums))
	for i := range g.Sums {
		all[1] += g.Counts[i]
		all[2] += g.Sums[i]
	}
	return all
}

// quiet returns the median of each read while nothing else runs.
func (w *fleetWriter) quiet() (us []float64, err error) {
	for _, name := range reads {
		var all []float64
		for range quietAsks {
			one, err := w.read(name)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		us = append(us, median(all))
	}
	return us, nil
}

// phase runs a writer and a reader beside each other for some time.
func (w *fleetWriter) phase(how writerHow, long time.Duration, quiet []float64) (p writerPhase, err error) {
	p.Name, p.MustUs = how.name, how.must
	type written struct {
		us  []float64
		err error
	}
	before := w.store.Stats().Rows
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
	stats := w.store.Stats()
	p.RowsAfter, p.PartsAfter, p.RowsASecond = stats.Rows, stats.Parts, float64(stats.Rows-before)/p.Seconds
	if err := errors.Join(err, inserted.err, w.settle()); err != nil {
		return p, err
	}
	p.Inserts = latenciesOf(inserted.us)
	after, err := w.quiet()
	if err != nil {
		return p, err
	}
	for i, name := range reads {
		r := readFigure{Read: name, latencies: latenciesOf(taken[i]), QuietUs: quiet[i], QuietAfterUs: after[i]}
		r.P99Ratio = r.P99 / r.QuietUs
		if isFixed(name) {
			r.MustRatio = 5
		}
		p.Reads = append(p.Reads, r)
	}
	return p, nil
}
