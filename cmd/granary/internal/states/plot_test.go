package states

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/render"
	"github.com/granarydb/granary/trace"
	"github.com/granarydb/granary/trace/golang"
)

// plot calls the program. Notes on standard error are not errors here.
func plot(t testing.TB, args ...string) (picture, notes string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(context.Background(), append([]string{"history", "plot"}, args...), &stdout, &stderr); code != cli.ExitOK {
		t.Fatalf("%q: exit code %d: %s", args, code, stderr.String())
	}
	return stdout.String(), stderr.String()
}

// The flags of plot become the options of the picture.
func TestPlot(t *testing.T) {
	inSet(t)
	l, err := trace.Load(t.Context(), "run", trace.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cpus, err := match(t.Context(), l.Names, []string{"CPUs/*"})
	if err != nil || len(cpus) != 3 {
		t.Fatal(cpus, err)
	}
	valued, err := match(t.Context(), l.Names, []string{"CPUs/0", "CPUs/0/*", "CPUs/9", "CPUs/10", "Threads/*/*", `odd\/name \*`})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args       []string
		attributes []history.Attribute
		from, to   int64
		opts       render.TimeOptions
	}{
		"all":    {nil, valued, l.Start(), l.End(), render.TimeOptions{Title: "run"}},
		"match":  {[]string{"--match", "CPUs/*"}, cpus, l.Start(), l.End(), render.TimeOptions{Title: "run: CPUs/*"}},
		"period": {[]string{"--match", "CPUs/*", "--from", "+1s", "--to", "+20s"}, cpus, l.Start() + 1e9, l.End(), render.TimeOptions{Title: "run: CPUs/*"}},
		"look": {
			[]string{"--match", "CPUs/*", "--title", "<CPUs>", "--width", "700", "--numbers", "bars", "--rows", "0"},
			cpus, l.Start(), l.End(),
			render.TimeOptions{Title: "<CPUs>", Width: 700, Numbers: render.NumbersAsBars},
		},
		"names": {
			[]string{"--match", "CPUs/*", "--name", "0=idle", "--name", "2=busy"},
			cpus, l.Start(), l.End(),
			render.TimeOptions{Title: "run: CPUs/*", Name: func(_ history.Attribute, v history.Value) string {
				return map[int64]string{0: "idle", 2: "busy"}[v.Int()]
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, notes := plot(t, append(tc.args, "-o", "-", "run")...)
			var want bytes.Buffer
			if err := render.TimeGraph(&want, l.View, tc.attributes, tc.from, tc.to, tc.opts); err != nil {
				t.Fatal(err)
			}
			if got != want.String() || notes != "" {
				t.Errorf("%d bytes, want %d; notes %q", len(got), want.Len(), notes)
			}
			if err := xml.Unmarshal([]byte(got), new(struct{})); err != nil {
				t.Errorf("not well-formed: %v", err)
			}
		})
	}
}

// TestPlotFold: with --fold no attribute is left out.
func TestPlotFold(t *testing.T) {
	inSet(t)
	for _, name := range []string{"a.svg", "a.html"} {
		_, notes := plot(t, "--fold", "--rows", "2", "-o", name, "run")
		file, err := os.ReadFile(name)
		if err != nil || notes != "granary: wrote "+name+"\n" || !strings.Contains(string(file), "7 attributes in 2 rows") {
			t.Errorf("%s: %v, notes %q", name, err, notes)
		}
	}
}

// TestPlotPage: a name that ends in .html makes a page, of a history file too.
func TestPlotPage(t *testing.T) {
	inSet(t)
	done(t, "import", "-o", "run.history", "run")
	l, err := trace.Load(t.Context(), "run", trace.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cpus, err := match(t.Context(), l.Names, []string{"CPUs/*"})
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := render.TimePage(&want, l.View, cpus, l.Start()+1e9, l.End(), render.TimeOptions{Title: "run: CPUs/*", Numbers: render.NumbersAsColors}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run", "run.history"} {
		plot(t, "-o", "a.HTML", "--match", "CPUs/*", "--from", "+1s", "--numbers", "colors", name)
		if got, err := os.ReadFile("a.HTML"); err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s: %d bytes, want %d: %v", name, len(got), want.Len(), err)
		}
	}
	if r := granary(t, "history", "plot", "-o", "a.html", "--width", "700", "run"); r.code != cli.ExitUsage || !strings.Contains(r.stderr, "--width is for SVG") {
		t.Errorf("%+v", r)
	}
}

// The picture and a note on standard error count the omitted rows.
func TestPlotRows(t *testing.T) {
	inSet(t)
	got, notes := plot(t, "--rows", "2", "-o", "run.svg", "run")
	file, err := os.ReadFile("run.svg")
	if err != nil || got != "" {
		t.Fatal(err, got)
	}
	if notes != "granary: wrote run.svg\ngranary: left out the 5 of 7 attributes that change least (--rows, --match)\n" {
		t.Errorf("notes %q", notes)
	}
	for _, want := range []string{"2 of 7 attributes, with the most changes here", "5 attributes left out"} {
		if !strings.Contains(string(file), want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
	if rows := strings.Count(string(file), `<g class="row"`); rows != 2 {
		t.Errorf("%d rows", rows)
	}
}

// A history without a value cannot be plotted.
func TestPlotOfNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("null.csv", []byte("time,attribute,value\n1,a,\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := granary(t, "history", "plot", "-o", "x.svg", "null.csv")
	if _, err := os.Stat("x.svg"); r.code != cli.ExitFailed || !strings.Contains(r.stderr, "no attribute with a value") || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestPlot_Waits draws the goroutines that wait longest first, each followed by what is below it, and the goroutines that --find finds.
func TestPlot_Waits(t *testing.T) {
	const file = "../../../../trace/golang/testdata/small.trace"
	labels := func(picture string) (names []string) {
		for _, name := range regexp.MustCompile(`Goroutines/[0-9]+`).FindAllString(picture, -1) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return names
	}
	l, err := trace.Build(func(to trace.Target) error {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = golang.Import(t.Context(), f, to)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	picture, _ := plot(t, "-o", "-", "--sort", "waits", "--match", "Goroutines/*", file)
	names, last := labels(picture), uint64(math.MaxUint64)
	if len(names) < 10 {
		t.Fatalf("rows %q", names)
	}
	for _, name := range names {
		a, err := l.Lookup(strings.Split(name, "/")...)
		if err != nil {
			t.Fatal(err)
		}
		wait := uint64(0)
		for in, err := range l.Range(a, l.Start(), l.End(), history.RangeOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(in.Value.Text(), "waiting") {
				wait = max(wait, length(in))
			}
		}
		if wait > last {
			t.Errorf("%s waits %d ns, after %d", name, wait, last)
		}
		last = wait
	}
	picture, notes := plot(t, "-o", "-", "--sort", "waits", "--rows", "2", "--match", "Goroutines/*", file)
	if got := labels(picture); len(got) != 2 || got[0] != names[0] || !strings.Contains(notes, "that wait least") {
		t.Errorf("%q of %q: %s", got, names, notes)
	}
	picture, _ = plot(t, "-o", "-", "--match", "Goroutines/*", "--find", "RUNTIME.BG", file)
	if got := labels(picture); len(got) < 2 || len(got) >= len(names) {
		t.Errorf("found %q of %q", got, names)
	}
}
