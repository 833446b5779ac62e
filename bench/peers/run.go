package peers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/results"
)

// childVariable is the environment variable that names the store for a process to measure. The command
// starts itself once for each store and repetition, with the same arguments, so that no store inherits
// another's heap.
const childVariable = "GRANARY_BENCH_PEER"

// againSuffix follows the name in that variable if the process need not make digests of its answers,
// because another has made them.
const againSuffix = " again"

// comparison is Run's report. Its keys are sorted and stable.
type comparison struct {
	// Disagree has the questions with different answers, and each store's digest.
	Disagree map[string]map[string]string `json:"disagree,omitempty"`
	Keys     map[string]string            `json:"keys"` // explanations of the figures
	Machine  string                       `json:"machine"`
	Notes    []string                     `json:"notes"`
	Peers    map[string]figures           `json:"peers"`
	// Published are notes on stores that are not measured here, in the workload durable.
	Published map[string]string `json:"published,omitempty"`
	Repeat    int               `json:"repeat"` // most processes of a peer
	// Skipped has the peers that cannot be built here, and why.
	Skipped  map[string]string `json:"skipped,omitempty"`
	Workload sourceShape       `json:"workload"`
}

// figures are one store's figures over its processes.
type figures struct {
	About  string             `json:"about"`
	High   map[string]float64 `json:"high"`
	Low    map[string]float64 `json:"low"`
	Median map[string]float64 `json:"median"`
	Module string             `json:"module"`
	Runs   int                `json:"runs"` // number of processes
}

var notes = []string{
	"Times are CPU time of the whole process, user and system, unless they say wall.",
	"Every repetition is a process, in turns (A B C A B C). Answers are compared in the first turn.",
	"The heap of the generator counts while rows go in, for all stores alike.",
	"Answers are codes in granary, numbers of a map beside it in kelindar, bytes in the others. merge-all-walked also reads every location.",
	"select-* are rows with four columns, -wide with all; of one type and one pod, or a fifth of the pods (a regular expression).",
	"FrostDB has no back-pressure: the writer waits while more than 32 MiB wait for compaction. Its figures include building and sorting records.",
	"FrostDB has a log and storage in the workload durable alone.",
	"DuckDB has numbers of stacks in rows and answers, and uses all processors. The memory of the process counts for it.",
	"kelindar merges values of ForEnum with equal 32-bit hashes, so a map beside it numbers stacks. It has no Arrow, no order and no compression.",
}

// Options configure Run.
type Options struct {
	Rows   int64
	Repeat int
	// Names are the stores to measure. None stands for every store that the workload has.
	Names    []string
	Workload string
	// Patience is the wall time after which a store gets no more than three processes. 0 is no limit.
	Patience time.Duration
}

// Run measures stores side by side and prints a report. In a process that Run started, it measures
// one store instead.
func Run(o Options) error {
	if name := os.Getenv(childVariable); name != "" {
		name, again := strings.CutSuffix(name, againSuffix)
		measured := func() (result, error) { return measureStore(name, o.Workload, o.Rows, !again, kinds[name].open) }
		if o.Workload == durableWorkload {
			measured = func() (result, error) { return measureDurable(name, o.Rows) }
		}
		m, err := measured()
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(m)
	}
	explained := keys
	if o.Workload == durableWorkload {
		explained = durableKeys
		if len(o.Names) == 0 {
			o.Names = append(durableKinds(), slices.Sorted(maps.Keys(formats))...)
		}
	}
	names, err := findKinds(o.Names, o.Workload)
	if err != nil {
		return err
	}
	if o.Rows < 1 || o.Repeat < 1 {
		return errors.New("peers want at least one row and one repetition")
	}
	w, err := openSource(o.Workload)
	if err != nil {
		return err
	}
	out := comparison{
		Keys: explained, Notes: notes, Repeat: o.Repeat, Workload: w.describe(o.Workload, o.Rows),
		Machine: results.Machine(), Skipped: map[string]string{},
	}
	if o.Workload == durableWorkload {
		out.Published = published
	}
	runs, err := out.measure(names, o)
	if err != nil {
		return err
	}
	out.Peers, out.Disagree = summarise(runs), disagreements(runs)
	return results.Print(out)
}

