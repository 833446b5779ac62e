package workloads

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/google/uuid"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/peers"
	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// yardstick is a question and the time that this store may take to answer it.
type yardstick struct {
	question string
	// must is the CPU time allowed at a million rows, in milliseconds.
	must float64
	// group is the size of a group in the answer: 8 bytes for a sum, 8 for a count, and 4 for a stack
	// code or 8 for a time. 0 stands for text, which takes 16 bytes and its length.
	group int
	// wide and long report that a fleet with more jobs, or the same fleet for longer, has more rows or
	// series to go through. Other questions may take half as much again at ten times the rows.
	wide, long bool
}

const (
	stackGroup = 4 + 8 + 8
	timeGroup  = 8 + 8 + 8
)

// yardsticks are in the order of asking. A question that goes through the series has more to do in a wide
// fleet, which has ten times as many.
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

// queryKeys explains the figures.
var queryKeys = map[string]string{
	"queries":      "queries of package columnstore on one snapshot of the compacted store; answers are codes and sums, no symbol is looked up (except by search-*) and no Arrow is made",
	"cpu_ms":       "CPU time of the process for one query, collections within its batch included: the median of batches of at least 25 ms, after one query to warm up. Caches are warm, and no collection has just emptied the pools",
	"must_ms":      "bound of cpu_ms at a million rows",
	"alloc_bytes":  "bytes allocated by one query: the median of 4 x repeat + 1 queries, without forced collections between them that would empty the pools",
	"result_bytes": "size of the answer: a group of a merge has 4 bytes of code, 8 of sum and 8 of count; a group of a series has 8 of time in place of the code; a name has its text and 16 bytes",
	"alloc_ratio":  "alloc_bytes / result_bytes; bound of a merge: 2",
	"groups":       "elements of the answer",
	"merge-*":      "sums by stack of: all rows; one type; one job, one pod, a fifth of the pods by regular expression, one profile, each of one type; one trace of ten rows",
	"search-*":     "sums by stack of all rows whose stack has a function with a matching name: two names in 2,000 (few), one verb in 40 (many). A function has two locations; a query tries each name once, as package profile does",
	"match_ms":     "the part of search-* that matches the pattern against all functions",
	"series-*":     "sums by timestamp of one job of one type, and of all rows",
	"label-*":      "label names; values of the label pod, all and those of one job and type",
	"types":        "the distinct types, from all series",
	"scaling":      "the same fleet with scale times the rows. wide has as many times the jobs: questions about one job or some pods have the same answer (same_answer). long has the same jobs for as many times as long: most answers grow. ratio relates cpu_ms to the first fleet. must_ratio is 1.5 for a question with no more rows or series to go through, else scale",
	"writer":       "wall times while one goroutine inserts profiles and another asks merges of one job, with the maintainer; it has keys of its own",
	"cancel":       "wall time from the cancellation of a query until it has returned; queries that ended before are not counted",
}

// queryFigure is a question's cost.
type queryFigure struct {
	Question   string  `json:"question"`
	CPUms      float64 `json:"cpu_ms"`
	MustMs     float64 `json:"must_ms"`
	AllocBytes float64 `json:"alloc_bytes"`
	Result     int64   `json:"result_bytes"`
	AllocRatio float64 `json:"alloc_ratio"`
	Groups     int64   `json:"groups"`
	Batch      int     `json:"batch"` // queries that are timed together
	MatchMs    float64 `json:"match_ms,omitempty"`

	answer string
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

// Queries measures queries on a fleet with `rows` rows. With a scale of 2 or more it also measures two
// fleets with that multiple of the rows.
func Queries(rows int64, repeat, scale int) error {
	if rows < 1 || repeat < 1 || scale < 0 {
		return errors.New("queries want at least one row, one repetition and no scale below 0")
	}
	r := queriesResult{
		Keys: queryKeys, Repeat: repeat,
		Machine: results.Machine(),
	}
	err := WithFleet(fleet.Searchable, rows, func(q *FilledFleet) (err error) {
		r.Fleet = q.about
		if r.Queries, err = askAll(q, repeat); err != nil {
			return err
		}
		if r.Cancel, err = cancelAll(q); err != nil {
			return err
		}
		r.Writer, err = besideWriter(q)
		return err
	})
	if err != nil {
		return err
	}
	if scale > 1 {
		if r.Scaling, err = scaleQueries(fleet.Searchable, r.Queries, rows, repeat, scale); err != nil {
			return err
		}
	}
	return results.Print(r)
}

// askAll measures every question.
func askAll(q *FilledFleet, repeat int) ([]queryFigure, error) {
	var figures []queryFigure
	for _, y := range yardsticks {
		f := queryFigure{Question: y.question, MustMs: y.must}
		one := q.questions[y.question]
		var d peers.Digest
		var text int64
		err := one.Ask(q, func(element string) {
			text += int64(len(element))
			d.Add(element)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", y.question, err)
		}
		f.Groups, f.Result, f.answer = d.Elements, d.Elements*int64(y.group), d.String()
		if y.group == 0 {
			f.Result = text + 16*d.Elements
		}
		c, err := measure.CostOf(repeat, func() error { return one.Ask(q, nil) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", y.question, err)
		}
		f.CPUms, f.AllocBytes, f.Batch = results.Median(c.Ms), c.Bytes, c.Batch
		if f.MatchMs, err = matchCost(q, y.question, repeat); err != nil {
			return nil, err
		}
		f.AllocRatio = f.AllocBytes / float64(max(f.Result, 1))
		figures = append(figures, f)
	}
	return figures, nil
}

// matchCost returns the time to match a search's pattern against all functions, 0 for other questions.
func matchCost(q *FilledFleet, name string, repeat int) (ms float64, err error) {
	pattern := map[string]*regexp.Regexp{"search-few": peers.SearchFew, "search-many": peers.SearchMany}[name]
	if pattern == nil {
		return 0, nil
	}
	var records [][]byte
	all := columnstore.HasElement(profile.ColumnStacktrace, func(_ uuid.UUID, record []byte) bool {
		records = append(records, slices.Clone(record))
		return false
	})
	if err := q.Stacks(all, nil); err != nil {
		return 0, err
	}
	c, err := measure.CostOf(repeat, func() error {
		matches := peers.FunctionMatcher(pattern)
		for _, record := range records {
			matches(record)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return results.Median(c.Ms), nil
}
