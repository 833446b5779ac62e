package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/granarydb/granary/bench/peers"
	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/bench/targets"
	"github.com/granarydb/granary/bench/workloads"
)

// options are the flags' values.
type options struct {
	rows     int64
	repeat   int
	workload string
	scale    int
	peers    string
	patience time.Duration
	targets  bool
	phase    time.Duration
	profiles string
	sizes    string
	groups   string
	sets     []string // arguments
}

func main() {
	var o options
	flag.Int64Var(&o.rows, "rows", 1_000_000, "rows to insert; with -targets, the size that the table calls 1m")
	flag.IntVar(&o.repeat, "repeat", 5, "measurements of each figure; the median is printed")
	flag.StringVar(&o.workload, "workload", "", "replay: the project's own profiles as pprof (the default); fleet: the made-up fleet, cost of its rows; queries: the fleet with symbols and traces, cost of questions; arrow: the fleet as Arrow records; durable: what a directory costs the fleet, and restarts, also with -peers; stacks: rows of new stacks, in memory and in a directory; histories: interval histories of the sets in the arguments, files or synth:ATTRIBUTES:CHANGES; pprof: with -peers, recorded pprof files as a fleet")
	flag.IntVar(&o.scale, "scale", 0, "with -workload queries: ask fleets of N times the rows too, one of more jobs and one for longer; 10 takes some minutes and 4 GB at a million rows")
	flag.StringVar(&o.peers, "peers", "", "measure stores side by side, each in a process of its own: `names` with commas between them; all is each but the oracle")
	flag.DurationVar(&o.patience, "patience", 0, "with -peers: a store whose processes took so long gets no more of them than three; 0 is no limit")
	flag.BoolVar(&o.targets, "targets", false, "measure the targets under their keys, and print a table to standard error")
	flag.DurationVar(&o.phase, "phase", 0, "with -targets: the `time` of paced inserts; 0 is that of the table")
	flag.StringVar(&o.profiles, "profiles", "", "with -targets: a `folder` for a CPU profile of each query")
	flag.StringVar(&o.sizes, "sizes", strings.Join(targets.Sizes, ","), "with -targets: the `sizes` to measure, with commas between them")
	flag.StringVar(&o.groups, "groups", strings.Join(targets.Groups(), ","), "with -targets: the `groups` of targets to measure, with commas between them")
	flag.Parse()
	o.sets = flag.Args()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		if errors.Is(err, errUsage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

var errUsage = errors.New("wrong usage")

// run makes the report that the flags request.
func run(o options) error {
	switch {
	case o.targets:
		return runTargets(o)
	case o.peers != "":
		p := peers.Options{Rows: o.rows, Repeat: o.repeat, Workload: cmp.Or(o.workload, "fleet"), Patience: o.patience}
		if o.peers != "all" {
			p.Names = strings.Split(o.peers, ",")
		}
		return peers.Run(p)
	case o.workload == "" || o.workload == "replay":
		return workloads.Replay(o.rows, o.repeat)
	case o.workload == "fleet":
		return workloads.Fleet(o.rows, o.repeat)
	case o.workload == "queries":
		return workloads.Queries(o.rows, o.repeat, o.scale)
	case o.workload == "arrow":
		return workloads.Arrow(o.rows, o.repeat)
	case o.workload == "stacks":
		return workloads.Stacks(o.rows, o.repeat)
	case o.workload == "durable":
		return workloads.Durable(o.rows, o.repeat)
	case o.workload == "histories":
		sets := o.sets
		if len(sets) == 0 {
			sets = workloads.HistorySets
		}
		return workloads.Histories(sets, o.repeat)
	}
	return fmt.Errorf("%w: workload %q: want replay, fleet, queries, arrow, durable, stacks or histories, or pprof with -peers", errUsage, o.workload)
}

func runTargets(o options) error {
	r, err := targets.Run(targets.Options{Rows: o.rows, Repeat: o.repeat, Sizes: strings.Split(o.sizes, ","), Groups: strings.Split(o.groups, ","), Phase: o.phase, Profiles: o.profiles})
	if err != nil {
		return err
	}
	if err := r.WriteTable(os.Stderr); err != nil {
		return err
	}
	return results.Print(r)
}
