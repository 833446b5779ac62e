package fleet

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// A fleet's default size.
const (
	// Jobs is the number of jobs.
	Jobs = 25
	// Series is the number of series. Each has one profile a scrape.
	Series = Jobs * podsPerJob * 4
	// ScrapeInterval is the time between a pod's scrapes.
	ScrapeInterval = 10 * time.Second

	podsPerJob   = 8
	stacksPerJob = 12_200 // 305,000 in all
	labelNames   = 30
	labelsPerPod = 18
)

// Bounds and mean of a profile's rows, bounds of a stack's depth.
const (
	leastRows  = 160
	mostRows   = 2144
	meanRows   = 509
	leastDepth = 5
	mostDepth  = 60
)

// sampleTypes are the sample types. Each has its own profiles.
var sampleTypes = [][4]string{
	{"samples", "count", "cpu", "nanoseconds"},
	{"cpu", "nanoseconds", "cpu", "nanoseconds"},
	{"alloc_space", "bytes", "space", "bytes"},
	{"inuse_space", "bytes", "space", "bytes"},
}

// Seed is the seed of all workloads.
const Seed = 1

// Start is the time of the first scrape. It is fixed, so that every run has the same rows.
var Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// LabelPrefix is the prefix of label columns' names.
const LabelPrefix = profile.ColumnLabels + "."

// RecentStart returns a time for the first scrape that stores with a limit on the future accept: a day ago,
// at a full hour.
func RecentStart() time.Time { return time.Now().Add(-24 * time.Hour).Truncate(time.Hour) }

// CopyStacks copies a batch's stacks into one piece of memory, as decoding does.
func CopyStacks(b *schema.Batch) {
	lists := b.Columns[profile.ColumnStacktrace].UUIDLists
	n := 0
	for _, list := range lists {
		n += len(list)
	}
	all, out := make([]uuid.UUID, 0, n), make([][]uuid.UUID, len(lists))
	for i, list := range lists {
		all = append(all, list...)
		out[i] = all[len(all)-len(list) : len(all) : len(all)]
	}
	b.Columns[profile.ColumnStacktrace] = encoding.UUIDLists(out...)
}

// Fleet makes a fleet's profiles by number. It belongs to one goroutine.
type Fleet struct {
	// Variant is the variant, with its defaults filled in.
	Variant Variant

	seed    uint64
	jobs    []jobData
	weights []float64 // weights of a job's stacks, added up
	symbols map[uuid.UUID][]byte
}

// Variant is a fleet's difference from the default, which is the zero value.
type Variant struct {
	Jobs    int  // 0 means Jobs; more jobs leave the others' rows unchanged
	Pods    int  // pods in a job; 0 means 8, which is also the most
	Symbols bool // batches have a record for each location
	Traces  bool // in one profile of four, rows have trace ids
}

type jobData struct {
	labels []map[string]string // by pod
	stacks [][]uuid.UUID       // leaf first
	nodes  int                 // nodes in the call tree
}

// New returns the default fleet.
func New(seed uint64) *Fleet { return NewVariant(seed, Variant{}) }

// NewVariant returns a variant of the default fleet.
func NewVariant(seed uint64, v Variant) *Fleet {
	v.Jobs, v.Pods = cmp.Or(v.Jobs, Jobs), cmp.Or(v.Pods, podsPerJob)
	f := &Fleet{seed: seed, Variant: v, symbols: map[uuid.UUID][]byte{}}
	total := 0.0
	for rank := range stacksPerJob {
		// Zipf with a shift, which keeps the hottest stacks from filling every profile. It
		// is fitted to the number of distinct stacks of a million rows.
		total += math.Pow(float64(rank)+600, -1.3)
		f.weights = append(f.weights, total)
	}
	for job := range v.Jobs {
		f.jobs = append(f.jobs, newJobData(rand.New(rand.NewPCG(seed, uint64(job))), job, v.Pods))
	}
	return f
}

func newJobData(rng *rand.Rand, job, pods int) jobData {
	var j jobData
	for pod := range pods {
		labels := map[string]string{
			"job": fmt.Sprint("job-", job), "namespace": fmt.Sprint("team-", job%7), "pod": fmt.Sprintf("job-%d-%08x", job, rng.Uint32()),
			"node": fmt.Sprint("node-", rng.IntN(40)), "instance": fmt.Sprintf("10.0.%d.%d:8080", job, pod),
		}
		for k := range labelsPerPod - len(labels) { // a window of the others, by job
			name := (job + k) % (labelNames - len(labels))
			labels[fmt.Sprintf("label_%02d", name)] = fmt.Sprint("value-", rng.IntN(3))
		}
		j.labels = append(j.labels, labels)
	}
	j.grow(rng, job)
	return j
}

// grow makes the stacks. A stack takes an earlier stack's path to the root, from some frame on, and adds a
// few frames of its own.
func (j *jobData) grow(rng *rand.Rand, job int) {
	for len(j.stacks) < stacksPerJob {
		depth := min(max(leastDepth, int(math.Exp(3.11+0.4*rng.NormFloat64()))), mostDepth)
		own := min(1+int(rng.ExpFloat64()*4.3), depth)
		stack := make([]uuid.UUID, 0, depth)
		for range own {
			stack = append(stack, drawLocation(rng, job))
		}
		var from []uuid.UUID // deep enough, unless 20 tries find none
		for tries := 0; tries < 20 && len(j.stacks) > 0 && len(from) < depth-own; tries++ {
			from = j.stacks[rng.IntN(len(j.stacks))]
		}
		stack = append(stack, from[max(0, len(from)-(depth-own)):]...)
		j.stacks = append(j.stacks, stack)
		j.nodes += own
	}
	rng.Shuffle(len(j.stacks), func(a, b int) { j.stacks[a], j.stacks[b] = j.stacks[b], j.stacks[a] })
}

