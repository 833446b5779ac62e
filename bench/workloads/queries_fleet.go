package workloads

import (
	"cmp"
	"fmt"
	"os"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/peers"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/schema"
)

// filled describes a fleet in a store.
type filled struct {
	Jobs     int   `json:"jobs"`
	Rows     int64 `json:"rows"`
	Profiles int   `json:"profiles"`
	Series   int   `json:"series"`
	Stacks   int   `json:"stacks"`
	Granules int   `json:"granules"`
	Bytes    int64 `json:"bytes"` // by the store's accounting
}

// FilledFleet is a store with a compacted fleet, and the questions to it.
type FilledFleet struct {
	peers.Granary
	// Subject is the profile whose job, pod, type and time the questions use.
	Subject schema.Batch

	variant   fleet.Variant
	about     filled
	questions map[string]peers.Question
}

// WithFleet fills a store with `rows` rows of a fleet, compacts it and calls f, which may ask its snapshot.
// The generator is garbage by then. The store's maintainer runs and has nothing to do.
func WithFleet(v fleet.Variant, rows int64, f func(q *FilledFleet) error) error {
	fmt.Fprintf(os.Stderr, "bench: fill %d rows of %d jobs\n", rows, cmp.Or(v.Jobs, fleet.Jobs))
	q, err := fillQueries(v, rows)
	if err != nil {
		return err
	}
	defer q.Store.Close()
	if q.Snap, err = q.Store.Snapshot(); err != nil {
		return err
	}
	defer q.Snap.Close()
	return f(q)
}

// subjectPlace is the questions' profile. A million rows have three scrapes of its job, and so have larger
// fleets.
var subjectPlace = fleet.Place{Kind: 1, Job: 3}

// fillQueries inserts a fleet's profiles and compacts them.
func fillQueries(v fleet.Variant, rows int64) (*FilledFleet, error) {
	f := fleet.NewVariant(fleet.Seed, v)
	g, err := peers.OpenGranary(columnstore.Options{FutureLimit: -1})
	if err != nil {
		return nil, err
	}
	q := &FilledFleet{Granary: *g, variant: f.Variant, Subject: f.Profile(f.Number(subjectPlace), fleet.Start)}
	for n := 0; q.about.Rows < rows; n++ {
		b := f.Profile(n, fleet.Start)
		if err := q.Insert(b); err != nil {
			q.Store.Close()
			return nil, err
		}
		q.about.Rows += int64(b.Rows)
		q.about.Profiles++
	}
	if least := f.Number(subjectPlace) + 1; q.about.Profiles < least {
		q.Store.Close()
		return nil, fmt.Errorf("%d rows are %d profiles, and the questions are about the %dth: want more rows", rows, q.about.Profiles, least)
	}
	if err := q.Settle(); err != nil {
		q.Store.Close()
		return nil, err
	}
	stats := q.Store.Stats()
	q.about.Jobs, q.about.Series, q.about.Stacks = f.Variant.Jobs, stats.Series, stats.Stacks
	q.about.Granules, q.about.Bytes = stats.Granules, stats.Bytes()
	q.questions = map[string]peers.Question{}
	for _, one := range peers.Questions(q.Subject) {
		q.questions[one.Name] = one
	}
	return q, nil
}

// Question returns a question by name.
func (q *FilledFleet) Question(name string) (peers.Question, error) {
	one, ok := q.questions[name]
	if !ok {
		return one, fmt.Errorf("no question %q", name)
	}
	return one, nil
}
