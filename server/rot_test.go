package server

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/web"
)

// rotting are the options of a store whose rows are read from files with each question.
func rotting(fs *crashfs.FS) columnstore.Options {
	return columnstore.Options{FS: fs, Manual: true, FutureLimit: -1, PastLimit: -1}
}

// rotten makes a directory of two tenants' profiles and states, all of it in files.
func rotten(t *testing.T) *crashfs.FS {
	t.Helper()
	fs := crashfs.New(crashfs.Options{})
	store, err := columnstore.Open(rotting(fs))
	if err != nil {
		t.Fatal(err)
	}
	fillTenants(t, receiverOf(t, store, rotOptions), "b", profile.Anonymous)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return fs
}

var fileName = regexp.MustCompile(`[a-z]+-[0-9]{12}`)

var rotOptions = Options{Now: func() time.Time { return tenantsAt.Add(time.Minute) }}

// rotAnswers asks each question of a server of its own, because one keeps what it has read. The directory rots before it is
// opened, or later. An answer is a status and a body.
func rotAnswers(t *testing.T, whole *crashfs.FS, before, later func(*crashfs.FS), asks map[string]tenantsAsk, names []string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range names {
		fs := whole.Crash() // all of it is durable
		before(fs)
		store, err := columnstore.Open(rotting(fs))
		if err != nil {
			out[name] = "not opened: " + err.Error()
			continue
		}
		later(fs)
		r := receiverOf(t, store, rotOptions)
		ask := asks[name]
		status, body := r.readAll(r.request(ask.method, ask.path, ask.body, append(slices.Clone(ask.headers), web.TenantHeader, "b")...))
		out[name] = fmt.Sprint(status, " ", string(unequal.ReplaceAll(bytes.ReplaceAll(body, []byte(r.url), nil), nil)))
		r.wait()
		if err := store.Close(); err != nil && !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: close: %v", name, err)
		}
	}
	return out
}

// TestRot changes bits of a server's files while it is down, and lets reads fail while it is up. Each answer of each route
// is the one of whole files, or an error of the server's that says so; it is never another answer.
func TestRot(t *testing.T) {
	effort.Slow(t)
	if effort.Race {
		t.Skip("it asks one question at a time")
	}
	whole := rotten(t)
	asks := questions(t)
	names := slices.Sorted(maps.Keys(asks))
	nothing := func(*crashfs.FS) {}
	want := rotAnswers(t, whole, nothing, nothing, asks, names)
	for _, name := range names {
		if !strings.HasPrefix(want[name], "200 ") {
			t.Fatalf("%s of whole files: %.200s", name, want[name])
		}
	}
	files, err := whole.List()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	errors, unread := 0, 0
	for i := range effort.Part(300, 15) {
		file := files[rng.IntN(len(files))]
		size := int64(len(whole.Get(file)))
		if size == 0 {
			continue
		}
		bit := rng.Int64N(8 * size)
		before, later := func(fs *crashfs.FS) {
			if int64(len(fs.Get(file))) == size { // opening has not removed it
				fs.Flip(file, bit)
			}
		}, nothing
		switch i % 3 {
		case 0:
			before, later = nothing, before
		case 1:
			after := rng.IntN(6)
			before, later = nothing, func(fs *crashfs.FS) {
				fs.Fail(&crashfs.Fault{Err: syscall.EIO, Ops: []crashfs.Op{crashfs.Open, crashfs.ReadAt}, After: after, Forever: true})
			}
		}
		some := []string{names[rng.IntN(len(names))], names[rng.IntN(len(names))], "GET /api/v1/flame", "GET /pprof", "SelectMergeStacktraces"}
		for name, got := range rotAnswers(t, whole, before, later, asks, some) {
			switch {
			case strings.HasPrefix(got, "not opened: "):
				unread++
			case got == want[name]:
			case strings.HasPrefix(got, "50"):
				errors++
				if !fileName.MatchString(got) {
					t.Errorf("%s names no file: %.300s", name, got)
				}
			default:
				t.Errorf("%s with a change at bit %d of %s (%d): %.500s\nwant %.500s", name, bit, file, i, got, want[name])
			}
		}
	}
	t.Logf("%d errors, %d directories that were not opened", errors, unread)
	if errors == 0 {
		t.Error("no change was found")
	}
}
