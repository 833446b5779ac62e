package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/granarydb/granary/bench/programs"
	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/bench/targets"
)

// run is a command of this module that prints a report.
type run struct {
	name string   // name of the report
	part string   // part of the report, if several runs make it
	args []string // arguments of go run
	// rounds is true if each round of a quick list has this run.
	rounds bool
	// round is the round of a page to which the run belongs, from 1; 0 means none.
	round int
}

// command returns the command line of the run, as a person types it.
func (r run) command() string {
	args := slices.Clone(r.args)
	for i, arg := range args {
		if strings.Contains(arg, " ") {
			args[i] = "'" + arg + "'"
		}
	}
	return "go run " + strings.Join(args, " ")
}

// file returns the name of the file that keeps the run's output.
func (r run) file() string { return r.name + r.part + ".json" }

// recorded is the folder of the recorded sets, which are not part of the project.
const recorded = "../../shared/data/intervals/"

// recordedSets are the recorded sets, and madeSets the synthetic ones. The first synthetic sets have a
// million intervals, or five, and a growing number of attributes; the last have a growing number of
// intervals.
var (
	recordedSets = []string{threads, "uneven-streams", "bug446190", "flipping-endianness"}
	madeSets     = []string{
		"synth:100:10000", "synth:1000:1000", "synth:10000:100", "synth:100000:10", million, "synth:1000:100", "synth:1000:2000",
	}
)

// mainStores are measured with all sets. The results of the other trees are between theirs.
var mainStores = []string{"SHT", "eSHT", "R3", "vR", history, "rtree", "PG GiST", "PG B-tree"}

// sets returns the names of the recorded sets that are installed, and of the synthetic sets, as arguments.
func sets(recordedOnes, made []string) []string {
	var names []string
	if _, err := os.Stat(recorded); err == nil {
		for _, name := range recordedOnes {
			names = append(names, recorded+name)
		}
	}
	return append(names, made...)
}

// pageRounds is the number of rounds for a page.
const pageRounds = 5

// round returns the runs of a round: this store in memory, and its peers directly after it. Microseconds vary
// more between processes than within one, and with the hour; rounds are therefore spread over the run, and
// each round compares figures measured close together. The first round has all sizes.
func round(n int) []run {
	sizes, part := "-sizes 1m -groups ids,records,queries,histories", fmt.Sprint("-", n)
	if n == 1 {
		sizes = "-groups ids,records,pprof,queries,histories"
	}
	return []run{
		{name: "targets", part: "-memory" + part, round: n, args: strings.Fields(". -targets " + sizes)},
		{name: "frostdb", part: part, round: n, args: strings.Fields(". -peers " + frost + " -repeat 1")},
		{
			name: "esht", part: part, round: n,
			args: []string{"./trees", "-json", "-repeat", "1", "-trees", eSHT, "-sets", strings.Join(sets([]string{threads}, []string{million}), ",")},
		},
	}
}

// full returns the runs of a page, with its rounds between the other runs.
func full() []run {
	others := []run{
		{name: "targets", part: "-durable", args: strings.Fields(". -targets -groups durable")},
		{name: "targets", part: "-serve", args: strings.Fields(". -targets -groups serve")},
		{name: "peers", args: strings.Fields(". -peers all -repeat 5 -patience 60s")},
		{name: "small", args: strings.Fields(". -peers all,oracle -rows 100000 -repeat 1")},
		{name: "durable", args: strings.Fields(". -peers all -workload durable -repeat 1")},
	}
	for _, set := range sets(recordedSets, madeSets) {
		r := run{name: "trees", part: "-" + strings.ReplaceAll(filepath.Base(set), ":", "-"), args: strings.Fields("./trees -json -repeat 5 -patience 8s")}
		if filepath.Base(set) != threads {
			r.args = append(r.args, "-trees", strings.Join(mainStores, ","))
		}
		r.args = append(r.args, "-sets", set)
		others = append(others, r)
	}
	others = append(others, ofPublic()...)
	others = append(others, ofPapers()...)
	var runs []run
	for n := range pageRounds {
		runs = append(runs, round(n+1)...)
		runs = append(runs, others[n*len(others)/pageRounds:(n+1)*len(others)/pageRounds]...)
	}
	return runs
}

// ofTargets returns a page's runs that a list of targets needs.
func ofTargets() []run {
	return slices.DeleteFunc(full(), func(r run) bool { return r.round == 0 && r.name != "targets" && r.name != "durable" })
}

