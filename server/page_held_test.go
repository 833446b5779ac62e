package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/page"
	"github.com/granarydb/granary/server/internal/source"
)

// TestPage_Commit asks several questions of one commit while others follow it.
func TestPage_Commit(t *testing.T) {
	now := madeAt
	a := newAsker(t, Options{Now: func() time.Time { return now }})
	insert := func(n int64) {
		a.insert(madeAt.Add(time.Duration(n)*time.Second), cpuType, map[string]string{profile.NameLabel: "process_cpu"}, made{stack: "f main", value: n})
	}
	insert(1)
	first := a.flame("t", "cpu")
	for i := range int64(source.HeldSnapshots - 1) {
		insert(i + 2)
		if got := a.flame("t", "cpu"); got.Commit <= first.Commit || got.Total[0] != (i+2)*(i+3)/2 {
			t.Errorf("a new commit %d has %v", got.Commit, got.Total)
		}
	}
	of := fmt.Sprint(first.Commit)
	if tree, top := a.flame("t", "cpu", "commit", of), a.top("t", "cpu", "commit", of); tree.Total[0] != 1 || top.Total[0] != 1 || tree.Commit != first.Commit || top.Commit != first.Commit {
		t.Errorf("commit %s has %v and %v", of, tree.Total, top.Total)
	}
	var dots page.ProfilesAnswer
	if a.page("profiles", &dots, "t", "cpu", "commit", of); dots.All != 1 || dots.Commit != first.Commit {
		t.Errorf("%+v", dots)
	}
	gone := func(when string) {
		t.Helper()
		for _, path := range []string{"flame", "top", "profiles"} {
			if status, text, _ := a.page(path, nil, "t", "cpu", "commit", of); status != http.StatusGone || !strings.Contains(text, "commit "+of+" is held no more: ask again without commit") {
				t.Errorf("%s, %s: status %d: %s", when, path, status, text)
			}
		}
	}
	insert(100)
	last := a.flame("t", "cpu")
	gone("after eight others")
	of = fmt.Sprint(last.Commit)
	now = now.Add(source.HeldTime - 1)
	if got := a.flame("t", "cpu", "commit", of); got.Total[0] != last.Total[0] {
		t.Errorf("%v, want %v", got.Total, last.Total)
	}
	now = now.Add(1)
	gone("after 30 s")
	of = "18446744073709551615"
	gone("before it was")
	if n, _ := a.store().Holds(); n != 0 {
		t.Errorf("%d snapshots are held", n)
	}
	a.flame("t", "cpu")
	_ = a.Wait(t.Context())
	if n, _ := a.store().Holds(); n != 0 {
		t.Errorf("%d snapshots are held after the end", n)
	}
}

