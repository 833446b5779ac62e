package parca_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	pb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/parca-dev/parca/pkg/profile"
	"github.com/parca-dev/parca/pkg/query"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/effort"
)

// question is one call of a querier, with its answer as something that can be compared.
type question struct {
	name string
	ask  func(t testing.TB, q query.Querier) any
}

// answered returns an answer, or the error.
func answered[T any](v T, err error) any {
	if err != nil {
		return "error"
	}
	return v
}

// questionsOfType returns all questions about a type of profile with a selector of labels.
func questionsOfType(typ, selector string, from, to time.Time, steps []time.Duration, by []string) []question {
	ctx, q := context.Background(), typ+selector
	qs := []question{
		{"labels", func(_ testing.TB, x query.Querier) any { return answered(x.GetProfileMetadataLabels(ctx, q, from, to)) }},
		{"mappings", func(_ testing.TB, x query.Querier) any {
			return answered(x.GetProfileMetadataMappings(ctx, q, from, to))
		}},
	}
	for _, step := range steps {
		for _, sum := range [][]string{nil, {"job"}, {"zone", "job"}} {
			qs = append(qs, question{fmt.Sprintf("range %v by %v", step, sum), func(_ testing.TB, x query.Querier) any {
				series, err := x.QueryRange(ctx, q, from, to, step, 0, sum)
				return answered(textOfSeries(series), err)
			}})
		}
	}
	merge := func(name string, by []string, inverted bool, function string) {
		qs = append(qs, question{name, func(t testing.TB, x query.Querier) any {
			p, err := x.QueryMerge(ctx, q, from, to, by, inverted, function)
			if err != nil {
				return "error"
			}
			defer release(p)
			return []any{p.Meta, textOfProfile(t, p)}
		}})
	}
	merge("merge", nil, false, "")
	merge("merge inverted", nil, true, "")
	merge("merge by labels", by, false, "")
	merge("merge by time", []string{"timestamp"}, false, "")
	merge("merge by a function", []string{"function_name", "mapping_file"}, false, "")
	return qs
}

func release(p profile.Profile) {
	for _, r := range p.Samples {
		r.Release()
	}
}

// textOfSeries returns the lines of a range, in any order.
func textOfSeries(all []*pb.MetricsSeries) []string {
	out := []string{}
	for _, s := range all {
		var b strings.Builder
		for _, l := range s.Labelset.Labels {
			fmt.Fprintf(&b, "%s=%q ", l.Name, l.Value)
		}
		fmt.Fprintf(&b, "%s/%s", s.SampleType.GetType(), s.PeriodType.GetType())
		for _, p := range s.Samples {
			fmt.Fprintf(&b, " | %v %d %g %d %d", p.Timestamp.AsTime().UnixNano(), p.Value, p.ValuePerSecond, p.Duration, p.Count)
		}
		out = append(out, b.String())
	}
	slices.Sort(out)
	return out
}