// quick returns the runs of a quick list, in which our figures and the peers' have the same number of rows.
// Figures that vary are measured in rounds, with this store and its peers in turn.
func quick() []run {
	return []run{
		{name: "agree", args: strings.Fields(". -peers frostdb-parca,granary,arrow,kelindar,oracle -rows 20000 -repeat 1")},
		{name: "targets", part: "-durable", args: strings.Fields(". -targets -sizes 1m -rows 100000 -repeat 1 -phase 1s -groups durable")},
		{name: "durable", args: strings.Fields(". -peers frostdb-parca,granary -workload durable -rows 100000 -repeat 1")},
		{
			name: "targets", part: "-memory", rounds: true,
			args: strings.Fields(". -targets -sizes 1m -rows 100000 -repeat 3 -phase 500ms -groups ids,records,queries,histories"),
		},
		{name: "peers", rounds: true, args: strings.Fields(". -peers frostdb-parca -rows 100000 -repeat 1")},
		{
			name: "trees", rounds: true,
			args: []string{"./trees", "-json", "-repeat", "1", "-trees", "eSHT", "-sets", strings.Join(sets([]string{threads}, []string{million}), ",")},
		},
	}
}

// reports are the outputs of the runs.
type reports struct {
	Targets targets.Report
	// Peers and Small have the figures of profile stores, with ten times the rows and without; Durable has
	// the figures of profile stores in a directory. Agree has few rows, to compare answers.
	Peers, Small, Durable, Agree comparison
	Trees, Papers                intervals
	Public                       public
	Partials                     string // a table

	parts  map[string]targets.Report // the reports whose medians are Targets, by part
	rounds map[int]*reports          // the rounds of a page
	from   map[string]string         // commits and dates of the runs
}

func newReports() *reports {
	return &reports{
		parts: map[string]targets.Report{}, rounds: map[int]*reports{},
		Trees:  intervals{Sets: map[string]map[string]treeFigures{}},
		Papers: intervals{Sets: map[string]map[string]treeFigures{}}, from: map[string]string{},
	}
}

// comparison is a report that compares stores.
type comparison struct {
	Machine  string                       `json:"machine"`
	Keys     map[string]string            `json:"keys"`
	Notes    []string                     `json:"notes"`
	Repeat   int                          `json:"repeat"`
	Skipped  map[string]string            `json:"skipped"`
	Disagree map[string]map[string]string `json:"disagree"`
	Peers    map[string]struct {
		About  string             `json:"about"`
		Module string             `json:"module"`
		Runs   int                `json:"runs"`
		Low    map[string]float64 `json:"low"`
		Median map[string]float64 `json:"median"`
		High   map[string]float64 `json:"high"`
	} `json:"peers"`
	Workload struct {
		Rows int `json:"rows"`
	} `json:"workload"`
}

// intervals is the report on interval stores.
type intervals struct {
	Machine string                            `json:"machine"`
	Skipped string                            `json:"skipped"`
	Keys    map[string]string                 `json:"keys"`
	Sets    map[string]map[string]treeFigures `json:"sets"`
}

// add adds the figures of a run to those of other runs. If two runs measured a store on the same set, the
// later one counts.
func (t *intervals) add(data []byte) error {
	var part intervals
	if err := json.Unmarshal(data, &part); err != nil {
		return err
	}
	for set, stores := range part.Sets {
		if t.Sets[set] == nil {
			t.Sets[set] = map[string]treeFigures{}
		}
		maps.Copy(t.Sets[set], stores)
	}
	t.Machine, t.Keys, t.Skipped = part.Machine, part.Keys, cmp.Or(t.Skipped, part.Skipped)
	return nil
}

// treeFigures are the figures of an interval store on a set.
type treeFigures struct {
	Runs      int                       `json:"runs"`
	Stopped   bool                      `json:"stopped"`
	Intervals int                       `json:"intervals"`
	Nodes     uint32                    `json:"nodes"`
	Depth     uint32                    `json:"depth"`
	Ranges    []int                     `json:"ranges"`
	Figures   map[string]results.Spread `json:"figures"`
}

// median returns the median of a figure, or 0 if there is none.
func (f treeFigures) median(key string) float64 { return f.Figures[key].Median }