// TestPage_Tags repeats questions whose answers the client has.
func TestPage_Tags(t *testing.T) {
	now := madeAt.Add(time.Hour)
	a := newAsker(t, Options{Now: func() time.Time { return now }})
	a.insertMade()
	for _, path := range []string{"flame", "top", "profiles"} {
		ask := func(tag string, parameters ...string) (int, string, string) {
			status, text, h := a.page(path, nil, append(parameters, "header If-None-Match", tag)...)
			return status, text, h.Get("ETag")
		}
		_, text, tag := ask("", "t", "cpu")
		if status, same, again := ask(`"x", `+tag, "t", "cpu"); status != http.StatusNotModified || same != "" || again != tag || text == "" {
			t.Errorf("%s again: status %d, %s", path, status, same)
		}
		if status, _, other := ask(tag, "t", "cpu", "from", "latest-1m"); status != http.StatusOK || other == tag {
			t.Errorf("another question has status %d, tag %s", status, other)
		}
		_, _, early := ask("", "t", "cpu", "from", "-1h")
		if status, _, again := ask(early, "t", "cpu", "from", "now-1h"); status != http.StatusNotModified || again != early {
			t.Errorf("the same time before now has status %d, tag %s", status, again)
		}
		now = now.Add(time.Second)
		if status, _, later := ask(early, "t", "cpu", "from", "-1h"); status != http.StatusOK || later == early {
			t.Errorf("a second later the status is %d, tag %s", status, later)
		}
		a.insert(madeAt, cpuType, map[string]string{profile.NameLabel: "process_cpu", "job": path}, made{stack: "f main", value: 1})
		if status, _, other := ask(tag, "t", cpuID); status != http.StatusOK || other == tag {
			t.Errorf("after a commit: status %d, tag %s", status, other)
		}
	}
	if _, _, h := a.page("profiles", nil, "header Accept-Encoding", "br, gzip"); h.Get("Content-Encoding") != "gzip" {
		t.Errorf("%v", h)
	}
	_, _, h := a.page("profiles", nil, "header Accept-Encoding", "gzip;q=0")
	for name, want := range map[string]string{"Content-Encoding": "", "Content-Type": "application/json", "X-Content-Type-Options": "nosniff", "Cache-Control": "private, no-cache"} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestPage_OneCommit asks panels of one page beside a writer: all are of the commit of the first, and agree.
func TestPage_OneCommit(t *testing.T) {
	a := newAsker(t, Options{})
	a.insertMade()
	ctx, cancel := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			time.Sleep(200 * time.Microsecond) // so that there are not too many profiles
			a.insert(madeAt.Add(time.Duration(i)*time.Millisecond), cpuType, map[string]string{profile.NameLabel: "process_cpu", "n": fmt.Sprint(i % 9)}, made{stack: "f main", value: 1})
		}
	})
	defer writer.Wait()
	defer cancel()
	first, last := a.flame("t", "cpu").Commit, uint64(0)
	for i := 0; i < 10 || last <= first && i < 1000; i++ {
		tree := a.flame("t", "cpu")
		last = tree.Commit
		of := fmt.Sprint(tree.Commit)
		var dots page.ProfilesAnswer
		if status, text, _ := a.page("profiles", &dots, "t", "cpu", "commit", of, "rows", "100000"); status != http.StatusOK {
			t.Fatalf("status %d: %s", status, text)
		}
		top, sum := a.top("t", "cpu", "commit", of), int64(0)
		for _, p := range dots.Profiles {
			sum += p.Total
		}
		if top.Total[0] != tree.Total[0] || sum != tree.Total[0] || dots.Commit != tree.Commit {
			t.Fatalf("commits %d, %d, %d have %d, %d, %d", tree.Commit, top.Commit, dots.Commit, tree.Total[0], top.Total[0], sum)
		}
	}
	if last <= first {
		t.Errorf("nothing was written from commit %d to %d", first, last)
	}
}

// TestPage_Store says what a store has, what it may have, and what it has no more.
func TestPage_Store(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{MemoryBudget: 4 << 20, DiskBudget: 0})
	a := &asker{Server: r.s, db: r.s.db(), t: t, url: r.url}
	ask := func() (out page.StoreAnswer) {
		if status, text, _ := a.page("store", &out); status != http.StatusOK {
			t.Fatalf("status %d: %s", status, text)
		}
		return out
	}
	var before page.StoreAnswer
	for i := 0; ; i++ {
		a.insert(madeAt.Add(time.Duration(i)*profile.DefaultBucket), cpuType, map[string]string{profile.NameLabel: "process_cpu", "n": fmt.Sprint(i)}, deep(i)...)
		out := ask()
		if want := madeAt.Add(time.Duration(i) * profile.DefaultBucket).Format(time.RFC3339Nano); out.Newest != want || out.Commit <= before.Commit || out.Memory.Budget != 4<<20 {
			t.Fatalf("%+v after profile %d", out, i)
		}
		if out.Gone.EvictedRows > 0 {
			if out.Floor == "" || out.Oldest < out.Floor || out.Rows+out.Gone.EvictedRows <= before.Rows || out.Memory.Bytes > out.Memory.Budget {
				t.Errorf("%+v", out)
			}
			break
		}
		if before = out; out.Floor != "" || i > 2000 {
			t.Fatalf("%+v after profile %d", out, i)
		}
	}
	if status, text, _ := a.page("store", nil, "commit", "1"); status != http.StatusBadRequest || !strings.Contains(text, "parameter") {
		t.Errorf("status %d: %s", status, text)
	}
}

// deep returns samples of 200 stacks that no other profile has.
func deep(i int) (all []made) {
	for k := range 200 {
		all = append(all, made{stack: fmt.Sprintf("leaf%d.%d f%d main", i, k, k%7), value: 1})
	}
	return all
}
