package index

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// many returns n bounds that begin with b.
func many(n int) []string {
	bounds := make([]string, n)
	for i := range bounds {
		bounds[i] = fmt.Sprintf("b%03d", i)
	}
	return bounds
}

// checkAmended checks that a version keeps no values beside its amendments.
func checkAmended[V comparable](t rapid.TB, v *Version[V]) {
	t.Helper()
	var none V
	for i := v.n; i < maxAmended; i++ {
		if v.amended[i] != nil || v.values[i] != none {
			t.Fatalf("amendment %d of %d is kept", i, v.n)
		}
	}
}

// An entry that is set after it was amended keeps its value when many others are amended.
func TestSetAfterAmend(t *testing.T) {
	bounds := many(maxAmended + 1)
	edit := versionOf(bounds...).Edit()
	edit.Amend(bounds[0], "amended")
	edit.Set(bounds[0], "set")
	for _, bound := range bounds[1:] {
		edit.Amend(bound, "amended")
	}
	edit.Amend(bounds[1], "amended again") // in its place
	edit.Amend(bounds[0], "amended after that")
	v := edit.Done()
	for i, bound := range bounds {
		want := "amended"
		switch i {
		case 0:
			want = "amended after that"
		case 1:
			want = "amended again"
		}
		if got, ok := v.Get(bound); !ok || got != want {
			t.Errorf("Get(%q) = %q, %t; want %q", bound, got, ok, want)
		}
	}
}

// An entry that replaces an amended one, or is deleted, is not amended when the tree takes the amendments.
func TestSettleAfterSetAndDelete(t *testing.T) {
	bounds := many(maxAmended + 3)
	edit := versionOf(bounds...).Edit()
	edit.Amend(bounds[0], "amended")
	edit.Amend(bounds[1], "amended")
	edit.Set(bounds[0], "set")
	edit.Delete(bounds[1])
	checkAmended(t, edit.next)
	for i, bound := range bounds[2:] {
		edit.Amend(bound, "amended")
		if want := (i + 1) % (maxAmended + 1); edit.next.n != want { // the last moves all into the tree
			t.Fatalf("%d amendments of %d are beside the tree; want %d", edit.next.n, i+1, want)
		}
	}
	checkAmended(t, edit.next)
	if got, _ := edit.Get(bounds[0]); got != "set" {
		t.Errorf("an entry that was set is %q", got)
	}
	if got, ok := edit.Get(bounds[1]); ok {
		t.Errorf("an entry that was deleted is %q", got)
	}
}

// Amend looks an entry up, unless the last call was its Get.
func TestAmendAfterGet(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(*Edit[string])
	}{
		{"nothing", func(*Edit[string]) {}},
		{"Get", func(e *Edit[string]) { e.Get("b") }},
		{"Get of another", func(e *Edit[string]) { e.Get("a") }},
		{"Get of none", func(e *Edit[string]) { e.Get("x") }},
		{"Get and Set", func(e *Edit[string]) { e.Get("b"); e.Set("b", "set") }},
		{"Get and Delete", func(e *Edit[string]) { e.Get("b"); e.Delete("b") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			edit := versionOf("a", "b", "c").Edit()
			tt.before(edit)
			edit.Amend("b", "amended")
			var got []string
			for _, value := range edit.Done().All() {
				got = append(got, value)
			}
			if want := []string{"<a>", "amended", "<c>"}; !slices.Equal(got, want) {
				t.Errorf("the values are %q; want %q", got, want)
			}
		})
	}
}

func TestBetween(t *testing.T) {
	edit := versionOf("b", "f", "p").Edit()
	for _, tt := range []struct {
		lo, hi string
		want   []string
	}{
		{"", "", []string{"b", "f", "p"}},
		{"b", "p", []string{"b", "f"}},
		{"c", "p\x00", []string{"f", "p"}}, // the bound of the entry that covers lo is below lo
		{"q", "", nil},
	} {
		var got []string
		for bound := range edit.Between(tt.lo, tt.hi) {
			got = append(got, bound)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("Between(%q, %q) = %q; want %q", tt.lo, tt.hi, got, tt.want)
		}
	}
	for bound := range edit.Between("", "") { // one that goes on after a break panics
		if bound != "b" {
			t.Errorf("Between begins with %q", bound)
		}
		break
	}
}
