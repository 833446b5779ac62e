package peers

import (
	"fmt"
	"hash/maphash"

	"github.com/google/uuid"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/replay"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// source makes profiles by number. The n-th profile depends only on n, and its rows share type, labels and
// time.
type source struct {
	about   string
	profile func(n int) schema.Batch
}

func openSource(name string) (source, error) {
	switch name {
	case "fleet", durableWorkload:
		f := fleet.New(fleet.Seed)
		return source{
			about:   "the made-up fleet: 200 pods of 25 jobs, four types, in order of time",
			profile: func(n int) schema.Batch { return f.Profile(n, fleet.Start) },
		}, nil
	case "queries":
		f := fleet.NewVariant(fleet.Seed, fleet.Searchable)
		return source{
			about:   "the fleet, with names of functions beside the locations, and trace ids in the rows of one profile in four",
			profile: func(n int) schema.Batch { return f.Profile(n, fleet.Start) },
		}, nil
	case "pprof":
		r, err := replay.Open(replay.SharedData("pprof"))
		if err != nil {
			return source{}, err
		}
		return source{
			about:   fmt.Sprintf("%d types of real pprof files, replayed as 200 pods of 25 jobs with varied values and times", r.Len()),
			profile: r.Profile,
		}, nil
	}
	return source{}, fmt.Errorf("unknown workload %q: want fleet, queries, durable or pprof", name)
}

// sourceShape describes a source's rows.
type sourceShape struct {
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

// describe makes profiles until they have `rows` rows, and counts.
func (w source) describe(name string, rows int64) sourceShape {
	d := sourceShape{Name: name, About: w.about}
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
			bytes = StackBytes(bytes[:0], stack)
			if h := maphash.Bytes(seed, bytes); !stacks[h] {
				stacks[h] = true
				for _, id := range stack {
					locations[id] = true
				}
			}
		}
		jobs[b.Columns[fleet.LabelPrefix+"job"].Strings[0]], pods[b.Columns[fleet.LabelPrefix+"pod"].Strings[0]] = true, true
		var kind [4]string
		for i, t := range OfType(b) {
			kind[i] = t.Text
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
