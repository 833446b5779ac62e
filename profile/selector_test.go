package profile

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/granarydb/granary/columnstore"
)

// selectorDB returns a table with rows of values 1, 2, 4, ..., so that a sum identifies the
// chosen rows.
func selectorDB(t testing.TB) *DB {
	db := testDB(t, Options{})
	one := func(bit int, sample map[string][]string, profile ...string) {
		insert(t, db, makeProfile(start+int64(bit), "n:count", stack{frames: "f", values: []int64{1 << bit}, labels: sample}), profile...)
	}
	one(0, nil)
	one(1, nil, "job", "api", "__name__", "cpu")
	one(2, nil, "job", "web", "zone", "eu")
	one(3, map[string][]string{"job": {"sampled"}})
	one(4, map[string][]string{"job": {"sampled"}}, "job", "api")
	one(5, map[string][]string{"thread.id": {"7", "8"}, "thread": {"a\"b\\\n"}})
	one(6, map[string][]string{"a#2": {"numbered"}, "a": {"x", "y"}}, "job", "\u00e9")
	return db
}

// TestSelector checks P4 and the syntax of Prometheus.
func TestSelector(t *testing.T) {
	db := selectorDB(t)
	const all = 127
	checkSelectors(t, db, []selectorCase{
		{"", all},
		{"{}", all},
		{" { } ", all},
		{"{\t}", all},
		{`{job="api"}`, 2 + 16},
		{`{ job = "api" , }`, 2 + 16},
		{`{job='api'}`, 2 + 16},
		{"{job=`api`}", 2 + 16},
		{`{job!="api"}`, all - 2 - 16},
		{`{job=""}`, 1 + 32},
		{`{job!=""}`, all - 1 - 32},
		{`{zone!="eu"}`, all - 4}, // P4: a missing zone is not eu
		{`{zone="eu",job="web"}`, 4},
		{`{zone="eu",job="api"}`, 0},
		{`{job!="api",job!="web"}`, all - 2 - 16 - 4},
		// A label of the profile hides a label of its samples.
		{`{job="sampled"}`, 8},
		{`{job!="sampled"}`, all - 8},
		// Patterns are anchored at both ends; the dot matches line ends.
		{`{job=~"a"}`, 0},
		{`{job=~"a.*"}`, 2 + 16},
		{`{job=~"api|web"}`, 2 + 16 + 4},
		{`{job=~"ap|eb"}`, 0},
		{`{job!~"api|web"}`, all - 2 - 16 - 4},
		{`{job=~""}`, 1 + 32},
		{`{job!~""}`, all - 1 - 32},
		{`{job=~".*"}`, all},
		{`{job=~".+"}`, all - 1 - 32},
		{`{job!~".+"}`, 1 + 32},
		{`{thread=~"a.b.*"}`, 32},
		{`{nothing=~"x?"}`, all},
		{`{nothing!~"x?"}`, 0},
		// Names.
		{`cpu`, 2},
		{`cpu{job="api"}`, 2},
		{`{__name__="cpu"}`, 2},
		{`{__name__!="cpu"}`, all - 2},
		{`{"thread.id"="7"}`, 32}, // the first of several values
		{`{"thread.id"="8"}`, 0},
		{`{"a#2"="numbered"}`, 64},
		{`{a="x"}`, 64},
		// Escapes.
		{`{thread="a\"b\\\n"}`, 32},
		{"{job=\"\\u00e9\"}", 64},
		{"{job=\"\u00e9\"}", 64},
	})
}

type selectorCase struct {
	text string
	want int64
}

