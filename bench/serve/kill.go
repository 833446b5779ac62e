package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/granarydb/granary/bench/programs"
	"github.com/granarydb/granary/bench/results"
)

// killed is the report on kills.
type killed struct {
	Kills   int     `json:"kills"`
	Rows    int64   `json:"rows_acknowledged"`
	Extra   int64   `json:"rows_not_acknowledged_but_there"`
	ReadyMs float64 `json:"most_ms_until_ready"`
}

// kill kills a server under load, each time after between half and one and a half times the duration, and
// opens it again. The server must then have every acknowledged row, and otherwise only rows of pushes that
// were in progress.
func (o *options) kill(ctx context.Context, command, dir string, f *files) error {
	var r killed
	var all pushed
	var unknown int // pushes in progress at a kill
	db := filepath.Join(dir, "db")
	for range o.kills {
		p, err := o.reopen(ctx, command, db, &all, &r, unknown)
		if err != nil {
			return err
		}
		sent, err := o.loadAndKill(ctx, p, f)
		if err != nil {
			return err
		}
		all.add(sent)
		unknown += o.writers
		r.Kills++
		fmt.Fprintf(os.Stderr, "serve: kill %d of %d: %d rows acknowledged, ready in %s\n", r.Kills, o.kills, all.rows, p.Ready)
	}
	p, err := o.reopen(ctx, command, db, &all, &r, unknown)
	if err != nil {
		return err
	}
	if err := p.End(); err != nil {
		return err
	}
	return results.Print(r)
}

// reopen starts a server that syncs each push, and compares its rows with the acknowledged rows.
func (o *options) reopen(ctx context.Context, command, db string, all *pushed, r *killed, unknown int) (*programs.Server, error) {
	p, err := o.begin(ctx, command, db, "each")
	if err != nil {
		return nil, err
	}
	r.ReadyMs = max(r.ReadyMs, float64(p.Ready.Milliseconds()))
	return p, account(p, all, r, unknown)
}

// account compares a server's rows with the acknowledged rows.
func account(p *programs.Server, all *pushed, r *killed, unknown int) error {
	m, err := p.Metrics()
	if err != nil {
		return err
	}
	rows := int64(m["granary_store_rows"])
	const mostRows = 2144 // greatest number of rows in a profile of the fleet
	if rows < all.rows || rows > all.rows+int64(unknown*mostRows) {
		return fmt.Errorf("%d rows after a restart: %d were acknowledged, and %d pushes were in progress", rows, all.rows, unknown)
	}
	for kind, want := range all.sums {
		if got, err := sum(p.URL, kind); err != nil || got < want {
			return fmt.Errorf("the sum of %s is %d, %d were acknowledged; %v", kind, got, want, err)
		}
	}
	r.Rows, r.Extra = all.rows, rows-all.rows
	return nil
}

// loadAndKill pushes and queries, and kills the server meanwhile.
func (o *options) loadAndKill(ctx context.Context, p *programs.Server, f *files) (sent *pushed, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wait sync.WaitGroup
	wait.Go(func() { sent = o.push(ctx, p.URL+"/pprof", f) })
	wait.Go(func() { o.ask(ctx, p.URL) })
	time.Sleep(o.duration/2 + time.Duration(rand.Int64N(int64(o.duration))))
	err = p.Kill()
	cancel()
	wait.Wait()
	return sent, err
}
