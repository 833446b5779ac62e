package server

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"

	"github.com/granarydb/granary/internal/selector"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/question"
)

// TestTypeID reads ids back, also those with colons and per cent signs in their parts.
func TestTypeID(t *testing.T) {
	check := func(name string, typ profile.Type) {
		t.Helper()
		id := question.TypeID(name, typ)
		if gotName, got, err := question.ParseTypeID(id); err != nil || gotName != name || got != typ || strings.Count(id, ":") != 4 {
			t.Errorf("%q %+v has the id %s, which is read as %q %+v, %v", name, typ, id, gotName, got, err)
		}
	}
	check("process_cpu", cpuType)
	check("profile", profile.Type{})
	check("a:b", profile.Type{Sample: ":", SampleUnit: "%", Period: "%3A", PeriodUnit: "%25:"})
	check("%", profile.Type{Sample: "%:", SampleUnit: "%253A", Period: "", PeriodUnit: "3A"})
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		parts := make([]string, 5)
		for i := range parts {
			for range 1 + rng.IntN(5) {
				parts[i] += []string{":", "%", "3A", "25", "%3A", "%25", "a", "3a", "{", "7B"}[rng.IntN(10)]
			}
		}
		check(parts[0], profile.Type{Sample: parts[1], SampleUnit: parts[2], Period: parts[3], PeriodUnit: parts[4]})
	}
	for _, text := range []string{"", "cpu", "cpu:nanoseconds:cpu:nanoseconds", "a:b:c:d:e:f", ":a:b:c:d"} {
		if name, typ, err := question.ParseTypeID(text); err == nil {
			t.Errorf("%q is read as %q %+v", text, name, typ)
		}
	}
}

// totalOf asks for a flame graph, and returns its total.
func (a *asker) totalOf(m *querierv1.SelectMergeStacktracesRequest) int64 {
	a.t.Helper()
	resp, err := a.c.SelectMergeStacktraces(a.t.Context(), connect.NewRequest(m))
	if err != nil {
		a.t.Fatalf("%v: %v", m, err)
	}
	return resp.Msg.GetFlamegraph().GetTotal()
}

// TestTypeID_Asked asks for the types that ProfileTypes lists: profiles without a name, and parts with
// colons.
func TestTypeID_Asked(t *testing.T) {
	a := newAsker(t, Options{})
	odd := profile.Type{Sample: "a:b%3A", SampleUnit: "x y", Period: ":", PeriodUnit: "%"}
	a.insert(madeAt, cpuType, map[string]string{"job": "a"}, made{stack: "main", value: 3})
	a.insert(madeAt, cpuType, map[string]string{"job": "b", profile.NameLabel: "profile"}, made{stack: "main", value: 5})
	a.insert(madeAt, cpuType, map[string]string{"job": "a", profile.NameLabel: "a:b"}, made{stack: "main", value: 7})
	a.insert(madeAt, odd, map[string]string{"job": "a", profile.NameLabel: "odd-name"}, made{stack: "main", value: 11})
	a.insert(madeAt, profile.Type{SampleUnit: "count"}, map[string]string{"job": "a", profile.NameLabel: "plain"}, made{stack: "main", value: 13})
	for _, test := range []struct {
		id, selector string
		want         int64
	}{
		{question.TypeID("", cpuType), `{job="a"}`, 3},
		{question.TypeID("", cpuType), `{job="b"}`, 5},
		{question.TypeID("a:b", cpuType), "", 7},
		{question.TypeID("b", cpuType), "", 0},
		{question.TypeID("a:b", cpuType), "{__profile_type__=`" + question.TypeID("a:b", cpuType) + "`}", 7},
		{question.TypeID("odd-name", odd), question.TypeID("odd-name", odd) + `{job="a"}`, 11},
		{"plain::count::", `plain{job="a"}`, 13},
	} {
		if got := a.totalOf(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: test.id, LabelSelector: test.selector}); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
	types, err := a.c.ProfileTypes(t.Context(), connect.NewRequest(&querierv1.ProfileTypesRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, p := range types.Msg.GetProfileTypes() {
		for _, job := range []string{"a", "b"} { // profiles of two names have one id
			sum += a.totalOf(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: p.GetID(), LabelSelector: `{job="` + job + `"}`})
		}
	}
	if sum != 3+5+7+11+13 {
		t.Errorf("all types have %d", sum)
	}
	// Names are all that tells block and mutex profiles apart, so those without are not added up.
	_, err = a.c.SelectMergeStacktraces(t.Context(), connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: question.TypeID("", cpuType)}))
	if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "kinds") {
		t.Errorf("profiles of two kinds: %v", err)
	}
}

// TestWindow holds the bounds on time: both milliseconds are included.
func TestWindow(t *testing.T) {
	a := newAsker(t, Options{})
	for ms, value := range map[int]int64{0: 1, 1: 2, 2: 4} {
		at := madeAt.Add(time.Duration(ms)*time.Millisecond + 999*time.Microsecond)
		a.insert(at, cpuType, map[string]string{profile.NameLabel: "process_cpu"}, made{stack: "main", value: value})
	}
	from := madeAt.UnixMilli()
	for _, test := range []struct{ start, end, want int64 }{
		{0, 0, 7}, {from, from, 1}, {from + 1, from + 1, 2}, {from, from + 1, 3}, {from + 1, 0, 6}, {0, from + 1, 3}, {from + 3, from + 9, 0},
	} {
		if got := a.totalOf(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID, Start: test.start, End: test.end}); got != test.want {
			t.Errorf("%d to %d: %d, want %d", test.start, test.end, got, test.want)
		}
	}
}

// TestSelection reads selectors back from the text that is made of their conditions.
func TestSelection(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	odd := []string{"a", `"`, `\`, "\n", "\x00", "\xff", "ü", "日", "{", "}", ",", "`", "'", "=~", "\u200b", "%3A", "$1"}
	text := func() (s string) {
		for range 1 + rng.IntN(6) {
			s += odd[rng.IntN(len(odd))]
		}
		return s
	}
	for range 2000 {
		var want []selector.Matcher
		for range 1 + rng.IntN(3) {
			m := selector.Matcher{Name: text(), Op: selector.Op(rng.IntN(4)), Value: text()}
			if m.Op == selector.OpPattern || m.Op == selector.OpNotPattern {
				m.Value = regexp.QuoteMeta(strings.ToValidUTF8(m.Value, "?"))
			}
			want = append(want, m)
		}
		s, err := question.SelectorOf(want)
		if err != nil {
			t.Fatalf("%q: %v", want, err)
		}
		got, err := question.ParseSelection(s.String())
		if err != nil || len(got.Labels) != len(want) || len(got.Types) != 0 {
			t.Fatalf("%s: %v, %v", s, got, err)
		}
		for i, m := range got.Labels {
			if m.Pattern = nil; m != want[i] {
				t.Fatalf("%s: %q, want %q", s, m, want[i])
			}
		}
	}
	for _, all := range []string{"", " ", "{}", " { } "} {
		if s, err := question.ParseSelection(all); err != nil || len(s.Labels)+len(s.Types) != 0 {
			t.Errorf("%q: %v, %v", all, s, err)
		}
	}
}
