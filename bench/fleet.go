package main

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// A fleet is made up: 25 jobs of 8 pods, each scraped every ten seconds for a profile
// of each of four types. Its shape is that of real fleets: 30 labels of which a pod has
// 18, stacks from call trees that share what is near the root, few stacks that are hot
// and many that are rare. Nothing but the seed decides what it makes.
const (
	fleetJobs    = 25
	fleetPods    = 8      // a job
	fleetStacks  = 12_200 // a job: 305,000 in all
	fleetLabels  = 30
	fleetPodHas  = 18
	fleetLeast   = 160 // rows of a profile
	fleetMost    = 2144
	fleetMean    = 509
	fleetScrape  = 10 * time.Second
	fleetMinimum = 5 // depth of a stack
	fleetDeepest = 60
)

// fleetTypes are the sample types, each a profile of its own.
var fleetTypes = [][4]string{
	{"samples", "count", "cpu", "nanoseconds"},
	{"cpu", "nanoseconds", "cpu", "nanoseconds"},
	{"alloc_space", "bytes", "space", "bytes"},
	{"inuse_space", "bytes", "space", "bytes"},
}

type fleet struct {
	seed    uint64
	variant fleetVariant
	jobs    []fleetJob
	weights []float64 // of a job's stacks, added up
	symbols map[uuid.UUID][]byte
}

// fleetVariant says how a fleet differs from the one above. The zero value is that one.
type fleetVariant struct {
	jobs    int  // 0 means fleetJobs; those that a larger fleet adds leave the others' rows as they are
	pods    int  // of a job, 0 means fleetPods, which is the most
	symbols bool // batches have a record for each location
	traces  bool // rows of one profile in four have trace ids
}

type fleetJob struct {
	labels []map[string]string // by pod
	stacks [][]uuid.UUID       // leaf first
	nodes  int                 // of the call tree
}

func newFleet(seed uint64) *fleet { return newFleetOf(seed, fleetVariant{}) }

func newFleetOf(seed uint64, v fleetVariant) *fleet {
	v.jobs, v.pods = cmp.Or(v.jobs, fleetJobs), cmp.Or(v.pods, fleetPods)
	f := &fleet{seed: seed, variant: v, symbols: map[uuid.UUID][]byte{}}
	total := 0.0
	for rank := range fleetStacks {
		// Zipf, with a shift that keeps the hottest from being in every profile
		// many times over: it fits how many distinct stacks so many rows have.
		total += math.Pow(float64(rank)+600, -1.3)
		f.weights = append(f.weights, total)
	}
	for job := range v.jobs {
		f.jobs = append(f.jobs, newFleetJob(rand.New(rand.NewPCG(seed, uint64(job))), job, v.pods))
	}
	return f
}

func newFleetJob(rng *rand.Rand, job, pods int) fleetJob {
	var j fleetJob
	for pod := range pods {
		labels := map[string]string{
			"job": fmt.Sprint("job-", job), "namespace": fmt.Sprint("team-", job%7), "pod": fmt.Sprintf("job-%d-%08x", job, rng.Uint32()),
			"node": fmt.Sprint("node-", rng.IntN(40)), "instance": fmt.Sprintf("10.0.%d.%d:8080", job, pod),
		}
		for k := range fleetPodHas - len(labels) { // a window of the others, by job
			name := (job + k) % (fleetLabels - len(labels))
			labels[fmt.Sprintf("label_%02d", name)] = fmt.Sprint("value-", rng.IntN(3))
		}
		j.labels = append(j.labels, labels)
	}
	j.grow(rng, job)
	return j
}

// grow makes the stacks: each takes the path to the root of an earlier one, from some
// frame on, and grows a few frames of its own.
func (j *fleetJob) grow(rng *rand.Rand, job int) {
	for len(j.stacks) < fleetStacks {
		depth := min(max(fleetMinimum, int(math.Exp(3.11+0.4*rng.NormFloat64()))), fleetDeepest)
		own := min(1+int(rng.ExpFloat64()*4.3), depth)
		stack := make([]uuid.UUID, 0, depth)
		for range own {
			stack = append(stack, fleetFunction(rng, job))
		}
		var from []uuid.UUID // deep enough, if one is found soon
		for tries := 0; tries < 20 && len(j.stacks) > 0 && len(from) < depth-own; tries++ {
			from = j.stacks[rng.IntN(len(j.stacks))]
		}
		stack = append(stack, from[max(0, len(from)-(depth-own)):]...)
		j.stacks = append(j.stacks, stack)
		j.nodes += own
	}
	rng.Shuffle(len(j.stacks), func(a, b int) { j.stacks[a], j.stacks[b] = j.stacks[b], j.stacks[a] })
}

// fleetFunction returns a location: one in five of the runtime, which all jobs share.
func fleetFunction(rng *rand.Rand, job int) (id uuid.UUID) {
	owner, n := uint64(job+1), rng.IntN(4000)
	if rng.IntN(5) == 0 {
		owner, n = 0, rng.IntN(500)
	}
	binary.BigEndian.PutUint64(id[:], owner<<32|0x8000)
	binary.BigEndian.PutUint64(id[8:], uint64(n)*0x9e3779b97f4a7c15)
	return id
}

// fleetPlace is which profile of a fleet one is.
type fleetPlace struct{ kind, job, pod, scrape int }

// place returns the place of the n-th profile, counted through types, pods, jobs and
// scrapes in this order.
func (f *fleet) place(n int) (at fleetPlace) {
	n, at.kind = n/len(fleetTypes), n%len(fleetTypes)
	n, at.pod = n/f.variant.pods, n%f.variant.pods
	at.scrape, at.job = n/f.variant.jobs, n%f.variant.jobs
	return at
}

