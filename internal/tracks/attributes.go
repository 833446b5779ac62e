package tracks

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/granarydb/granary/history"
)

// attributes adds the attributes of rows and counters, in the order of tracks.
type attributes struct {
	*Timeline
	to    *history.Writer
	names []string
	made  []history.Attribute // by track
	has   []bool
}

// addAttributes returns the attributes of rows and of counters.
func (s *Timeline) addAttributes(to *history.Writer, rows []row) (ofRows, ofCounters []history.Attribute, err error) {
	n := len(s.nodes)
	as := &attributes{Timeline: s, to: to, names: s.names(rows), made: make([]history.Attribute, n), has: make([]bool, n)}
	as.made[Outermost], as.has[Outermost] = history.Top, true
	ofRows = make([]history.Attribute, len(rows))
	for _, i := range inOrder(rows) {
		if ofRows[i], err = as.row(rows[i]); err != nil {
			return nil, nil, err
		}
	}
	ofCounters = make([]history.Attribute, len(s.counters))
	for i, c := range s.counters {
		s.nodes[c.node].isFloat = s.nodes[c.node].isFloat || c.isFloat
		if ofCounters[i], err = as.track(c.node); err != nil {
			return nil, nil, err
		}
	}
	return ofRows, ofCounters, nil
}

// inOrder returns the numbers of rows in the order of their tracks, lanes and levels.
func inOrder(rows []row) []int {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := rows[i], rows[j]
		return cmp.Or(cmp.Compare(a.track, b.track), cmp.Compare(a.lane, b.lane), cmp.Compare(a.level, b.level))
	})
	return order
}

// track returns the attribute of a track. Readers bound how deep tracks are.
func (as *attributes) track(t Track) (history.Attribute, error) {
	if as.has[t] {
		return as.made[t], nil
	}
	parent, err := as.track(as.nodes[t].parent)
	if err != nil {
		return 0, err
	}
	as.made[t], err = as.to.Child(parent, as.names[t])
	as.has[t] = err == nil
	return as.made[t], err
}

func (as *attributes) row(r row) (history.Attribute, error) {
	a, err := as.track(r.track)
	switch {
	case err != nil || as.nodes[r.track].isFlat:
		return a, err
	}
	return as.to.Child(a, r.path()...)
}

// path returns the attribute of a row below its track.
func (r row) path() []string {
	level := strconv.Itoa(r.level + 1)
	if r.lane == 0 {
		return []string{level}
	}
	return []string{"lane " + strconv.Itoa(r.lane+1), level}
}