// add adds the output of a run, in place of earlier output of the same part. The output of a round is kept
// apart, except that its targets also count for the page.
func (all *reports) add(r run, data []byte) error {
	if n := r.round; n > 0 {
		if all.rounds[n] == nil {
			all.rounds[n] = newReports()
		}
		r.round = 0
		if err := all.rounds[n].add(r, data); err != nil || r.name != "targets" {
			return err
		}
	}
	switch r.name {
	case "targets":
		var part targets.Report
		if err := json.Unmarshal(data, &part); err != nil {
			return err
		}
		all.parts[r.part] = part
		var parts []targets.Report
		for _, name := range slices.Sorted(maps.Keys(all.parts)) {
			parts = append(parts, all.parts[name])
		}
		all.Targets = targets.Middle(parts...)
		return nil
	case "trees", "esht":
		return all.Trees.add(data)
	case "papers":
		return all.Papers.add(data)
	case "public":
		return all.Public.add(data)
	case "partials":
		all.Partials = string(data)
		return nil
	}
	into := map[string]*comparison{"peers": &all.Peers, "frostdb": &all.Peers, "small": &all.Small, "durable": &all.Durable, "agree": &all.Agree}[r.name]
	*into = comparison{}
	if err := json.Unmarshal(data, into); err != nil {
		return err
	}
	for question, answers := range into.Disagree {
		return fmt.Errorf("stores disagree about %s: %v", question, answers)
	}
	return nil
}

// kept is the output of a run, as a file in the folder of -keep.
type kept struct {
	Command string `json:"command"`
	Commit  string `json:"commit"`
	Date    string `json:"date"`
	Printed string `json:"printed"`
}

// measurer runs commands.
type measurer struct {
	keep     string            // a folder, or empty
	commit   string            // commit of the checkout, read before a run writes pictures into it
	built    string            // the folder of programs, and of their temporary files
	programs map[string]string // by package
}

func newMeasurer(keep string) (*measurer, error) {
	if keep != "" {
		if err := os.MkdirAll(keep, 0o755); err != nil {
			return nil, err
		}
	}
	built, err := os.MkdirTemp("", "granary-report")
	if err == nil {
		err = os.Chmod(built, 0o755) // a database's user reads its folder in there
	}
	return &measurer{keep: keep, commit: commit(), built: built, programs: map[string]string{}}, err
}

func (m *measurer) close() error { return os.RemoveAll(m.built) }

// measure runs the commands, or reads their kept output. It builds all programs first, because a package that
// does not build must not be found after half an hour.
func (m *measurer) measure(ctx context.Context, all *reports, runs []run) error {
	old := make([]*kept, len(runs))
	for i, r := range runs {
		var err error
		if old[i], err = m.old(r); err == nil && old[i] == nil {
			_, err = m.build(ctx, r.args[0])
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.name+r.part, err)
		}
	}
	for i, r := range runs {
		k, err := old[i], error(nil)
		if k == nil {
			fmt.Fprintf(os.Stderr, "report: %d of %d: %s\n", i+1, len(runs), r.command())
			k, err = m.report(ctx, r)
		}
		if err == nil {
			err = all.add(r, []byte(k.Printed))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.name+r.part, err)
		}
		all.from[k.Commit] = max(all.from[k.Commit], k.Date)
	}
	return nil
}

// old returns the kept output of a command, or nil.
func (m *measurer) old(r run) (*kept, error) {
	if m.keep == "" {
		return nil, nil
	}
	path, k := filepath.Join(m.keep, r.file()), &kept{}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, k)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if k.Command != r.command() {
		return nil, nil
	}
	return k, nil
}

// report runs a command, and keeps its output.
func (m *measurer) report(ctx context.Context, r run) (*kept, error) {
	program, err := m.build(ctx, r.args[0])
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	data, err := programs.Output(ctx, "", []string{"TMPDIR=" + m.built}, append([]string{program}, r.args[1:]...)...)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "report: %s%s took %.0f s\n", r.name, r.part, time.Since(begun).Seconds())
	k := &kept{Command: r.command(), Commit: m.commit, Date: begun.UTC().Format(time.DateOnly), Printed: string(data)}
	if m.keep == "" {
		return k, nil
	}
	if data, err = json.Marshal(k); err == nil {
		err = os.WriteFile(filepath.Join(m.keep, r.file()), data, 0o644)
	}
	return k, err
}

// build returns the program for a package in this module.
func (m *measurer) build(ctx context.Context, of string) (string, error) {
	if path := m.programs[of]; path != "" {
		return path, nil
	}
	path := filepath.Join(m.built, fmt.Sprint("program-", len(m.programs)))
	if _, err := programs.Output(ctx, "", nil, "go", "build", "-o", path, of); err != nil {
		return "", err
	}
	m.programs[of] = path
	return path, nil
}
