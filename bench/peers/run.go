package peers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"

	"github.com/granarydb/granary/bench/results"
)

// childVariable is the environment variable with the name of the store that a process
// measures. The command starts itself once for each store and repetition, with the same
// arguments, so that no store inherits the heap of another.
const childVariable = "GRANARY_BENCH_PEER"

// comparison is the report of Run. Its keys are sorted and stable.
type comparison struct {
	// Disagree has the questions with different answers, and the digest of each store.
	Disagree map[string]map[string]string `json:"disagree,omitempty"`
	Keys     map[string]string            `json:"keys"` // explanations of the figures
	Machine  string                       `json:"machine"`
	Notes    []string                     `json:"notes"`
	Peers    map[string]figures           `json:"peers"`
	// Published are notes on stores that are not measured here, in the workload durable.
	Published map[string]string `json:"published,omitempty"`
	Repeat    int               `json:"repeat"` // processes of each peer
	// Skipped has the peers that cannot be built here, and why.
	Skipped  map[string]string `json:"skipped,omitempty"`
	Workload sourceShape       `json:"workload"`
}

// figures are the figures of one store over its processes.
type figures struct {
	About  string             `json:"about"`
	High   map[string]float64 `json:"high"`
	Low    map[string]float64 `json:"low"`
	Median map[string]float64 `json:"median"`
	Module string             `json:"module"`
}

var notes = []string{
	"Times are CPU time of the whole process, user and system, unless they say wall.",
	"Every store has a process of its own for each repetition; stores take turns (A B C A B C).",
	"The heap of the generator counts while rows go in, for all stores alike, so collections are rarer than without it.",
	"Answers have the form of the store: codes in granary, numbers of a map beside it in kelindar, bytes in the others. merge-all-walked also reads every location of the answer.",
	"select-* are rows with four columns, -wide with all; of one type and one pod, or a fifth of the pods (a regular expression).",
	"merge-pods, merge-profile and series-all are sums of the rows of select-pods, of one-profile and of everything. Workload queries adds merge-trace, and search-* for stores that keep names of functions.",
	"Trace ids (workload queries) are labels of samples in FrostDB, where Parca has them, and strings in kelindar. Names of functions are in the insert figures of granary in that workload. The other stores have no place for them.",
	"FrostDB has no back-pressure: the writer waits while more than 32 MiB wait for compaction. A compaction begins within an insert only; it works beside the writer, so insert_ns_per_row is unknown. The writer builds and sorts records, which is in its figures.",
	"FrostDB is given no log and no storage, except in the workload durable, and a block without bounds. It identifies a group by a 64-bit hash.",
	"kelindar merges values of ForEnum with equal 32-bit hashes, so a map beside it numbers stacks, which is in its figures. It has no Arrow, no order and no compression.",
}

// Run measures the named stores side by side and prints a report. No name stands for every
// store. In a process that Run started, it measures one store instead.
func Run(rows int64, repeat int, names []string, workload string) error {
	if name := os.Getenv(childVariable); name != "" {
		measured := func() (result, error) { return measureStore(name, workload, rows) }
		if workload == durableWorkload {
			measured = func() (result, error) { return measureDurable(name, rows) }
		}
		m, err := measured()
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(m)
	}
	explained := keys
	if workload == durableWorkload {
		explained = durableKeys
		if len(names) == 0 {
			names = append(durableKinds(), slices.Sorted(maps.Keys(formats))...)
		}
	}
	names, err := findKinds(names, workload)
	if err != nil {
		return err
	}
	if rows < 1 || repeat < 1 {
		return errors.New("peers want at least one row and one repetition")
	}
	w, err := openSource(workload)
	if err != nil {
		return err
	}
	out := comparison{
		Keys: explained, Notes: notes, Repeat: repeat, Workload: w.describe(workload, rows),
		Machine: results.Machine(), Skipped: map[string]string{},
	}
	if workload == durableWorkload {
		out.Published = published
	}
	runs, err := out.measure(names, rows)
	if err != nil {
		return err
	}
	out.Peers, out.Disagree = summarise(runs), disagreements(runs)
	return results.Print(out)
}

// measure measures the peers in turns.
func (out *comparison) measure(names []string, rows int64) (map[string][]result, error) {
	var others formatsCommand
	if slices.ContainsFunc(names, isFormat) {
		var err error
		if others, err = buildFormats(); err == nil {
			defer os.RemoveAll(others.folder)
		} else {
			for _, name := range slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !isFormat(name) }) {
				out.Skipped[name] = err.Error()
			}
			names = slices.DeleteFunc(slices.Clone(names), isFormat)
		}
	}
	runs := map[string][]result{}
	for i := range out.Repeat {
		for _, name := range names {
			fmt.Fprintf(os.Stderr, "bench: %s, %d of %d\n", name, i+1, out.Repeat)
			start := startChild
			if isFormat(name) {
				start = func(name string) (result, error) { return others.measure(name, rows) }
			}
			m, err := start(name)
			if err != nil {
				return nil, fmt.Errorf("peer %s: %w", name, err)
			}
			runs[name] = append(runs[name], m)
		}
	}
	return runs, nil
}

// startChild runs this command for one store and reads its figures.
func startChild(name string) (m result, err error) {
	self, err := os.Executable()
	if err != nil {
		return m, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), childVariable+"="+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return m, err
	}
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&m); err != nil {
		return m, fmt.Errorf("read its figures: %w", err)
	}
	return m, nil
}

// summarise returns the median, the lowest and the highest of each figure.
func summarise(runs map[string][]result) map[string]figures {
	all := map[string]figures{}
	for name, of := range runs {
		f := figures{
			About: cmp.Or(kinds[name].about, formats[name]), Module: of[0].Module,
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

// moduleVersion returns the version of a module in this program.
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