// MeasureOther measures a store whose kind has a folder, in that folder's program, and prints its figures.
// Digests of the answers are made if answers is set.
func MeasureOther(name, workload string, rows int64, answers bool, open func() (Store, error)) error {
	if kinds[name].folder == "" {
		return fmt.Errorf("%q is no store of another module", name)
	}
	m, err := measureStore(name, workload, rows, answers, open)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(m)
}

// leastTurns is the number of processes that a peer gets, if that many are wanted, however long they take.
const leastTurns = 3

// measure measures the peers in turns. A peer whose processes took more than Patience together gets no more
// of them.
func (out *comparison) measure(names []string, o Options) (runs map[string][]result, err error) {
	starts, remove := out.starts(names, o) // a process of the first turn makes digests of its answers
	defer func() { err = errors.Join(err, remove()) }()
	runs, took := map[string][]result{}, map[string]time.Duration{}
	for i := range o.Repeat {
		for _, name := range names {
			start := starts[name]
			if start == nil || i >= leastTurns && o.Patience > 0 && took[name] > o.Patience {
				continue
			}
			begun := time.Now()
			m, err := start(i == 0)
			if err != nil {
				return nil, fmt.Errorf("peer %s: %w", name, err)
			}
			took[name] += time.Since(begun)
			fmt.Fprintf(os.Stderr, "bench: %s, %d of %d, %.1f s\n", name, i+1, o.Repeat, time.Since(begun).Seconds())
			runs[name] = append(runs[name], m)
		}
	}
	return runs, nil
}

// starts returns how a process for each peer is started, and how to remove the programs that were built for
// them. A peer whose program cannot be built is skipped.
func (out *comparison) starts(names []string, o Options) (starts map[string]func(answers bool) (result, error), remove func() error) {
	starts = map[string]func(bool) (result, error){}
	programs, failed := map[string]program{}, map[string]error{}
	remove = func() (err error) {
		for _, p := range programs {
			err = errors.Join(err, os.RemoveAll(p.folder))
		}
		return err
	}
	for _, name := range names {
		folder := folderOf(name)
		if folder == "" {
			starts[name] = func(answers bool) (result, error) { return startChild(name, answers) }
			continue
		}
		p, built := programs[folder]
		if !built && failed[folder] == nil {
			var err error
			if p, err = buildProgram(folder); err != nil {
				failed[folder] = err
			} else {
				programs[folder] = p
			}
		}
		if err := failed[folder]; err != nil {
			out.Skipped[name] = err.Error()
			continue
		}
		arguments := []string{"-rows", strconv.FormatInt(o.Rows, 10), "-name", name}
		starts[name] = func(answers bool) (result, error) {
			if folder == duckFolder {
				return p.measure(append(arguments, "-workload", o.Workload, "-answers="+strconv.FormatBool(answers))...)
			}
			return p.measure(arguments...)
		}
	}
	return starts, remove
}

// startChild runs this command for one store and reads its figures.
func startChild(name string, answers bool) (m result, err error) {
	if !answers {
		name += againSuffix
	}
	err = measure.Again(childVariable, name, &m)
	return m, err
}

// summarise returns each figure's median, lowest and highest.
func summarise(runs map[string][]result) map[string]figures {
	all := map[string]figures{}
	for name, of := range runs {
		f := figures{
			About: cmp.Or(kinds[name].about, formats[name]), Module: of[0].Module, Runs: len(of),
			High: map[string]float64{}, Low: map[string]float64{}, Median: map[string]float64{},
		}
		for key := range of[0].Figures {
			var values []float64
			for _, m := range of {
				values = append(values, m.Figures[key])
			}
			f.Low[key], f.Median[key], f.High[key] = slices.Min(values), results.Median(values), slices.Max(values)
		}
		all[name] = f
	}
	return all
}

// disagreements returns the questions with different answers, and each answer by store.
func disagreements(runs map[string][]result) map[string]map[string]string {
	answers := map[string]map[string]string{} // by question and peer
	for name, of := range runs {
		for _, m := range of {
			for question, answer := range m.Answers {
				if answers[question] == nil {
					answers[question] = map[string]string{}
				}
				answers[question][name] = answer
			}
		}
	}
	for question, by := range answers {
		different := map[string]bool{}
		for _, answer := range by {
			different[answer] = true
		}
		if len(different) == 1 {
			delete(answers, question)
		}
	}
	return answers
}

// moduleVersion returns a module's version in this program.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if path == "" || !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Path + "@" + m.Version
		}
	}
	return path
}
