package fleet

import (
	"hash/maphash"
	"time"

	"github.com/google/uuid"

	"github.com/granarydb/granary/profile"
)

// Shape describes the first rows of a fleet.
type Shape struct {
	Profiles      int     `json:"profiles"`
	Rows          int     `json:"rows"`
	Least         int     `json:"rows_least"`
	Mean          float64 `json:"rows_mean"`
	Most          int     `json:"rows_most"`
	Stacks        int     `json:"distinct_stacks"`
	Locations     int     `json:"distinct_locations"`
	Depth         float64 `json:"mean_depth"` // mean over rows
	NodesPerStack float64 `json:"tree_nodes_per_stack"`
	Columns       int     `json:"columns"`
	Series        int     `json:"series"`
	Seconds       float64 `json:"seconds_of_fleet"`
}

// Describe makes profiles until they have `rows` rows, and returns their shape.
func (f *Fleet) Describe(rows int) Shape {
	var m Shape
	seed := maphash.MakeSeed()
	distinct := map[uint64]bool{} // by content, because two stacks in a job may be equal
	stacks, locations, columns, series := map[*uuid.UUID]bool{}, map[uuid.UUID]bool{}, map[string]bool{}, map[string]bool{}
	depth := 0
	for m.Rows < rows {
		b := f.Profile(m.Profiles, time.Unix(0, 0))
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
	m.NodesPerStack = float64(nodes) / float64(len(f.jobs)*stacksPerJob)
	m.Seconds = float64(m.Profiles) / float64(f.Number(Place{Scrape: 1})) * ScrapeInterval.Seconds()
	return m
}