// number is the reverse of place.
func (f *fleet) number(at fleetPlace) int {
	return ((at.scrape*f.variant.jobs+at.job)*f.variant.pods+at.pod)*len(fleetTypes) + at.kind
}

// draw returns what a profile's random numbers are drawn from beside the seed: its
// number in the fleet of 25 jobs, so that the rows of a job are the same in a larger one.
func (at fleetPlace) draw() uint64 {
	n := ((at.scrape*fleetJobs+at.job%fleetJobs)*fleetPods+at.pod)*len(fleetTypes) + at.kind
	return uint64(at.job/fleetJobs)<<40 | uint64(n)
}

// profile returns the batch of the n-th profile. It does not depend on those before it.
func (f *fleet) profile(n int, from time.Time) schema.Batch {
	place := f.place(n)
	rng := rand.New(rand.NewPCG(f.seed^0x5eed, place.draw()))
	kind, job := fleetTypes[place.kind], &f.jobs[place.job]
	at := from.Add(time.Duration(place.scrape)*fleetScrape + time.Duration(rng.IntN(int(fleetScrape))))

	const spread = 0.5
	rows := int(fleetMean * math.Exp(spread*rng.NormFloat64()-spread*spread/2))
	rows = min(max(fleetLeast, rows), fleetMost)
	stacks, values := make([][]uuid.UUID, 0, rows), make([]int64, 0, rows)
	seen := make(map[int]bool, rows)
	for len(stacks) < rows {
		rank, _ := slices.BinarySearch(f.weights, rng.Float64()*f.weights[len(f.weights)-1])
		if rank = min(rank, fleetStacks-1); !seen[rank] {
			seen[rank] = true
			stacks = append(stacks, job.stacks[rank])
			values = append(values, fleetValue(rng, place.kind))
		}
	}
	b := schema.Batch{Rows: rows, Columns: map[string]encoding.Vector{
		profile.ColumnSampleType: encoding.Strings(kind[0]), profile.ColumnSampleUnit: encoding.Strings(kind[1]),
		profile.ColumnPeriodType: encoding.Strings(kind[2]), profile.ColumnPeriodUnit: encoding.Strings(kind[3]),
		profile.ColumnStacktrace: encoding.UUIDLists(stacks...), profile.ColumnValue: encoding.Int64s(values...),
		profile.ColumnTimestamp: encoding.Int64s(at.UnixNano()), profile.ColumnPeriod: encoding.Int64s(int64(10 * time.Millisecond)),
		profile.ColumnDuration: encoding.Int64s(int64(fleetScrape) + int64(rng.IntN(1e6))),
	}}
	for name, value := range job.labels[place.pod] {
		b.Columns[profile.ColumnLabels+"."+name] = encoding.Strings(value)
	}
	if f.variant.symbols {
		b.Records = f.records(stacks)
	}
	if f.variant.traces {
		f.trace(&b, place)
	}
	return b
}

// fleetValue returns a value of a type: samples are few, times are multiples of the
// period, sizes are multiples of 16.
func fleetValue(rng *rand.Rand, kind int) int64 {
	samples := 1 + int64(rng.ExpFloat64()*2)
	switch kind {
	case 0:
		return samples
	case 1:
		return samples * int64(10*time.Millisecond)
	}
	return samples * 16 << rng.IntN(12)
}

// made is what a fleet made of so many rows.
type made struct {
	Profiles      int     `json:"profiles"`
	Rows          int     `json:"rows"`
	Least         int     `json:"rows_least"`
	Mean          float64 `json:"rows_mean"`
	Most          int     `json:"rows_most"`
	Stacks        int     `json:"distinct_stacks"`
	Locations     int     `json:"distinct_locations"`
	Depth         float64 `json:"mean_depth"` // of a row
	NodesPerStack float64 `json:"tree_nodes_per_stack"`
	Columns       int     `json:"columns"`
	Series        int     `json:"series"`
	Seconds       float64 `json:"seconds_of_fleet"`
}

// describe makes profiles until they have so many rows and says what they were.
func (f *fleet) describe(rows int) made {
	var m made
	seed := maphash.MakeSeed()
	distinct := map[uint64]bool{} // two lists can be equal
	stacks, locations, columns, series := map[*uuid.UUID]bool{}, map[uuid.UUID]bool{}, map[string]bool{}, map[string]bool{}
	depth := 0
	for m.Rows < rows {
		b := f.profile(m.Profiles, time.Unix(0, 0))
		if m.Least == 0 || b.Rows < m.Least {
			m.Least = b.Rows
		}
		m.Most = max(m.Most, b.Rows)
		for _, s := range b.Columns[profile.ColumnStacktrace].UUIDLists {
			depth += len(s)
			if !stacks[&s[0]] {
				stacks[&s[0]] = true
				var h maphash.Hash
				h.SetSeed(seed)
				for _, id := range s {
					locations[id] = true
					h.Write(id[:])
				}
				distinct[h.Sum64()] = true
			}
		}
		for name := range b.Columns {
			columns[name] = true
		}
		series[b.Columns[profile.ColumnLabels+".pod"].Strings[0]+b.Columns[profile.ColumnSampleType].Strings[0]] = true
		m.Profiles++
		m.Rows += b.Rows
	}
	nodes := 0
	for _, j := range f.jobs {
		nodes += j.nodes
	}
	m.Mean, m.Depth = float64(m.Rows)/float64(m.Profiles), float64(depth)/float64(m.Rows)
	m.Stacks, m.Locations, m.Columns, m.Series = len(distinct), len(locations), len(columns), len(series)
	m.NodesPerStack = float64(nodes) / float64(len(f.jobs)*fleetStacks)
	m.Seconds = float64(m.Profiles) / float64(f.number(fleetPlace{scrape: 1})) * fleetScrape.Seconds()
	return m
}
