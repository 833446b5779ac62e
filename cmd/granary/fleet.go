package main

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io/fs"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/testdata"
)

// fleet replays real profiles as those of many pods. Each pod runs one of the
// programs and is scraped every scrapeEvery; a scrape has some of the samples of
// the program's real profile, with values that follow the hour's load.
type fleet struct {
	templates []template
	pods      []pod
	start     time.Time // of the first scrape
	steps     int       // scrapes of each pod
}

const (
	scrapeEvery = 10 * time.Second
	podsPerJob  = 8
	// A program has up to three real profiles of a kind; each is replayed for
	// so many scrapes before the next one.
	scrapesPerTemplate = 12
	// slowJob begins to need four times the CPU in its hottest stacks after
	// two thirds of the time: something to find in the chart.
	slowJob = "nats-server"
)

// template is one real profile.
type template struct {
	program, kind string
	profile       *pprof.Profile
}

// pod is a source of profiles.
type pod struct {
	labels map[string]string
	kinds  [][]*template // of each kind, captured one after the other
	share  float64       // of the load
}

// newFleet reads the profiles that come with the program, for a replay of at
// least the given number of rows that ends about now.
func newFleet(now time.Time, rows int64) (*fleet, error) {
	f := &fleet{}
	err := fs.WalkDir(testdata.Profiles, "profiles", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".pb.gz") {
			return err
		}
		data, err := testdata.Profiles.ReadFile(name)
		if err != nil {
			return err
		}
		p, err := profile.Parse(data, profile.Limits{})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		kind, _, _ := strings.Cut(path.Base(name), ".")
		kind = strings.TrimRight(kind, "-0123456789")
		sortByValue(p)
		f.templates = append(f.templates, template{path.Base(path.Dir(name)), kind, p})
		return nil
	})
	if err != nil {
		return nil, err
	}
	f.addPods()
	f.steps = int(rows/f.rowsAt(0)) + 1
	f.start = now.Add(-time.Duration(f.steps) * scrapeEvery).Truncate(scrapeEvery)
	return f, nil
}

// rowsAt returns the number of rows of one scrape of all pods.
func (f *fleet) rowsAt(step int) int64 {
	rows := int64(0)
	for s := range f.scrapes(step) {
		for _, sample := range f.make(s).Sample {
			for _, v := range sample.Value {
				if v != 0 {
					rows++
				}
			}
		}
	}
	return rows
}

// sortByValue puts the samples with the greatest last value first.
func sortByValue(p *pprof.Profile) {
	last := len(p.SampleType) - 1
	slices.SortStableFunc(p.Sample, func(a, b *pprof.Sample) int { return cmp.Compare(b.Value[last], a.Value[last]) })
}

func (f *fleet) addPods() {
	byProgram := map[string][][]*template{}
	for i := range f.templates { // in the order of their names: kinds are neighbours
		t := &f.templates[i]
		kinds := byProgram[t.program]
		if n := len(kinds); n > 0 && kinds[n-1][0].kind == t.kind {
			kinds[n-1] = append(kinds[n-1], t)
			continue
		}
		byProgram[t.program] = append(kinds, []*template{t})
	}
	for _, program := range f.programs() {
		for i := range podsPerJob {
			f.pods = append(f.pods, pod{
				labels: map[string]string{
					"job": program, "pod": fmt.Sprintf("%s-%d", program, i),
					"zone": string(rune('a' + i%3)), "node": fmt.Sprintf("node-%02d", (i*7+len(program))%12),
				},
				kinds: byProgram[program],
				share: 0.5 + float64(i)/podsPerJob,
			})
		}
	}
}

// programs returns the names of the programs, sorted.
func (f *fleet) programs() []string {
	var names []string
	for _, t := range f.templates {
		names = append(names, t.program)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// scrape is one profile on its way into the store.
type scrape struct {
	step     int
	pod      *pod
	template *template
}

// scrapes yields what is scraped in a step.
func (f *fleet) scrapes(step int) iter.Seq[scrape] {
	return func(yield func(scrape) bool) {
		for i := range f.pods {
			for _, templates := range f.pods[i].kinds {
				if !yield(scrape{step, &f.pods[i], templates[step/scrapesPerTemplate%len(templates)]}) {
					return
				}
			}
		}
	}
}

// replay inserts profiles with several writers until there are at least the
// given number of rows, and returns the number of profiles. report is called
// with the rows so far, by one goroutine at a time.
func (f *fleet) replay(ctx context.Context, db *profile.DB, writers int, rows int64, report func(done int64)) (int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan scrape, writers)
	var done, profiles atomic.Int64
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for s := range work {
				n, err := db.Insert(ctx, f.make(s), profile.InsertOptions{Labels: s.labels()})
				if err != nil {
					cancel(err)
					continue // drain, so that the sender goes on
				}
				done.Add(int64(n))
				profiles.Add(1)
			}
		})
	}
	// Whole steps only: every pod is scraped as often as the others.
	for step := 0; done.Load() < rows && ctx.Err() == nil; step++ {
		for s := range f.scrapes(step) {
			work <- s
			report(done.Load())
		}
	}
	close(work)
	wg.Wait()
	return profiles.Load(), context.Cause(ctx)
}

func (s scrape) labels() map[string]string {
	labels := map[string]string{"__name__": s.template.kind}
	maps.Copy(labels, s.pod.labels)
	return labels
}

// make returns the profile of a scrape. It is the same for the same fleet,
// step, pod and template, whoever makes it.
func (f *fleet) make(s scrape) *pprof.Profile {
	name := fnv.New64a()
	fmt.Fprint(name, s.pod.labels["pod"], s.template.kind)
	rng := rand.New(rand.NewPCG(uint64(s.step), name.Sum64()))
	slow := f.steps > 0 && 3*s.step >= 2*f.steps && s.template.kind == "cpu" && s.template.program == slowJob
	from := s.template.profile
	out := &pprof.Profile{
		SampleType: from.SampleType, DefaultSampleType: from.DefaultSampleType, PeriodType: from.PeriodType, Period: from.Period,
		Mapping: from.Mapping, Location: from.Location, Function: from.Function,
		TimeNanos:     f.start.Add(time.Duration(s.step) * scrapeEvery).UnixNano(),
		DurationNanos: int64(scrapeEvery),
		Sample:        make([]*pprof.Sample, 0, len(from.Sample)),
	}
	load := s.pod.share * (1 + 0.25*math.Sin(float64(s.step)/9+float64(len(s.template.program)))) * (0.9 + 0.2*rng.Float64())
	for i, sample := range from.Sample {
		hot := i < 10
		if !hot && rng.IntN(12) != 0 {
			continue // a rare stack is in every twelfth scrape
		}
		scale := load * (0.5 + rng.Float64())
		if slow && hot {
			scale *= 4
		}
		out.Sample = append(out.Sample, scaled(sample, scale))
	}
	return out
}

// scaled returns a sample with other values; what was not zero stays so.
func scaled(s *pprof.Sample, scale float64) *pprof.Sample {
	values := make([]int64, len(s.Value))
	for i, v := range s.Value {
		if values[i] = int64(float64(v) * scale); values[i] == 0 {
			values[i] = v
		}
	}
	return &pprof.Sample{Location: s.Location, Value: values, Label: s.Label, NumLabel: s.NumLabel, NumUnit: s.NumUnit}
}
