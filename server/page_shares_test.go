package server

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/server/internal/page"
)

// groupLeaves returns the values of a group by the name of the leaf.
func (c *flameColumns) groupLeaves(group int) map[string]int64 {
	out := map[string]int64{}
	for i, v := range c.Groups[group] {
		if v != 0 {
			out[c.Names[c.Function[i]]] += v
		}
	}
	return out
}

// TestPage_Shares compares the groups of trees with samples one by one: of all samples, of those of a state, and of
// those of an attribute.
func TestPage_Shares(t *testing.T) {
	for seed := range uint64(4) {
		m := newMadeStates(t, 60+seed, Options{})
		all := func(madeSample) bool { return true }
		ofThread := func(s madeSample) bool { return s.where != "none" && s.thread == "3" }
		m.compareSharesOf(all, all)
		for _, v := range statesWritten {
			m.compareSharesOf(all, func(s madeSample) bool {
				status, state := m.group(s)
				return status == "known" && state == page.StateName(v)
			}, "state", page.StateName(v))
		}
		m.compareSharesOf(all, func(s madeSample) bool { status, _ := m.group(s); return status == "no label" }, "status", "no label")
		m.compareSharesOf(ofThread, ofThread, "attribute", "Threads/3")
		m.compareSharesOf(ofThread, func(s madeSample) bool {
			_, state := m.group(s)
			return ofThread(s) && state == "running"
		}, "attribute", "Threads/3", "state", "running")
	}
}

// compareSharesOf compares an answer for chosen samples with the shares of all of them.
func (m *madeStates) compareSharesOf(all, chosen func(madeSample) bool, choice ...string) {
	m.t.Helper()
	got := m.flame(append(choice, "t", "cpu", "h", "threads", "p", "Threads/{tid}", "shares", "1", "sum", "1")...)
	leaves := m.sums(chosen)
	if !maps.Equal(got.Tree.leaves(), leaves) || len(got.Shares) != len(got.Tree.Groups) || len(got.Shares) > page.MostShares {
		m.t.Fatalf("%q: %v, want %v; %d shares of %d groups", choice, got.Tree.leaves(), leaves, len(got.Shares), len(got.Tree.Groups))
	}
	sum := int64(0)
	for i, g := range got.Shares {
		want, inTree := m.sums(func(s madeSample) bool {
			status, state := m.group(s)
			return all(s) && status == g.Status && (status != "known" || state == g.State)
		}), map[string]int64{}
		for leaf, v := range want {
			if leaves[leaf] == 0 {
				leaf = got.Tree.Names[0] // a stack that no chosen sample has counts for the root
			}
			inTree[leaf] += v
		}
		if sum += g.Total; g.Total != total(want) || !maps.Equal(got.Tree.groupLeaves(i), inTree) || g.Others != 0 {
			m.t.Errorf("%q, %+v: %v, want %v", choice, g, got.Tree.groupLeaves(i), inTree)
		}
	}
	if sum != total(m.sums(all)) {
		m.t.Errorf("%q: the groups have %d in all, want %d", choice, sum, total(m.sums(all)))
	}
}

// TestPage_SharesOfMany has more states than groups: the smallest are in the last one. A difference has no shares.
func TestPage_SharesOfMany(t *testing.T) {
	m := newMadeStates(t, 70, Options{})
	tx := m.db.Store().Begin()
	w, err := tx.History(m.handle)
	if err != nil {
		t.Fatal(err)
	}
	a, err := w.Attribute("Threads", "3")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		v := history.String(strings.Repeat("s", i+1))
		if err := w.Change(m.end, a, v); err != nil {
			t.Fatal(err)
		}
		m.changes["Threads/3"] = append(m.changes["Threads/3"], madeChange{m.end, v})
		m.end++
		m.insertSample(madeSample{m.end - 1, "3", "sample", "many", int64(1000 * (i + 1))})
	}
	if _, err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	question := []string{"t", "cpu", "h", "threads", "p", "Threads/{tid}", "shares", "1", "attribute", "Threads/3", "from", instant(m.end - 12), "to", instant(m.end)}
	got := m.flame(question...)
	last := got.Shares[page.MostShares-1]
	if len(got.Shares) != page.MostShares || last.Status != "others" || last.Others != 5 || last.Total != 15_000 || got.Tree.groupLeaves(page.MostShares - 1)["many"] != 15_000 {
		t.Errorf("%+v", got.Shares)
	}
	if first := got.Shares[0]; first.State != strings.Repeat("s", 12) || first.Kind != "string" || first.Total != 12_000 {
		t.Errorf("the first is %+v", first)
	}
	if status, text, _ := m.page("flame", nil, append(question, "bfrom", "latest-1h")...); status != http.StatusBadRequest || !strings.Contains(text, "a difference has none") {
		t.Errorf("of a difference: status %d, %s", status, text)
	}
	for _, of := range []string{"inv", "function"} {
		tree := m.flame(append(question, of, map[string]string{"inv": "1", "function": "many"}[of])...)
		for _, c := range []*flameColumns{tree.Tree, tree.Callers, tree.Callees} {
			if c != nil && len(c.Groups) != page.MostShares {
				t.Errorf("%s: %d groups", of, len(c.Groups))
			}
		}
	}
}
