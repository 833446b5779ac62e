package main

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/cmd/granary/internal/replay"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/testdata"
)

// fleet replays real profiles as the profiles of many pods. Each pod runs a program and is scraped every
// scrapeEvery. A scrape has some samples of the program's real profile, with values that follow the load over
// the hour.
type fleet struct {
	templates []template
	pods      []pod
	start     time.Time // time of the first scrape
	steps     int       // scrapes of each pod
}

const (
	scrapeEvery = 10 * time.Second
	podsPerJob  = 10
	// scrapesPerTemplate is the number of scrapes that replay a real profile before the next profile. A
	// program has up to three real profiles of a kind.
	scrapesPerTemplate = 12
	// The hotSamples samples with the greatest values are in every scrape. Each other sample is in every
	// rareEvery-th scrape, because a program spends most of its time in a few stacks.
	hotSamples = 10
	rareEvery  = 8
	// slowJob uses four times the CPU in its hottest stacks during the last third of the time, which the
	// demo's chart shows.
	slowJob = "nats-server"
)

// template is a real profile, divided into the parts for successive scrapes.
type template struct {
	program, kind string
	parts         [rareEvery]replay.Encoded
}

// pod is a source of profiles.
type pod struct {
	name  string
	job   string
	kinds []podKind
	share float64 // share of the load
}

// podKind is the source of a pod's profiles of a kind.
type podKind struct {
	templates []*template // in the order of their capture
	labels    map[string]string
	seed      uint64
}

// newFleet reads the embedded profiles for a replay with `steps` scrapes of each pod. The replay ends at
// about now.
func newFleet(now time.Time, steps int) (*fleet, error) {
	f := &fleet{steps: steps, start: now.Add(-time.Duration(steps) * scrapeEvery).Truncate(scrapeEvery)}
	err := fs.WalkDir(testdata.Profiles, "profiles", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".pb.gz") {
			return err
		}
		data, err := testdata.Profiles.ReadFile(name)
		if err != nil {
			return err
		}
		p, err := pprof.ParseData(data)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		kind, _, _ := strings.Cut(path.Base(name), ".")
		t := template{program: path.Base(path.Dir(name)), kind: strings.TrimRight(kind, "-0123456789")}
		last := len(p.SampleType) - 1
		slices.SortStableFunc(p.Sample, func(a, b *pprof.Sample) int { return cmp.Compare(b.Value[last], a.Value[last]) })
		for i := range t.parts {
			if t.parts[i], err = encodePart(p, i); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		f.templates = append(f.templates, t)
		return nil
	})
	if err != nil {
		return nil, err
	}
	f.addPods()
	return f, nil
}

// encodePart encodes part i of a profile: the hot samples and every rareEvery-th other sample.
func encodePart(p *pprof.Profile, i int) (replay.Encoded, error) {
	part := &pprof.Profile{
		SampleType: p.SampleType, DefaultSampleType: p.DefaultSampleType, PeriodType: p.PeriodType, Period: p.Period,
		Mapping: p.Mapping, Location: p.Location, Function: p.Function,
	}
	for k, s := range p.Sample {
		if k < hotSamples || k%rareEvery == i {
			part.Sample = append(part.Sample, s)
		}
	}
	return replay.Encode(part.Compact(), min(hotSamples, len(p.Sample)))
}

func (f *fleet) addPods() {
	byProgram := map[string][][]*template{}
	for i := range f.templates { // sorted by name: templates of a kind are neighbours
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
			p := pod{name: fmt.Sprintf("%s-%d", program, i), job: program, share: 0.5 + float64(i)/podsPerJob}
			for _, templates := range byProgram[program] {
				kind := templates[0].kind
				seed := fnv.New64a()
				fmt.Fprint(seed, p.name, kind)
				p.kinds = append(p.kinds, podKind{templates, map[string]string{
					"__name__": kind, "job": program, "pod": p.name,
					"zone": string(rune('a' + i%3)), "node": fmt.Sprintf("node-%02d", (i*7+len(program))%12),
				}, seed.Sum64()})
			}
			f.pods = append(f.pods, p)
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

// scrape identifies the profiles of a pod at a time.
type scrape struct {
	step int
	pod  *pod
}

// replay inserts all profiles with several writers and returns the number of profiles. It calls report with
// the number of completed scrapes, from one goroutine.
func (f *fleet) replay(ctx context.Context, db *profile.DB, writers int, report func(done, total int64)) (int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan scrape, writers)
	var done, profiles atomic.Int64
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			var buf []byte
			for s := range work {
				var err error
				if buf, err = f.insert(ctx, db, s, buf); err != nil {
					cancel(err)
					continue // drain the channel, so that the sender does not block
				}
				profiles.Add(int64(len(s.pod.kinds)))
				done.Add(1)
			}
		})
	}
	for step := 0; step < f.steps && ctx.Err() == nil; step++ {
		for i := range f.pods {
			work <- scrape{step, &f.pods[i]}
			report(done.Load(), int64(f.steps*len(f.pods)))
		}
	}
	close(work)
	wg.Wait()
	return profiles.Load(), context.Cause(ctx)
}

// insert inserts a scrape's profiles in one transaction, so that they become visible together. It builds
// them in buf and returns the buffer for reuse.
func (f *fleet) insert(ctx context.Context, db *profile.DB, s scrape, buf []byte) ([]byte, error) {
	tx := db.Store().Begin()
	defer tx.Abort()
	for i := range s.pod.kinds {
		buf = f.appendProfile(buf[:0], s, i)
		if _, err := db.InsertEncodedTx(ctx, tx, buf, profile.InsertOptions{Labels: s.pod.kinds[i].labels}); err != nil {
			return buf, err
		}
	}
	_, err := tx.Commit()
	return buf, err
}

// appendProfile appends an encoded profile of a scrape. The result depends only on the fleet, the step,
// the pod and the kind.
func (f *fleet) appendProfile(dst []byte, s scrape, kind int) []byte {
	k := &s.pod.kinds[kind]
	t := k.templates[s.step/scrapesPerTemplate%len(k.templates)]
	rng := rand.New(rand.NewPCG(uint64(s.step), k.seed))
	load := s.pod.share * (1 + 0.25*math.Sin(float64(s.step)/9+float64(len(s.pod.job)))) * (0.9 + 0.2*rng.Float64())
	slow := 3*s.step >= 2*f.steps && t.kind == "cpu" && s.pod.job == slowJob
	part := &t.parts[(uint64(s.step)+k.seed)%rareEvery]
	return part.Append(dst, f.start.Add(time.Duration(s.step)*scrapeEvery), scrapeEvery, func(i int) float64 {
		if slow && i < part.Hot() {
			return 4 * load * (0.5 + rng.Float64())
		}
		return load * (0.5 + rng.Float64())
	})
}
