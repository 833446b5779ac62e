package targets

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/replay"
	"github.com/granarydb/granary/bench/results"
)

// fullRows is the fleet size for which the musts hold.
const fullRows = 1_000_000

// Sizes are the table's sizes that Options can choose.
var Sizes = []string{"1m", "10m", "100m"}

// Options configure a run.
type Options struct {
	// Rows is the size that the table calls 1m. The musts hold for a million rows.
	Rows int64
	// Repeat is the number of measurements for each target. Larger fleets get fewer.
	Repeat int
	// Sizes are the sizes to measure, from Sizes.
	Sizes []string
	// Groups are the groups to measure, from Groups(). None stands for all.
	Groups []string

	// Profiles is a folder for a CPU profile of each query's measurement; empty for none.
	Profiles string
	// Phase is the duration of paced inserts; 0 stands for five seconds.
	Phase time.Duration

	// Tests set the fields below. The zero values stand for the table's inputs.
	variant fleet.Variant
	threads string        // history set of the recorded threads
	million string        // history set with a million attributes
	commits int           // commits that wait for the disk
	load    time.Duration // duration of a server's load
	pods    int           // pods that push to the server
}

func (o Options) withDefaults() (Options, error) {
	if o.Rows < 1 || o.Repeat < 1 || len(o.Sizes) == 0 {
		return o, errors.New("targets want at least one row, one repetition and one size")
	}
	for _, size := range o.Sizes {
		if !slices.Contains(Sizes, size) {
			return o, fmt.Errorf("unknown size %q: want some of %s", size, strings.Join(Sizes, ", "))
		}
	}
	if len(o.Groups) == 0 {
		o.Groups = Groups()
	}
	for _, name := range o.Groups {
		if !slices.Contains(Groups(), name) {
			return o, fmt.Errorf("unknown group %q: want some of %s", name, strings.Join(Groups(), ", "))
		}
	}
	if o.commits == 0 {
		o.commits = 5120
	}
	if o.load == 0 {
		o.load, o.pods = time.Minute, 200
	}
	if o.Phase == 0 {
		o.Phase = 5 * time.Second
	}
	if o.threads == "" {
		o.threads = replay.SharedData("intervals") + "/many-threads"
	}
	if o.million == "" {
		o.million = "synth:1000000:4"
	}
	return o, nil
}

func (o Options) has(size string) bool { return slices.Contains(o.Sizes, size) }

// group is targets that are measured together.
type group struct {
	name    string
	measure func(Options, *collector) error
}

// groups are in the order of measurement.
var groups = []group{
	{"ids", insertIDs},
	{"records", insertRecords},
	{"pprof", insertPprof},
	{"queries", queries},
	{"durable", durable},
	{"histories", histories},
	{"serve", serve},
}

// Groups returns the groups' names, in the order of measurement.
func Groups() []string {
	var names []string
	for _, g := range groups {
		names = append(names, g.name)
	}
	return names
}

// keys returns a group's target keys.
func (g group) keys() []string {
	var keys []string
	for _, t := range table {
		if t.group == g.name {
			keys = append(keys, t.key)
		}
	}
	return keys
}

// Run measures the targets. It writes progress to standard error.
func Run(opts Options) (*Report, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	c := newCollector(o.Rows == fullRows)
	for _, g := range groups {
		if !slices.Contains(o.Groups, g.name) {
			c.skip("group "+g.name+" is not among -groups", g.keys()...)
			continue
		}
		progress("group %s", g.name)
		if err := g.measure(o, c); err != nil {
			return nil, fmt.Errorf("%s: %w", g.name, err)
		}
		runtime.GC() // drops the stores of this group
	}
	figures, err := c.figures()
	if err != nil {
		return nil, err
	}
	return &Report{Machine: results.Machine(), Targets: figures}, nil
}

// begun is when the process began.
var begun = time.Now()

// progress writes a line about the next work, after the seconds since the process began.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "targets: %4.0f s: "+format+"\n", append([]any{time.Since(begun).Seconds()}, args...)...)
}