// drawLocation returns a location. One in five belongs to the runtime, which all jobs share.
func drawLocation(rng *rand.Rand, job int) (id uuid.UUID) {
	owner, n := uint64(job+1), rng.IntN(4000)
	if rng.IntN(5) == 0 {
		owner, n = 0, rng.IntN(500)
	}
	binary.BigEndian.PutUint64(id[:], owner<<32|0x8000)
	binary.BigEndian.PutUint64(id[8:], uint64(n)*0x9e3779b97f4a7c15)
	return id
}

// Place identifies a profile in a fleet by its sample type, job, pod and scrape.
type Place struct{ Kind, Job, pod, Scrape int }

// Place returns the n-th profile's place. Types vary fastest, then pods, jobs and scrapes.
func (f *Fleet) Place(n int) (at Place) {
	n, at.Kind = n/len(sampleTypes), n%len(sampleTypes)
	n, at.pod = n/f.Variant.Pods, n%f.Variant.Pods
	at.Scrape, at.Job = n/f.Variant.Jobs, n%f.Variant.Jobs
	return at
}

// Number is the inverse of Place.
func (f *Fleet) Number(at Place) int {
	return ((at.Scrape*f.Variant.Jobs+at.Job)*f.Variant.Pods+at.pod)*len(sampleTypes) + at.Kind
}

// draw returns a profile's stream of random numbers, which is its number in the default fleet. So a job's
// rows are the same in a larger fleet.
func (at Place) draw() uint64 {
	n := ((at.Scrape*Jobs+at.Job%Jobs)*podsPerJob+at.pod)*len(sampleTypes) + at.Kind
	return uint64(at.Job/Jobs)<<40 | uint64(n)
}

// Profile returns the n-th profile's batch, in a fleet whose first scrape is at from. It does not depend on
// earlier calls. The caller owns the batch, but not its stacks.
func (f *Fleet) Profile(n int, from time.Time) schema.Batch {
	place := f.Place(n)
	rng := rand.New(rand.NewPCG(f.seed^0x5eed, place.draw()))
	kind, job := sampleTypes[place.Kind], &f.jobs[place.Job]
	at := from.Add(time.Duration(place.Scrape)*ScrapeInterval + time.Duration(rng.IntN(int(ScrapeInterval))))

	const spread = 0.5
	rows := int(meanRows * math.Exp(spread*rng.NormFloat64()-spread*spread/2))
	rows = min(max(leastRows, rows), mostRows)
	stacks, values := make([][]uuid.UUID, 0, rows), make([]int64, 0, rows)
	seen := make(map[int]bool, rows)
	for len(stacks) < rows {
		rank, _ := slices.BinarySearch(f.weights, rng.Float64()*f.weights[len(f.weights)-1])
		if rank = min(rank, stacksPerJob-1); !seen[rank] {
			seen[rank] = true
			stacks = append(stacks, job.stacks[rank])
			values = append(values, drawValue(rng, place.Kind))
		}
	}
	b := schema.Batch{Rows: rows, Columns: map[string]encoding.Vector{
		profile.ColumnSampleType: encoding.Strings(kind[0]), profile.ColumnSampleUnit: encoding.Strings(kind[1]),
		profile.ColumnPeriodType: encoding.Strings(kind[2]), profile.ColumnPeriodUnit: encoding.Strings(kind[3]),
		profile.ColumnStacktrace: encoding.UUIDLists(stacks...), profile.ColumnValue: encoding.Int64s(values...),
		profile.ColumnTimestamp: encoding.Int64s(at.UnixNano()), profile.ColumnPeriod: encoding.Int64s(int64(10 * time.Millisecond)),
		profile.ColumnDuration: encoding.Int64s(int64(ScrapeInterval) + int64(rng.IntN(1e6))),
	}}
	for name, value := range job.labels[place.pod] {
		b.Columns[profile.ColumnLabels+"."+name] = encoding.Strings(value)
	}
	if f.Variant.Symbols {
		b.Records = f.records(stacks)
	}
	if f.Variant.Traces {
		f.trace(&b, place)
	}
	return b
}

// drawValue returns a value for a type: a small number of samples, a multiple of the period, or a size that
// is a multiple of 16.
func drawValue(rng *rand.Rand, kind int) int64 {
	samples := 1 + int64(rng.ExpFloat64()*2)
	switch kind {
	case 0:
		return samples
	case 1:
		return samples * int64(10*time.Millisecond)
	}
	return samples * 16 << rng.IntN(12)
}

// JobStacks returns every job's stacks, each leaf first. They must not be changed.
func (f *Fleet) JobStacks() iter.Seq[[][]uuid.UUID] {
	return func(yield func([][]uuid.UUID) bool) {
		for i := range f.jobs {
			if !yield(f.jobs[i].stacks) {
				return
			}
		}
	}
}
