package main

import (
	"bytes"
	"fmt"
	"net/url"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/bench/fleet"
)

// file is a profile to push.
type file struct {
	query string // query of the URL: its labels
	data  []byte
	rows  int
	sum   int64
	kind  string // its type, as in the server's queries
}

// files are the profiles of a fleet for one scrape, in the order of their pushes, in some variants. They have
// no time, because the server's clock sets it.
type files struct {
	scrapes [][]file
	rows    float64 // mean rows of a scrape
}

// names are the profile types' names in Pyroscope's clients.
var names = map[string]string{
	"samples": "process_cpu", "cpu": "process_cpu", "alloc_space": "memory", "inuse_space": "memory",
}

func makeFiles(pods, variants int) (*files, error) {
	f, out := fleet.New(fleet.Seed), &files{}
	n := min(pods*4, fleet.Series)
	if pods*4 > fleet.Series {
		return nil, fmt.Errorf("%d pods, at most %d", pods, fleet.Series/4)
	}
	for v := range variants {
		scrape := make([]file, n)
		for i := range n {
			made, err := makeFile(f, v*fleet.Series+i)
			if err != nil {
				return nil, err
			}
			scrape[i] = made
			out.rows += float64(made.rows) / float64(variants)
		}
		out.scrapes = append(out.scrapes, scrape)
	}
	return out, nil
}

// makeFile makes a profile, and counts its rows by decoding the bytes to send.
func makeFile(f *fleet.Fleet, n int) (file, error) {
	encoded, err := fleet.NewPprofFile(f.Profile(n, fleet.Start))
	if err != nil {
		return file{}, err
	}
	p, err := pprof.Parse(bytes.NewReader(encoded.Data()))
	if err != nil {
		return file{}, err
	}
	t := p.SampleType[0]
	out := file{data: encoded.Data(), kind: fmt.Sprintf("%s:%s:%s:%s:%s", names[t.Type], t.Type, t.Unit, p.PeriodType.Type, p.PeriodType.Unit)}
	for _, s := range p.Sample {
		if s.Value[0] != 0 {
			out.rows++
			out.sum += s.Value[0]
		}
	}
	query := url.Values{"__name__": {names[t.Type]}}
	for name, value := range encoded.Labels() {
		query.Set(name, value)
	}
	out.query = query.Encode()
	return out, nil
}
