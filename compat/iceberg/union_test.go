package iceberg

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server"
)

var unionQueries = flag.Int("union.queries", 60, "the number of questions of TestUnion and TestUnion_Engines")

// live is a node whose store is closed and opened again behind one address.
type live struct {
	dir string
	l   *Lake

	mu    sync.RWMutex // held for writing while there is no store
	store *columnstore.Store
	db    *profile.DB
	web   *server.Server
}

func (n *live) open() (err error) {
	if n.store, n.db, err = openNode(n.dir); err == nil {
		n.web, err = server.New(n.store, server.Options{Profiles: profile.Options{Bucket: time.Minute}})
	}
	return err
}

func (n *live) restart() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = n.web.Wait(context.Background())
	if err := n.store.Close(); err != nil {
		return err
	}
	return n.open()
}

func (n *live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	n.web.ServeHTTP(w, r)
}

// unionMinute is how many rows are of a minute, about.
const unionMinute = 50

// union returns the values of all rows, as Load takes them.
func union(l *Lake) (values []int64, err error) {
	store, err := columnstore.Open(columnstore.Options{FutureLimit: -1, PastLimit: -1})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		return nil, err
	}
	defer http.DefaultClient.CloseIdleConnections()
	if _, err := l.Load(context.Background(), db, LoadOptions{From: start - day, To: start + 365*day}); err != nil {
		return nil, err
	}
	return hotValues(db, 0)
}

// Invariant L2: while a node takes rows, some of them late, seals, commits, drops and starts again, the rows of one state of the
// table and the node's rows behind its seal are all rows, each once. The only other answer is 410.
func TestUnion(t *testing.T) {
	pause := 50 * time.Millisecond
	if *s3Endpoint != "" {
		pause = 500 * time.Millisecond // a file takes a question longer there
	}
	checkUnionUnderLoad(t, union, pause)
}

// checkUnionUnderLoad asks for the values of all rows while a node works, and compares each answer with what it had. A
// seal comes a pause after the one before: each unit is a file more that a question reads, and a question is to end
// before its state of the table is removed.
func checkUnionUnderLoad(t *testing.T, ask func(l *Lake) (values []int64, err error), pause time.Duration) {
	l := openLake(t, "job")
	n := &live{dir: filepath.Join(t.TempDir(), "db"), l: l}
	if err := n.open(); err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(n)
	defer front.Close()
	defer http.DefaultClient.CloseIdleConnections()
	if err := l.Register(t.Context(), "n", front.URL); err != nil {
		t.Fatal(err)
	}
	var rows atomic.Int64 // that are committed, at least
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	fail := func(what string, err error) {
		if err != nil && ctx.Err() == nil {
			t.Errorf("%s: %v", what, err)
			stop()
		}
	}
	work.Go(func() { // the writer
		rng := rand.New(rand.NewPCG(1, 7))
		for value := int64(1); ctx.Err() == nil; value++ {
			n.mu.RLock()
			err := insertValue(n.db, max(0, value/unionMinute-rng.Int64N(4)), value)
			n.mu.RUnlock()
			fail("insert", err)
			rows.Store(value)
			time.Sleep(time.Duration(rng.IntN(10)) * time.Millisecond)
		}
	})
	var restarts, units atomic.Int64
	work.Go(func() { // the sealer
		for ctx.Err() == nil {
			n.mu.RLock()
			s := &Sealer{Lake: l, Node: "n", Store: n.store, Table: n.db.Table(), Grace: 200 * time.Millisecond}
			n.mu.RUnlock()
			for range 5 {
				did, err := s.Seal(ctx, time.Unix(0, start).Add(time.Duration(rows.Load()/unionMinute)*time.Minute))
				fail("seal", err)
				units.Add(int64(did.Units))
				time.Sleep(pause)
			}
			fail("expire", func() error { _, err := l.Expire(ctx, ExpireOptions{Keep: 20}); return err }())
			fail("restart", n.restart())
			restarts.Add(1)
		}
	})
	asked, gone := 0, 0
	for end := time.Now().Add(30 * time.Second); ctx.Err() == nil; {
		if enough := units.Load() > 9 && restarts.Load() > 1; asked >= *unionQueries && (enough || time.Now().After(end)) {
			break
		}
		before := rows.Load()
		got, err := ask(l)
		after := rows.Load() + 1 // one can be committed, and not counted
		if errors.Is(err, ErrGone) && gone < 1000 {
			gone++
			continue
		}
		if asked++; err != nil {
			t.Error(err)
			break
		}
		slices.Sort(got)
		for i, v := range got {
			if v != int64(i)+1 {
				t.Fatalf("question %d: row %d has the value %d", asked, i+1, v)
			}
		}
		if k := int64(len(got)); k < before || k > after {
			t.Fatalf("question %d: %d rows, and there were %d to %d", asked, k, before, after)
		}
	}
	stop()
	work.Wait()
	t.Logf("%d questions, %d times 410, %d rows, %d units, %d restarts", asked, gone, rows.Load(), units.Load(), restarts.Load())
	if units.Load() < 10 || restarts.Load() < 2 {
		t.Error("too little happened")
	}
	_ = n.web.Wait(context.Background())
	if err := n.store.Close(); err != nil {
		t.Error(err)
	}
}
