package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"

	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// yardstick is one of the questions that all peers are asked, and what this store may
// take to answer it.
type yardstick struct {
	question string
	// must is the CPU time that it may take at a million rows, ms.
	must float64
	// group is what a group of the answer takes: 8 bytes of sum, 8 of count, and 4 of a
	// stack's code or 8 of a time. 0 is for answers of text: 16 bytes and the text.
	group int
	// wide and long say whether it has more to go through in a fleet of more jobs, and in
	// the same fleet for longer. What has not may take half as much again at ten times the rows.
	wide, long bool
}

const (
	stackGroup = 4 + 8 + 8
	timeGroup  = 8 + 8 + 8
)

// yardsticks are in the order in which they are asked. What goes through the series, of
// which a wide fleet has ten times as many, is said to have more to do there.
var yardsticks = []yardstick{
	{question: "merge-all", must: 10, group: stackGroup, wide: true, long: true},
	{question: "merge-type", must: 5, group: stackGroup, wide: true, long: true},
	{question: "merge-job", must: 0.5, group: stackGroup, long: true},
	{question: "merge-pod", must: 0.5, group: stackGroup, long: true},
	{question: "merge-pods", must: 5, group: stackGroup, long: true},
	{question: "merge-profile", must: 0.2, group: stackGroup},
	{question: "merge-trace", must: 2, group: stackGroup},
	{question: "search-few", must: 20, group: stackGroup, wide: true, long: true},
	{question: "search-many", must: 20, group: stackGroup, wide: true, long: true},
	{question: "series-job", must: 0.5, group: timeGroup, long: true},
	{question: "series-all", must: 5, group: timeGroup, wide: true, long: true},
	{question: "label-names", must: 0.1, wide: true},
	{question: "label-values", must: 0.1, wide: true},
	{question: "label-values-job", must: 0.1, wide: true},
	{question: "types", must: 0.1, wide: true},
}

// queryKeys says what each figure is.
var queryKeys = map[string]string{
	"queries":      "asked by package columnstore on one snapshot of the compacted store: codes and sums come back, no symbol is looked up (but by search-*) and no Arrow is made",
	"cpu_ms":       "CPU time of the process for one query, user and system, the collections included that fall into its batch: median of the batches, each of as many queries in a row as take 25 ms, after one to warm up. So caches are as warm as they get, and no collection has just emptied them",
	"must_ms":      "what cpu_ms may be at a million rows",
	"alloc_bytes":  "bytes allocated for one query: median of 4 x repeat + 1 in a row, without a collection forced in between, so that what the store pools is there unless a collection of its own took it",
	"result_bytes": "what the answer has to hold: of a merge 4 bytes of code, 8 of sum and 8 of count a group; of a series 8 more for the time in place of the code; of names their text and 16 bytes",
	"alloc_ratio":  "alloc_bytes / result_bytes; of a merge it must be under 2",
	"groups":       "elements of the answer",
	"merge-*":      "sums by stack of: all rows; one type; one job, one pod, a fifth of the pods by regular expression, one profile, each of one type; one trace of ten rows",
	"search-*":     "sums by stack of the rows, of all, whose stack has a function whose name matches: of two names in 2,000 (few), of one verb in 40 (many). A function has two locations; names are tried once each in a query, as package profile does",
	"match_ms":     "of search-*: what trying the pattern on all functions takes by itself, which is in cpu_ms",
	"series-*":     "sums by timestamp of one job of one type, and of all rows",
	"label-*":      "label names; values of the label pod, all and those of one job and type",
	"types":        "the distinct types, from all series",
	"scaling":      "the same fleet with ten (-scale) times the rows: wide has as many times the jobs, so that what is asked about one job or some pods has the same answer (same_answer: compared); long has the same jobs for as many times as long, so that most answers grow. ratio is to the first fleet's cpu_ms; must_ratio is 1.5 for what has no more to go through, else scale: linear",
	"writer":       "wall times while one goroutine inserts profiles and another asks one-job merges one after the other, with the maintainer; see its own keys",
	"cancel":       "wall time from the cancellation of a query under way until it has returned; those that were done before are not counted",
}

// queryFigure is what a question took.
type queryFigure struct {
	Question   string  `json:"question"`
	CPUms      float64 `json:"cpu_ms"`
	MustMs     float64 `json:"must_ms"`
	AllocBytes float64 `json:"alloc_bytes"`
	Result     int64   `json:"result_bytes"`
	AllocRatio float64 `json:"alloc_ratio"`
	Groups     int64   `json:"groups"`
	Batch      int     `json:"batch"` // queries in a row that were timed together
	MatchMs    float64 `json:"match_ms,omitempty"`

	answer string
}

