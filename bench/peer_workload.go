package main

import (
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// peerSeed is of the workloads that peers are measured on.
const peerSeed = 1

// peerStart is when they begin: a fixed time, so that every run has the same rows.
var peerStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// workload is profiles by number: the n-th depends on n alone. The rows of one share
// type, labels and time.
type workload struct {
	about   string
	profile func(n int) schema.Batch
}

func openWorkload(name string) (workload, error) {
	switch name {
	case "fleet":
		f := newFleet(peerSeed)
		return workload{
			about:   "the made-up fleet: 200 pods of 25 jobs, four types, in order of time",
			profile: func(n int) schema.Batch { return f.profile(n, peerStart) },
		}, nil
	case "queries":
		f := newFleetOf(peerSeed, queryVariant)
		return workload{
			about:   "the fleet, with names of functions beside the locations, and trace ids in the rows of one profile in four",
			profile: func(n int) schema.Batch { return f.profile(n, peerStart) },
		}, nil
	case "pprof":
		r, err := openReplay(replayFolder)
		if err != nil {
			return workload{}, err
		}
		return workload{
			about:   fmt.Sprintf("%d types of real pprof files, replayed as 200 pods of 25 jobs with varied values and times", len(r.templates)),
			profile: r.profile,
		}, nil
	}
	return workload{}, fmt.Errorf("unknown workload %q: want fleet, queries or pprof", name)
}

// peerWorkload says what a workload is made of, down to the profile in which its rows
// reach the number asked for.
type peerWorkload struct {
	About     string  `json:"about"`
	Columns   int     `json:"columns"`
	Depth     float64 `json:"depth_mean"` // of a row's stack
	Locations int     `json:"distinct_locations"`
	Stacks    int     `json:"distinct_stacks"`
	Jobs      int     `json:"jobs"`
	Name      string  `json:"name"`
	Pods      int     `json:"pods"`
	Selected  int     `json:"pods_selected"` // by podsPattern
	Profiles  int     `json:"profiles"`
	Rows      int     `json:"rows"`
	Least     int     `json:"rows_of_a_profile_least"`
	Mean      float64 `json:"rows_of_a_profile_mean"`
	Most      int     `json:"rows_of_a_profile_most"`
	Types     int     `json:"types"`
}

// describe makes the profiles and counts.
func (w workload) describe(name string, rows int64) peerWorkload {
	d := peerWorkload{Name: name, About: w.about}
	seed := maphash.MakeSeed()
	stacks, locations, columns := map[uint64]bool{}, map[uuid.UUID]bool{}, map[string]bool{}
	jobs, pods, types := map[string]bool{}, map[string]bool{}, map[[4]string]bool{}
	var depth int
	var bytes []byte
	for ; int64(d.Rows) < rows; d.Profiles++ {
		b := w.profile(d.Profiles)
		for name := range b.Columns {
			columns[name] = true
		}
		for _, stack := range b.Columns[profile.ColumnStacktrace].UUIDLists {
			depth += len(stack)
			bytes = stackBytes(bytes[:0], stack)
			if h := maphash.Bytes(seed, bytes); !stacks[h] {
				stacks[h] = true
				for _, id := range stack {
					locations[id] = true
				}
			}
		}
		jobs[b.Columns[labelPrefix+"job"].Strings[0]], pods[b.Columns[labelPrefix+"pod"].Strings[0]] = true, true
		var kind [4]string
		for i, t := range ofType(b) {
			kind[i] = t.text
		}
		types[kind] = true
		if d.Rows += b.Rows; d.Least == 0 || b.Rows < d.Least {
			d.Least = b.Rows
		}
		d.Most = max(d.Most, b.Rows)
	}
	d.Depth, d.Mean = float64(depth)/float64(d.Rows), float64(d.Rows)/float64(d.Profiles)
	d.Stacks, d.Locations, d.Columns = len(stacks), len(locations), len(columns)
	for pod := range pods {
		if podsPattern.MatchString(pod) {
			d.Selected++
		}
	}
	d.Jobs, d.Pods, d.Types = len(jobs), len(pods), len(types)
	return d
}

// replay is a workload of real profiles, each type of each file a template.
type replay struct{ templates []schema.Batch }

const (
	replayPods   = 200
	replayJobs   = 25
	replayScrape = 10 * time.Second
)

// profile returns the n-th profile: pod by pod, each with another template, so that a
// few rows are of all pods and of all files already.
func (r *replay) profile(n int) schema.Batch {
	rng := rand.New(rand.NewPCG(peerSeed, uint64(n)))
	pod, round := n%replayPods, n/replayPods
	from := r.templates[(pod+round)%len(r.templates)]
	b := schema.Batch{Rows: from.Rows, Columns: make(map[string]encoding.Vector, len(from.Columns)+8)}
	maps.Copy(b.Columns, from.Columns)
	values := make([]int64, from.Rows)
	for i, v := range from.Columns[profile.ColumnValue].Int64s {
		values[i] = max(1, int64(float64(v)*(0.5+rng.Float64())))
	}
	at := peerStart.Add(time.Duration(round)*replayScrape + time.Duration(rng.IntN(int(replayScrape))))
	b.Columns[profile.ColumnValue] = encoding.Int64s(values...)
	b.Columns[profile.ColumnTimestamp] = encoding.Int64s(at.UnixNano())
	job := pod * replayJobs / replayPods
	for label, value := range map[string]string{
		"job": fmt.Sprint("job-", job), "pod": fmt.Sprintf("job-%d-%08x", job, pod), "namespace": fmt.Sprint("team-", job%7),
		"node": fmt.Sprint("node-", pod%40), "zone": string(rune('a' + pod%3)), fmt.Sprint("of_job_", job): "yes",
	} {
		b.Columns[labelPrefix+label] = encoding.Strings(value)
	}
	return b
}