// typesOf returns the types of profiles, as queries name them, sorted.
func typesOf(t testing.TB, q query.Querier, from, to time.Time) []string {
	t.Helper()
	types, err := q.ProfileTypes(context.Background(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, p := range types {
		name := strings.Join([]string{p.Name, p.SampleType, p.SampleUnit, p.PeriodType, p.PeriodUnit}, ":")
		if p.Delta {
			name += ":delta"
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// compare asks both queriers on Granary and Parca's on FrostDB, and returns the number of answers.
func (s *stores) compare(t *testing.T, what string, qs []question) (answers int) {
	t.Helper()
	for _, q := range qs {
		want := q.ask(t, s.want)
		for name, x := range map[string]query.Querier{"engine": s.engine, "native": s.native} {
			if got := q.ask(t, x); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s: %s differs:\n got %s\nwant %s", what, q.name, name, short(got), short(want))
			}
			answers++
		}
	}
	return answers
}

// short returns the beginning of an answer.
func short(v any) string {
	text := fmt.Sprintf("%q", v)
	return text[:min(len(text), 1500)]
}

// questionsOfAll returns the questions about all types.
func questionsOfAll(types []string, from, to time.Time) []question {
	ctx := context.Background()
	qs := []question{
		{"types", func(t testing.TB, x query.Querier) any { return typesOf(t, x, from, to) }},
		{"has data", func(_ testing.TB, x query.Querier) any { return answered(x.HasProfileData(ctx)) }},
	}
	for _, typ := range append([]string{""}, types...) {
		qs = append(qs, question{"labels of " + typ, func(_ testing.TB, x query.Querier) any { return answered(x.Labels(ctx, nil, from, to, typ)) }},
			question{"matched labels of " + typ, func(_ testing.TB, x query.Querier) any {
				return answered(x.Labels(ctx, []string{`job="job-1"`}, from, to, typ))
			}})
		for _, label := range []string{"job", "zone", "file"} {
			qs = append(qs, question{"values of " + label + " of " + typ, func(_ testing.TB, x query.Querier) any {
				return answered(x.Values(ctx, label, nil, from, to, typ))
			}})
		}
	}
	return qs
}

// TestDifferential_RealProfiles compares all answers over real profiles.
func TestDifferential_RealProfiles(t *testing.T) {
	skipShared(t)
	s := openStores(t, columnstore.Options{GranuleRows: 5000, PastLimit: -1})
	profiles := profilesBelow(t, sharedProfiles)
	for i, name := range slices.Sorted(maps.Keys(profiles)) {
		if strings.HasSuffix(name, "agent-profile.pb.gz") {
			continue // its type is the empty text: TestDifference_EmptyType
		}
		s.insert(t, profiles[name], "__name__", "p", "job", fmt.Sprintf("job-%d", i%3), "file", fmt.Sprintf("f%d", i))
	}
	types := typesOf(t, s.want, time.Unix(0, 0), time.Unix(0, 0))
	answers := s.compare(t, "all", questionsOfAll(types, time.Unix(0, 0), time.Unix(0, 0)))
	answers += s.compare(t, "some time", questionsOfAll(types, farFrom, farTo))
	for _, typ := range types {
		selectors := []string{`{}`, `{job!="job-1",file=~"f1.*"}`, `{job="job-1"}`, `{job!="job-1"}`, `{file!~"1"}`, `{none="x"}`, `{none=""}`, `{job!=""}`}
		for _, selector := range selectors[:effort.Part(len(selectors), 4)] {
			answers += s.compare(t, typ+selector, questionsOfType(typ, selector, farFrom, farTo, []time.Duration{time.Nanosecond}, []string{"labels.job"}))
		}
	}
	t.Logf("%d profiles of %d types: %d answers compared", len(profiles), len(types), answers)
}

// TestDifferential_Random compares all answers over random profiles.
func TestDifferential_Random(t *testing.T) {
	for seed := range uint64(effort.Part(16, 16)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			s := openStores(t, columnstore.Options{GranuleRows: 200, Now: func() time.Time { return base.Add(time.Hour) }})
			for range 60 {
				labels := []string{"__name__", []string{"cpu", "heap"}[r.IntN(2)], "job", fmt.Sprintf("job-%d", r.IntN(3)), "zone", fmt.Sprintf("z%d", r.IntN(4))}
				s.insert(t, randomProfile(r), labels...)
			}
			if err := s.store.Maintain(context.Background()); err != nil {
				t.Fatal(err)
			}
			from, to := base.Add(-time.Minute), base.Add(20*time.Minute)
			types := typesOf(t, s.want, from, to)
			answers := s.compare(t, "all", questionsOfAll(types, from, to))
			for _, typ := range types {
				steps := []time.Duration{time.Second}
				if strings.HasSuffix(typ, ":delta") {
					steps = append(steps, 90*time.Second, time.Hour)
				}
				for _, selector := range []string{`{}`, `{job!="job-1",zone=~"z[12]"}`, `{zone!~"z1",none!="x"}`} {
					answers += s.compare(t, typ+selector, questionsOfType(typ, selector, from, to, steps, []string{"labels.zone", "labels.job"}))
					answers += s.compare(t, typ+selector, s.singles(typ+selector))
				}
			}
			t.Logf("%d types: %d answers compared", len(types), answers)
		})
	}
}

// singles returns the questions for single profiles: at times with one, and at one without.
func (s *stores) singles(q string) (qs []question) {
	for second := range 6 {
		at := base.Add(time.Duration(second*10) * time.Second)
		for _, inverted := range []bool{false, true} {
			qs = append(qs, question{fmt.Sprint("single at ", second), func(t testing.TB, x query.Querier) any {
				p, err := x.QuerySingle(context.Background(), q, at, inverted)
				if err != nil {
					return "error"
				}
				defer release(p)
				return []any{p.Meta, textOfProfile(t, p)}
			}})
		}
	}
	return qs
}