func checkSelectors(t *testing.T, db *DB, cases []selectorCase) {
	for _, tc := range cases {
		s, err := ParseSelector(tc.text)
		if err != nil {
			t.Errorf("%s: %v", tc.text, err)
			continue
		}
		for _, when := range []string{"fresh", "compacted"} {
			stacks, err := db.Merge(context.Background(), view(t, db), Type{"n", "count", "cpu", "nanoseconds"}, Query{Selector: s, SumKinds: true})
			if err != nil {
				t.Fatal(err)
			}
			if stacks.Total != tc.want {
				t.Errorf("%s (%s) chooses rows %07b, want %07b", tc.text, when, stacks.Total, tc.want)
			}
			if err := db.store.Compact(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestSelectorText(t *testing.T) {
	for text, want := range map[string]string{"": "", "{ }": "", " {a=\"b\"} ": `{a="b"}`} {
		s, err := ParseSelector(text)
		if err != nil || s.String() != want {
			t.Errorf("%q: text %q, error %v", text, s.String(), err)
		}
	}
}

func TestSelectorRequires(t *testing.T) {
	s, err := ParseSelector(`cpu{job="api",pod!="x",zone=~".+",node=~".*",rack!~"",cell!~".+",disk=""}`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Requires(), []string{"job", "zone", "rack", "__name__"}; !slices.Equal(got, want) {
		t.Errorf("labels %q, want %q", got, want)
	}
}

func TestSelectorSyntaxErrors(t *testing.T) {
	for _, text := range []string{
		`{`, `}`, `{job}`, `{job=}`, `{job="api"`, `job="api"`, `{job="api"} {}`, `{job="api",,}`, `{job=api}`, `{job=~"("}`,
		`{job!~"*"}`, `{="a"}`, `{job=="a"}`, `{job="\q"}`, `{job="a" zone="b"}`, `{1a="b"}`, `sum(x)`, `x[5m]`, `x + y`, "{job=\"\xff\"}",
		strings.Repeat("{", 10_000),
	} {
		s, err := ParseSelector(text)
		if !errors.Is(err, ErrSelector) {
			t.Errorf("%.60q: %v, error %v, want %v", text, s, err, ErrSelector)
		}
	}
}

// TestSelectorEqualsOracle checks P4 against Go's operators and patterns on random labels.
// Module compat/selectors compares with the matchers of Prometheus.
func TestSelectorEqualsOracle(t *testing.T) {
	names := []string{"job", "pod", "zone", "__name__"}
	values := []string{"", "a", "b", "ab", "a\nb"}
	patterns := []string{"", "a", "a.*", ".*", ".+", "a|b", "[^a]", "(?i)A", "a.b", "^a$", "x?"}
	type row struct{ profile, sample map[string]string }
	type condition struct{ name, op, value string }
	holds := func(c condition, value string) bool {
		equal := value == c.value
		if c.op[1:] == "~" {
			equal = regexp.MustCompile(`\A(?s:` + c.value + `)\z`).MatchString(value)
		}
		return equal == (c.op[0] == '=')
	}
	rapid.Check(t, func(t *rapid.T) {
		db := openDB(t, Options{})
		defer db.store.Close()
		var rows []row
		drawLabels := func() map[string]string {
			return rapid.MapOfN(rapid.SampledFrom(names), rapid.SampledFrom(values), 0, 3).Draw(t, "labels")
		}
		for i := range rapid.IntRange(1, 12).Draw(t, "rows") {
			r := row{drawLabels(), drawLabels()}
			rows = append(rows, r)
			sample := map[string][]string{}
			for name, value := range r.sample {
				sample[name] = []string{value}
			}
			p := makeProfile(start+int64(i), "n:count", stack{frames: "f", values: []int64{1 << i}, labels: sample})
			if _, err := db.Insert(context.Background(), p, InsertOptions{Labels: r.profile}); err != nil {
				t.Fatal(err)
			}
		}
		if rapid.Bool().Draw(t, "compact") {
			if err := db.store.Compact(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		var text []string
		var conditions []condition
		for range rapid.IntRange(1, 3).Draw(t, "matchers") {
			c := condition{name: rapid.SampledFrom(names).Draw(t, "name"), op: rapid.SampledFrom([]string{"=", "!=", "=~", "!~"}).Draw(t, "op")}
			c.value = rapid.SampledFrom(values).Draw(t, "value")
			if strings.HasSuffix(c.op, "~") {
				c.value = rapid.SampledFrom(patterns).Draw(t, "pattern")
			}
			conditions = append(conditions, c)
			text = append(text, fmt.Sprintf("%s%s%q", c.name, c.op, c.value))
		}
		var want int64
		for i, r := range rows {
			chosen := true
			for _, c := range conditions {
				chosen = chosen && holds(c, cmpOr(r.profile[c.name], r.sample[c.name]))
			}
			if chosen {
				want |= 1 << i
			}
		}
		s, err := ParseSelector("{" + strings.Join(text, ",") + "}")
		if err != nil {
			t.Fatal(err)
		}
		err = db.store.View(context.Background(), func(snap *columnstore.Snapshot) error {
			got, err := db.Merge(context.Background(), snap, Type{"n", "count", "cpu", "nanoseconds"}, Query{Selector: s, SumKinds: true})
			if err == nil && got.Total != want {
				t.Fatalf("%s chooses %b of %v, want %b", s, got.Total, rows, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzParseSelector checks P5.
func FuzzParseSelector(f *testing.F) {
	for _, text := range []string{"", "{}", `{job="api",pod=~"x.*",zone!=""}`, `cpu{a!~"b"}`, `{"a.b"='c'}`, "{a=`b`}", "{a=~\"(\"}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSelector(text)
		if err != nil {
			if !errors.Is(err, ErrSelector) {
				t.Fatalf("error of no kind: %v", err)
			}
			return
		}
		if again, err := ParseSelector(s.String()); err != nil || again.String() != s.String() {
			t.Fatalf("%q: its text %q gives %q, %v", text, s, again, err)
		}
		s.Expr()
	})
}
