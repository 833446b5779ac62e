package check

import (
	"errors"
	"strings"
	"testing"
)

func TestReadBudget(t *testing.T) {
	b, err := ReadBudget(strings.NewReader("# of the parser\n\nmain.parse* 3% cpu\nruntime.gcBgMarkWorker 10.5%\nmain.(*T).f 0% # none\n* +4%\nmain.slow +50%\noperator new(unsigned long) 2%\n"))
	if err != nil || len(b) != 6 {
		t.Fatalf("%+v, %v", b, err)
	}
	for _, tc := range []struct {
		name, sample string
		want         []int
	}{
		{"main.parseAll", "cpu", []int{0, 3}},
		{"main.parseAll", "alloc_space", []int{3}},
		{"main.(*T).f", "cpu", []int{2, 3}},
		{"a/b.main.parse", "cpu", []int{3}},
		{"operator new(unsigned long)", "cpu", []int{3, 5}},
		{"main.slow", "cpu", []int{3, 4}},
	} {
		var got []int
		for i := range b {
			if b[i].matches(tc.name, tc.sample) {
				got = append(got, i)
			}
		}
		if len(got) != len(tc.want) {
			t.Errorf("%s of %s: %v, want %v", tc.name, tc.sample, got, tc.want)
		}
	}
	if allowed, is := b.growth("main.slow", "cpu"); !is || allowed != 0.5 {
		t.Errorf("%v, %v: want the last line", allowed, is)
	}
	if allowed, is := b.growth("example.com/a.f", "cpu"); !is || allowed != 0.04 {
		t.Errorf("%v, %v: * is any text", allowed, is)
	}
	for _, text := range []string{"main.parse", "main.parse 3", "3%", "main.parse x%", "main.parse NaN%", "main.parse -1%", "main.parse 3% cpu more", strings.Repeat("x", maxLine+1) + " 3%", strings.Repeat("f 1%\n", maxBudgets+1)} {
		if _, err := ReadBudget(strings.NewReader(text)); !errors.Is(err, ErrBudget) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// TestBudget: a share beyond the limit is a regression without a change, and a growth within its limit is none.
func TestBudget(t *testing.T) {
	compare := func(text string) *Report {
		t.Helper()
		budget, err := ReadBudget(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		o := DefaultOptions()
		o.Budget = budget
		r, err := Compare([]Measured{sides(map[string]Cost{"m.f": leaf(100), "m.g": leaf(100)}, map[string]Cost{"m.f": leaf(100), "m.g": leaf(110)})}, o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, tc := range []struct {
		budget    string
		regressed bool
		beyond    int
	}{
		{"m.f 50%", false, 0}, {"m.f 40%", true, 1}, {"m.* 40%", true, 2}, {"m.f 40% cpu", false, 0},
	} {
		r := compare("* +20%\n" + tc.budget)
		r.Types[0].Total.Verdict = Same // the growth of the total is not in the budget
		if r.conclude(); r.IsRegressed != tc.regressed || len(r.Budgets[1].Functions) != tc.beyond {
			t.Errorf("%s: %v, %+v", tc.budget, r.IsRegressed, r.Budgets)
		}
	}
	if r := compare("m.g +5%"); !r.Types[0].IsWorse() {
		t.Error("a growth beyond its budget is no regression")
	}
}

func FuzzReadBudget(f *testing.F) {
	f.Add("main.parse* 3% cpu\n# none\nf +1%")
	f.Add("a[b 3%\n\\ 1% \x00")
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ReadBudget(strings.NewReader(text))
		if err != nil {
			return
		}
		for i := range b {
			b[i].matches("main.parse", "cpu")
			if !strings.ContainsAny(b[i].pattern, `*?`) && !b[i].matches(b[i].pattern, b[i].sample) {
				t.Errorf("%q does not match itself", b[i].pattern)
			}
		}
	})
}
