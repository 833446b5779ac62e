package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/beside"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/ihs"
	"github.com/granarydb/granary/internal/recorded"
	"github.com/granarydb/granary/server"
)

// printed is an interval as granary history prints it.
type printed struct {
	Attribute  string
	Start, End time.Time // the last instant
	Open       bool
	Kind       string
	Value      any
}

// shown is a state as a page has it.
type shown struct {
	Attribute, State, Kind string
	Start, End             time.Time // the instant behind it
	Open                   bool
}

// printed returns the state as granary history prints it.
func (s *shown) printed(t *testing.T) printed {
	t.Helper()
	p := printed{Attribute: s.Attribute, Start: s.Start, End: s.End.Add(-1), Open: s.Open, Kind: s.Kind}
	var err error
	switch s.Kind {
	case history.KindInt.String(), history.KindFloat.String():
		p.Value, err = strconv.ParseFloat(s.State, 64)
	case history.KindBool.String():
		p.Value, err = strconv.ParseBool(s.State)
	case history.KindString.String():
		if p.Value = s.State; strings.HasPrefix(s.State, `"`) {
			p.Value, err = strconv.Unquote(s.State)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPage_States compares a history's states on a page with the states that granary history prints, at
// instants and over time.
func TestPage_States(t *testing.T) {
	names := []string{"synth:50:400", "uneven-streams"}
	if effort.Full {
		names = append(names[:1], recorded.Names...)
	}
	for i, source := range names {
		t.Run(source, func(t *testing.T) {
			name := "states"
			if i > 0 {
				recorded.Open(t, source) // or skip
				name, source = source, beside.Data(t, "intervals/"+source+ihs.IntervalsSuffix)
			}
			dir := filepath.Join(t.TempDir(), "db")
			command := func(out any, args ...string) {
				t.Helper()
				r := granary(t, append([]string{"history"}, args...)...)
				if r.code != 0 {
					t.Fatalf("%q: %d: %s", args, r.code, r.stderr)
				}
				if out != nil {
					if err := json.Unmarshal([]byte(r.stdout), out); err != nil {
						t.Fatalf("%q: %v", args, err)
					}
				}
			}
			command(nil, "load", "--db", dir, "--name", name, source)
			var info struct{ Start, End time.Time }
			command(&info, "info", "--db", dir, "--json", name)
			step := info.End.Sub(info.Start) / 10
			var at [11]struct{ Intervals []printed }
			for i := range at {
				command(&at[i], "slice", "--db", dir, "--json", name, info.Start.Add(time.Duration(i)*step).Format(time.RFC3339Nano))
			}
			attributes := at[5].Intervals[:5]
			ranges := make([]struct{ Intervals []printed }, len(attributes))
			for i, a := range attributes {
				command(&ranges[i], "range", "--db", dir, "--json", name, a.Attribute)
			}

			ask := historyPage(t, dir, name)
			compared := 0
			for i := range at {
				want := map[string][]printed{}
				for _, in := range at[i].Intervals {
					path := pathOf(in.Attribute)
					want[path] = append(want[path], in)
				}
				for path, want := range want {
					var got []printed
					for _, s := range ask("at", "p", path, "rows", "100000", "at", info.Start.Add(time.Duration(i)*step).Format(time.RFC3339Nano)) {
						if s.Kind != history.KindNull.String() { // which slice leaves out
							got = append(got, s.printed(t))
						}
					}
					for _, all := range [][]printed{got, want} { // the orders are others
						slices.SortFunc(all, func(a, b printed) int { return strings.Compare(a.Attribute, b.Attribute) })
					}
					same(t, got, want)
					compared += len(want)
				}
			}
			for i, a := range attributes {
				var got []printed
				for _, s := range ask("range", "rows", "100000", "attribute", a.Attribute) {
					s.Attribute = a.Attribute
					got = append(got, s.printed(t))
				}
				same(t, got, ranges[i].Intervals)
				compared += len(got)
			}
			if compared < 1000 {
				t.Errorf("%d states were compared", compared)
			}
		})
	}
}

// pathOf returns a path that fits an attribute, and those beside it below the same top.
func pathOf(attribute string) string {
	names := strings.Split(strings.ReplaceAll(attribute, `\/`, "-"), "/") // a slash in a name
	for i := range names[1:] {
		names[i+1] = "{n" + strconv.Itoa(i) + "}"
	}
	return strings.Join(names, "/")
}

// historyPage returns a function that asks a server of a directory about its history.
func historyPage(t *testing.T, dir, name string) func(question string, parameters ...string) []shown {
	t.Helper()
	s := newServer(t, columnstore.Options{Dir: dir}, server.Options{})
	return func(question string, parameters ...string) []shown {
		t.Helper()
		var out struct{ Attributes, Intervals []shown }
		askPage(t, s, "histories/"+name+"/"+question, parameters, &out)
		return append(out.Attributes, out.Intervals...)
	}
}

// same compares intervals in their order.
func same(t *testing.T, got, want []printed) {
	t.Helper()
	if len(got) != len(want) || len(want) == 0 {
		t.Errorf("%d intervals, want %d", len(got), len(want))
		return
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("interval %d: %v, want %v", i, got[i], want[i])
			return
		}
	}
}
