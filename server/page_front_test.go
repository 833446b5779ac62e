package server

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/server/internal/page"
)

// asText returns a tree as text that is the same for any order of children.
func (c *flameColumns) asText(sides int) string {
	if c == nil {
		return ""
	}
	lines := map[string][2]int64{}
	var path []string
	for i, depth := range c.Depth {
		f := c.Function[i]
		path = append(path[:depth], fmt.Sprint(c.Names[f], " ", c.Texts[c.Files[f]], ":", c.Lines[f], " ", c.Texts[c.Binaries[f]]))
		var v [2]int64
		for side := range sides {
			v[side] = c.Self[side][i]
		}
		lines[strings.Join(path, "/")] = v
	}
	var text strings.Builder
	for _, p := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintln(&text, p, lines[p])
	}
	return fmt.Sprint(text.String(), c.Omitted)
}

// TestPage_Front compares the answers of a front to a page with those of one server that has all profiles.
func TestPage_Front(t *testing.T) {
	effort.Slow(t)
	effort.Alone(t)
	one, front := split(t, 3, 11)
	differ := 0
	for _, typ := range []string{"cpu", cpuID, "alloc_space", "inuse_space", frontTypes[4], "contentions", "none"} {
		for _, more := range [][]string{
			nil,
			{"q", `{job="api"}`},
			{"from", "latest-20s"},
			{"from", "latest-1h", "bfrom", "latest-1d", "bto", "latest-1h"},
			{"q", `{pod="1"}`, "bq", `{pod="2"}`},
			{"sum", "1"},
			{"inv", "1"},
			{"function", "main.f2"},
			{"hide", "f1$|a[.]go"},
			{"focus", "f3", "ignore", "libc"},
			{"show", "main"},
			{"s", "f4$"},
			{"granularity", "line", "inv", "1", "fold", "1"},
			{"granularity", "line"},
			{"granularity", "file", "s", "a"},
			{"granularity", "package"},
			{"granularity", "binary"},
			{"max_nodes", "40"},
			{"q", `{job="nobody"}`},
		} {
			parameters := append([]string{"t", typ}, more...)
			if typ == "cpu" || typ == "contentions" { // of several kinds
				parameters = append(parameters, "t", map[string]string{"cpu": "cpu:nanoseconds", "contentions": frontTypes[5]}[typ])
			}
			ask := func(at string) string {
				a := &asker{t: t, url: at}
				var tree flameAnswer
				if status, _, _ := a.page("flame", &tree, parameters...); status != http.StatusOK {
					return fmt.Sprint(status)
				}
				sides := len(tree.Total)
				text := fmt.Sprint(tree.Type, tree.Tree.asText(sides), tree.Callers.asText(sides), tree.Callees.asText(sides))
				if slices.Contains(more, "inv") || slices.Contains(more, "function") {
					return text
				}
				var top page.TopAnswer
				if status, _, _ := a.page("top", &top, append(parameters, "rows", "1000")...); status != http.StatusOK {
					return fmt.Sprint(status)
				}
				return fmt.Sprint(text, top.Type, top.All, top.Matching, top.Functions)
			}
			got, want := ask(front), ask(one)
			if got != want {
				t.Errorf("%q: %.1500s\nwant\n%.1500s", parameters, got, want)
			}
			if len(want) > 500 {
				differ++
			}
		}
	}
	if differ < 40 {
		t.Errorf("%d answers with something in them", differ)
	}
}

// TestPage_FrontCommand asks a front for a command, which names the front.
func TestPage_FrontCommand(t *testing.T) {
	_, front := split(t, 2, 3)
	var got page.CommandAnswer
	a := &asker{t: t, url: front}
	if status, text, _ := a.page("command", &got, "t", "cpu:nanoseconds", "q", `{job="api"}`); status != http.StatusOK {
		t.Fatalf("status %d: %s", status, text)
	}
	if want := "granary top '" + front + "/pprof?selector=%7Bjob%3D%22api%22%7D&type=cpu%3Ananoseconds'"; got.Command != want {
		t.Errorf("%q, want %q", got.Command, want)
	}
}

// TestPage_FrontRefuses asks what a front has no exact answer to.
func TestPage_FrontRefuses(t *testing.T) {
	_, front := newFront(t, Nodes{URLs: []string{"http://127.0.0.1:1"}}, Options{})
	a := &asker{t: t, url: front}
	for query, want := range map[string]struct {
		status int
		text   string
	}{
		"profiles?t=cpu":           {501, "a front does not answer /api/v1/profiles: ask one of its nodes, each for its own profiles: http://127.0.0.1:1"},
		"inspect?t=cpu":            {501, "a front does not answer /api/v1/inspect"},
		"store":                    {501, "a front does not answer /api/v1/store"},
		"flame":                    {501, "a front has no default type: choose one by the parameter t"},
		"flame?t=cpu&norm=1":       {501, "parameter norm: a front does not scale"},
		"flame?t=cpu&shares=1":     {501, "a front has no histories"},
		"flame?t=cpu&group=job":    {501, "a front has stacks without labels"},
		"top?t=cpu&commit=5":       {501, "a front has no commits"},
		"flame?t=cpu&from=x":       {400, "parameter from"},
		"flame?q=%7B":              {400, "parameter q"},
		"top?t=cpu":                {502, "node http://127.0.0.1:1"},
		"top?t=cpu&from=latest-1h": {502, "node http://127.0.0.1:1"},
	} {
		path, raw, _ := strings.Cut(query, "?")
		of, err := url.ParseQuery(raw)
		if err != nil {
			t.Fatal(err)
		}
		var parameters []string
		for name := range of {
			parameters = append(parameters, name, of.Get(name))
		}
		if status, text, _ := a.page(path, nil, parameters...); status != want.status || !strings.Contains(text, want.text) || status == 502 && strings.Contains(text, "parameter") {
			t.Errorf("%s: status %d: %s; want %d and %q", query, status, text, want.status, want.text)
		}
	}
}
