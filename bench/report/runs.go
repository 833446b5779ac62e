package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/bench/targets"
)

// run is a command of this module that prints a report as JSON.
type run struct {
	name string
	args []string
}

// command returns the run as one types it.
func (r run) command() string { return "go run " + strings.Join(r.args, " ") }

// The runs of a page, and those of a quick list, in which ours and the peers' figures have the same number of rows.
var (
	full = []run{
		{"targets", []string{".", "-targets"}},
		{"peers", []string{".", "-peers", "all", "-repeat", "5"}},
		{"durable", []string{".", "-peers", "all", "-workload", "durable", "-repeat", "3"}},
		{"trees", []string{"./trees", "-json", "-sets", recorded + "many-threads," + recorded + "uneven-streams," + recorded + "bug446190," +
			recorded + "flipping-endianness,synth:100:10000,synth:1000:1000,synth:10000:100,synth:100000:10,synth:1000000:4"}},
	}
	quick = []run{
		{"targets", []string{".", "-targets", "-sizes", "1m", "-rows", "100000", "-repeat", "3", "-groups", "ids,records,queries,durable,histories"}},
		{"peers", []string{".", "-peers", "frostdb-parca,granary,kelindar", "-rows", "100000", "-repeat", "3"}},
		{"durable", []string{".", "-peers", "frostdb-parca,granary", "-workload", "durable", "-rows", "100000", "-repeat", "1"}},
		{"trees", []string{"./trees", "-json", "-repeat", "3", "-trees", "eSHT,history", "-sets", recorded + "many-threads,synth:1000000:4"}},
	}
)

// recorded is where the recorded sets are. They are not part of the project.
const recorded = "../../shared/data/intervals/"

// reports are what the runs print.
type reports struct {
	Targets targets.Report
	// Peers and Durable have the figures of stores of profiles, without a directory and with one.
	Peers, Durable comparison
	Trees          intervals
}

// comparison is the report of stores side by side.
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
		Low    map[string]float64 `json:"low"`
		Median map[string]float64 `json:"median"`
		High   map[string]float64 `json:"high"`
	} `json:"peers"`
}

// intervals is the report of stores of intervals.
type intervals struct {
	Machine string            `json:"machine"`
	Skipped string            `json:"skipped"`
	Keys    map[string]string `json:"keys"`
	Sets    map[string]map[string]struct {
		Stopped bool                      `json:"stopped"`
		Nodes   uint32                    `json:"nodes"`
		Depth   uint32                    `json:"depth"`
		Figures map[string]results.Spread `json:"figures"`
	} `json:"sets"`
}

// reports runs the commands, or reads what they printed before.
func (o *options) reports(ctx context.Context, runs []run) (*reports, error) {
	all := &reports{}
	into := map[string]any{"targets": &all.Targets, "peers": &all.Peers, "durable": &all.Durable, "trees": &all.Trees}
	for _, r := range runs {
		data, err := o.report(ctx, r)
		if err == nil {
			err = json.Unmarshal(data, into[r.name])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
	}
	for name, c := range map[string]comparison{"peers": all.Peers, "durable": all.Durable} {
		for question, answers := range c.Disagree {
			return nil, fmt.Errorf("%s: stores disagree about %s: %v", name, question, answers)
		}
	}
	return all, nil
}

// report returns what one command prints, or printed.
func (o *options) report(ctx context.Context, r run) ([]byte, error) {
	if o.from != "" {
		return os.ReadFile(filepath.Join(o.from, r.name+".json"))
	}
	fmt.Fprintln(os.Stderr, "report:", r.command())
	cmd := exec.CommandContext(ctx, "go", append([]string{"run"}, r.args...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), "GOWORK=off"), os.Stderr
	data, err := cmd.Output()
	if err != nil || o.keep == "" {
		return data, err
	}
	return data, errors.Join(os.MkdirAll(o.keep, 0o755), os.WriteFile(filepath.Join(o.keep, r.name+".json"), data, 0o644))
}
