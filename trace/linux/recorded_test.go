package linux

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/beside"
	"github.com/granarydb/granary/internal/events"
	"github.com/granarydb/granary/internal/ihs"
	"github.com/granarydb/granary/internal/recorded"
	"github.com/granarydb/granary/trace"
)

// TestRecorded makes the intervals of the recorded sets of the events that they were made of.
func TestRecorded(t *testing.T) {
	for _, name := range []string{"flipping-endianness", "bug446190", "many-threads"} {
		t.Run(name, func(t *testing.T) { testRecorded(t, name) })
	}
}

func testRecorded(t *testing.T, name string) {
	set := recorded.Open(t, name)
	text := printed(t, name)
	r, err := trace.Build(func(to trace.Target) error {
		_, err := Options{Numbers: true}.Import(context.Background(), bytes.NewReader(text), to)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]ihs.Interval{}
	for i := range set.Len() {
		iv := set.At(i)
		p := strings.Join(set.Path(int(iv.Key)), "|")
		want[p] = append(want[p], iv)
	}
	got := map[string][]history.Interval{}
	for a := range history.Attribute(r.Len()) {
		p := pathOf(t, r.View, a)
		iv, err := r.At(a, r.Start())
		for more := true; more && err == nil; iv, more, err = r.Next(a, iv.End) {
			got[p] = append(got[p], iv)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for k := range set.Len() {
		if k >= r.Len() {
			break
		}
		if g, w := pathOf(t, r.View, history.Attribute(k)), strings.Join(set.Path(k), "|"); g != w {
			t.Errorf("attribute %d is %s, want %s", k, g, w)
			break
		}
	}
	shown := 0
	show := func(format string, args ...any) {
		if shown++; shown < 40 {
			t.Errorf(format, args...)
		}
	}
	n := 0
	for p, w := range want {
		g := got[p]
		if g == nil {
			show("no attribute %s", p)
			continue
		}
		n += len(g)
		off := set.Header.Start - r.Start()
		for i := range max(len(w), len(g)) {
			if i >= len(w) || i >= len(g) || w[i].Start-off != g[i].Start || w[i].End-off != g[i].End || !events.ValueOf(w[i]).Equal(g[i].Value) {
				show("%s %d: want %v, got %v", p, i, fmt.Sprint(w[min(i, len(w)-1)]), g[min(i, len(g)-1)])
				break
			}
		}
	}
	for p := range got {
		if want[p] == nil {
			show("more: %s", p)
		}
	}
	t.Logf("%d attributes, %d intervals, wanted %d %d; %d differences", r.Len(), n, len(want), set.Len(), shown)
}

// printed returns the events of a recorded trace as babeltrace2 prints them.
func printed(t testing.TB, name string) []byte {
	packed := beside.Data(t, "ctf/"+name+".tar.gz")
	if _, err := exec.LookPath("babeltrace2"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	if out, err := exec.Command("tar", "-xzf", packed, "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command("babeltrace2", filepath.Join(dir, name))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func pathOf(t testing.TB, v *history.View, a history.Attribute) string {
	var names []string
	for a != history.Top {
		name, err := v.Name(a)
		if err != nil {
			t.Fatal(err)
		}
		names = append([]string{name}, names...)
		if a, err = v.Parent(a); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(names, "|")
}
