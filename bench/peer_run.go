package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
)

// peerChild is set in the environment of a process that measures one peer: the name of
// the peer. The command starts itself once for each peer and repetition, with the same
// arguments, so that none inherits the heap of another.
const peerChild = "GRANARY_BENCH_PEER"

// peerReport is what runPeers prints. Keys are sorted and stay as they are.
type peerReport struct {
	// Disagree names the questions to which peers gave different answers.
	Disagree map[string]map[string]string `json:"disagree,omitempty"`
	Keys     map[string]string            `json:"keys"` // what each figure is
	Machine  string                       `json:"machine"`
	Notes    []string                     `json:"notes"`
	Peers    map[string]peerFigures       `json:"peers"`
	Repeat   int                          `json:"repeat"` // processes of each peer
	Workload peerWorkload                 `json:"workload"`
}

// peerFigures are the figures of one peer over its processes.
type peerFigures struct {
	About  string             `json:"about"`
	High   map[string]float64 `json:"high"`
	Low    map[string]float64 `json:"low"`
	Median map[string]float64 `json:"median"`
	Module string             `json:"module"`
}

var peerNotes = []string{
	"Times are CPU time of the whole process, user and system, unless they say wall.",
	"Every peer has a process of its own for each repetition; peers take turns (A B C A B C).",
	"The generator's heap is beside the peer's while rows go in, for all alike, so collections are rarer than without.",
	"Answers are made in each peer's own form. merge-all-walked looks at every location of the answer too: granary's own form has codes, the others' has bytes (kelindar: codes of a map beside it).",
	"select-* are rows with four columns, -wide with all; of one type and one pod, or a fifth of the pods (a regular expression).",
	"merge-pods, merge-profile and series-all are sums of what select-pods, one-profile and everything are rows of. Workload queries adds merge-trace, and search-* for those who keep names of functions.",
	"Trace ids (workload queries) are labels of samples in FrostDB, where Parca has them, and strings in kelindar. Names of functions are in granary's insert figures of that workload, and in no other's: they have no place for them.",
	"FrostDB has no back-pressure: the writer waits while more than 32 MiB wait for compaction. A compaction begins within an insert only; it works beside the writer, so insert_ns_per_row cannot be told apart. Records are built and sorted by the writer, and that is in its figures.",
	"FrostDB is given no log and no storage, and a block without bounds. It tells groups apart by a 64-bit hash.",
	"kelindar merges values of ForEnum by a 32-bit hash, so stacks are numbered by a map beside it, which is in its figures; it has no Arrow, no order and no compression.",
}

// runPeers measures peers beside each other and prints one JSON document. No names are
// all peers.
func runPeers(rows int64, repeat int, names []string, workload string) error {
	if name := os.Getenv(peerChild); name != "" {
		m, err := measurePeer(name, workload, rows)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(m)
	}
	names, err := findPeers(names)
	if err != nil {
		return err
	}
	if rows < 1 || repeat < 1 {
		return errors.New("peers want at least one row and one repetition")
	}
	w, err := openWorkload(workload)
	if err != nil {
		return err
	}
	report := peerReport{
		Keys: peerKeys, Notes: peerNotes, Repeat: repeat, Workload: w.describe(workload, rows),
		Machine: fmt.Sprintf("%s/%s, %d CPUs, %s", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version()),
	}
	runs := map[string][]measured{}
	for i := range repeat {
		for _, name := range names {
			fmt.Fprintf(os.Stderr, "bench: %s, %d of %d\n", name, i+1, repeat)
			m, err := startPeer(name)
			if err != nil {
				return fmt.Errorf("peer %s: %w", name, err)
			}
			runs[name] = append(runs[name], m)
		}
	}
	report.Peers, report.Disagree = summarise(runs), disagreements(runs)
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(report)
}

// startPeer runs this command again for one peer and reads what it prints.
func startPeer(name string) (m measured, err error) {
	self, err := os.Executable()
	if err != nil {
		return m, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), peerChild+"="+name)
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

// summarise takes the median, the lowest and the highest of each figure.
func summarise(runs map[string][]measured) map[string]peerFigures {
	all := map[string]peerFigures{}
	for name, of := range runs {
		f := peerFigures{
			About: peerKinds[name].about, Module: of[0].Module,
			High: map[string]float64{}, Low: map[string]float64{}, Median: map[string]float64{},
		}
		for key := range of[0].Figures {
			var values []float64
			for _, m := range of {
				values = append(values, m.Figures[key])
			}
			f.Low[key], f.Median[key], f.High[key] = slices.Min(values), median(values), slices.Max(values)
		}
		all[name] = f
	}
	return all
}

// disagreements returns the answers of all peers to the questions that got different
// ones.
func disagreements(runs map[string][]measured) map[string]map[string]string {
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

// moduleVersion returns the version of a module that this program was built with.
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