// filled is a fleet as it is in the store.
type filled struct {
	Jobs     int   `json:"jobs"`
	Rows     int64 `json:"rows"`
	Profiles int   `json:"profiles"`
	Series   int   `json:"series"`
	Stacks   int   `json:"stacks"`
	Granules int   `json:"granules"`
	Bytes    int64 `json:"bytes"` // by the store's own account
}

// scaled is a larger fleet beside the first.
type scaled struct {
	About   string          `json:"about"`
	Fleet   filled          `json:"fleet"`
	Queries []scaledFigure  `json:"queries"`
	Cancel  []cancelFigures `json:"cancel"`
}

type scaledFigure struct {
	queryFigure
	Ratio      float64 `json:"ratio"`
	MustRatio  float64 `json:"must_ratio"`
	SameAnswer bool    `json:"same_answer"`
}

type queriesResult struct {
	Keys    map[string]string `json:"keys"`
	Machine string            `json:"machine"`
	Repeat  int               `json:"repeat"`
	Fleet   filled            `json:"fleet"`
	Queries []queryFigure     `json:"queries"`
	Cancel  []cancelFigures   `json:"cancel"`
	Writer  *writerFigures    `json:"writer"`
	Scaling []scaled          `json:"scaling,omitempty"`
}

// runQueries measures queries on a fleet of so many rows and, with a scale of 2 or more,
// on two fleets of as many times the rows.
func runQueries(rows int64, repeat, scale int) error {
	if rows < 1 || repeat < 1 || scale < 0 {
		return errors.New("queries want at least one row, one repetition and no scale below 0")
	}
	r := queriesResult{
		Keys: queryKeys, Repeat: repeat,
		Machine: fmt.Sprintf("%s/%s, %d CPUs, %s", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version()),
	}
	err := withFleet(queryVariant, rows, func(q *queryFleet) (err error) {
		r.Fleet = q.about
		if r.Queries, err = q.measure(repeat); err != nil {
			return err
		}
		if r.Cancel, err = q.cancelAll(); err != nil {
			return err
		}
		r.Writer, err = q.besideWriter()
		return err
	})
	if err != nil {
		return err
	}
	if scale > 1 {
		if r.Scaling, err = scaleQueries(queryVariant, r.Queries, rows, repeat, scale); err != nil {
			return err
		}
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(r)
}

// scaleQueries asks the same of two fleets that are larger than one.
func scaleQueries(v fleetVariant, base []queryFigure, rows int64, repeat, scale int) (all []scaled, err error) {
	wide := v
	wide.jobs = scale * cmp.Or(v.jobs, fleetJobs)
	for _, of := range []struct {
		about   string
		variant fleetVariant
		more    func(y yardstick) bool
	}{
		{fmt.Sprintf("wide: %d times the jobs and pods, for as long", scale), wide, func(y yardstick) bool { return y.wide }},
		{fmt.Sprintf("long: the same jobs and pods, for %d times as long", scale), v, func(y yardstick) bool { return y.long }},
	} {
		s := scaled{About: of.about}
		err := withFleet(of.variant, int64(scale)*rows, func(q *queryFleet) error {
			s.Fleet = q.about
			figures, err := q.measure(repeat)
			if err != nil {
				return err
			}
			for i, f := range figures {
				one := scaledFigure{queryFigure: f, Ratio: f.CPUms / base[i].CPUms, MustRatio: 1.5, SameAnswer: f.answer == base[i].answer}
				if of.more(yardsticks[i]) {
					one.MustRatio = float64(scale)
				}
				s.Queries = append(s.Queries, one)
			}
			s.Cancel, err = q.cancelAll()
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", of.about, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// queryFleet is a store that is filled with a fleet and compacted, and what is asked.
type queryFleet struct {
	granary
	variant   fleetVariant
	about     filled
	subject   schema.Batch // whose job, pod, type and time are asked about
	questions map[string]question
}

// withFleet fills a store and calls f, which may ask its snapshot. The generator's heap
// is gone by then. The store has its maintainer, which has nothing to do.
func withFleet(v fleetVariant, rows int64, f func(q *queryFleet) error) error {
	fmt.Fprintf(os.Stderr, "bench: fill %d rows of %d jobs\n", rows, cmp.Or(v.jobs, fleetJobs))
	q, err := fillQueries(v, rows)
	if err != nil {
		return err
	}
	defer q.store.Close()
	if q.snap, err = q.store.Snapshot(); err != nil {
		return err
	}
	defer q.snap.Close()
	return f(q)
}

// subjectPlace is the profile that questions are about. Of its job a million rows have
// three scrapes, as all larger fleets have.
var subjectPlace = fleetPlace{kind: 1, job: 3}

// fillQueries inserts a fleet's profiles and compacts them.
func fillQueries(v fleetVariant, rows int64) (*queryFleet, error) {
	f := newFleetOf(peerSeed, v)
	g, err := openGranaryWith(columnstore.Options{FutureLimit: -1})
	if err != nil {
		return nil, err
	}
	q := &queryFleet{granary: *g, variant: f.variant, subject: f.profile(f.number(subjectPlace), peerStart)}
	for n := 0; q.about.Rows < rows; n++ {
		b := f.profile(n, peerStart)
		if err := q.insert(b); err != nil {
			q.store.Close()
			return nil, err
		}
		q.about.Rows += int64(b.Rows)
		q.about.Profiles++
	}
	if least := f.number(subjectPlace) + 1; q.about.Profiles < least {
		q.store.Close()
		return nil, fmt.Errorf("%d rows are %d profiles, and what is asked about is the %dth: want more rows", rows, q.about.Profiles, least)
	}
	if err := q.settle(); err != nil {
		q.store.Close()
		return nil, err
	}
	stats := q.store.Stats()
	q.about.Jobs, q.about.Series, q.about.Stacks = len(f.jobs), stats.Series, stats.Stacks
	q.about.Granules, q.about.Bytes = stats.Granules, stats.Bytes()
	q.questions = map[string]question{}
	for _, one := range questions(q.subject) {
		q.questions[one.name] = one
	}
	return q, nil
}

// measure asks every question.
func (q *queryFleet) measure(repeat int) ([]queryFigure, error) {
	var figures []queryFigure
	for _, y := range yardsticks {
		f := queryFigure{Question: y.question, MustMs: y.must}
		one := q.questions[y.question]
		var d digest
		var text int64
		err := one.ask(q, func(element string) {
			text += int64(len(element))
			d.add(element)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", y.question, err)
		}
		f.Groups, f.Result, f.answer = d.elements, d.elements*int64(y.group), d.String()
		if y.group == 0 {
			f.Result = text + 16*d.elements
		}
		c, err := costOf(repeat, func() error { return one.ask(q, nil) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", y.question, err)
		}
		f.CPUms, f.AllocBytes, f.Batch = c.ms, c.bytes, c.batch
		if f.MatchMs, err = q.matchCost(y.question, repeat); err != nil {
			return nil, err
		}
		f.AllocRatio = f.AllocBytes / float64(max(f.Result, 1))
		figures = append(figures, f)
	}
	return figures, nil
}

// matchCost returns what trying the pattern of a search on all functions takes, 0 for
// other questions.
func (q *queryFleet) matchCost(name string, repeat int) (ms float64, err error) {
	pattern := map[string]*regexp.Regexp{"search-few": searchFew, "search-many": searchMany}[name]
	if pattern == nil {
		return 0, nil
	}
	var records [][]byte
	all := columnstore.HasElement(profile.ColumnStacktrace, func(_ uuid.UUID, record []byte) bool {
		records = append(records, record)
		return false
	})
	if err := q.stacks(all, nil); err != nil {
		return 0, err
	}
	c, err := costOf(repeat, func() error {
		matches := functionMatcher(pattern)
		for _, record := range records {
			matches(record)
		}
		return nil
	})
	return c.ms, err
}

// cost is what one query takes.
type cost struct {
	ms, bytes float64 // CPU time, allocated
	batch     int
}

// costOf returns the medians of some batches of a query. A batch has so many that it
// takes long beside the clock's own cost, and beside what a collection before it left cold.
func costOf(repeat int, f func() error) (c cost, err error) {
	const enough, most = 25.0, 20_000 // ms; queries
	start := cpuTime()
	if err := f(); err != nil {
		return c, err
	}
	c.batch = int(min(most, max(1, enough/max(1e-6, float64(cpuTime()-start)/1e6))))
	var times, bytes []float64
	for range max(1, repeat) {
		runtime.GC() // so that none is due soon
		if err := f(); err != nil {
			return c, err
		}
		start := cpuTime()
		for range c.batch {
			if err := f(); err != nil {
				return c, err
			}
		}
		times = append(times, float64(cpuTime()-start)/1e6/float64(c.batch))
	}
	// Not in the batches: a collection before each would empty what is pooled.
	for range 4*max(1, repeat) + 1 {
		allocated := allocatedBytes()
		if err := f(); err != nil {
			return c, err
		}
		bytes = append(bytes, float64(allocatedBytes()-allocated))
	}
	c.ms, c.bytes = median(times), median(bytes)
	return c, nil
}

// allocatedBytes is exact, and stops the world to be so.
func allocatedBytes() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// percentile returns the value that a share of sorted ones are below.
func percentile(sorted []float64, share float64) float64 {
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

// latencies are wall times of one kind of operation, us.
type latencies struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50_us"`
	P99   float64 `json:"p99_us"`
	Max   float64 `json:"max_us"`
}

func latenciesOf(us []float64) (l latencies) {
	if len(us) == 0 {
		return l
	}
	us = slices.Sorted(slices.Values(us))
	return latencies{Count: len(us), P50: percentile(us, 0.5), P99: percentile(us, 0.99), Max: us[len(us)-1]}
}
