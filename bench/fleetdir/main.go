// Command fleetdir makes the directory of a store with a fleet's CPU profiles, as a server keeps them:
//
//	go run ./fleetdir -dir DIR -rows 100000000
//	go run ./fleetdir -dir DIR -rows 4000000 -profile ../../shared/data/pprof/alloc_objects.pb.gz
//
// The rows come from package fleet, inserted by their codes, with location records as package profile makes
// them. The first scrape is a day ago. With -profile the rows repeat one profile, for 40 pods every ten
// seconds. Progress goes to standard error. A directory that already has a store is an error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/profile"
)

func main() {
	dir := flag.String("dir", "", "directory to make")
	rows := flag.Int64("rows", 1_000_000, "rows to insert, at least")
	of := flag.String("profile", "", "file of a profile that all pods have; without it a fleet's are made")
	flag.Parse()
	if err := run(context.Background(), *dir, *rows, *of); err != nil {
		fmt.Fprintln(os.Stderr, "fleetdir:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string, rows int64, of string) (err error) {
	if dir == "" || rows < 1 {
		return errors.New("want -dir, and at least one row")
	}
	if _, isStore, err := disk.Identify(disk.System(dir)); isStore {
		return errors.Join(fmt.Errorf("%s has a store", dir), err)
	}
	store, err := columnstore.Open(columnstore.Options{Dir: dir, MemoryBudget: 2 << 30, Sync: disk.SyncNever})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		return err
	}
	next, err := batches(ctx, db, of)
	if err != nil {
		return err
	}
	if err := insert(store, rows, next); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "fleetdir: compact")
	return store.Compact(ctx)
}

// perTx is the number of profiles in a transaction.
const perTx = 40

// batches returns a function that inserts the n-th profile, and returns its rows.
func batches(ctx context.Context, db *profile.DB, of string) (func(tx *columnstore.Tx, n int) (int, error), error) {
	from := fleet.RecentStart()
	if of == "" {
		m := maker{fleet: fleet.New(fleet.Seed), named: fleet.NewVariant(fleet.Seed, fleet.Variant{Symbols: true}), table: db.Table(), from: from}
		return func(tx *columnstore.Tx, n int) (int, error) {
			codes, b, err := m.batch(n)
			if err != nil {
				return 0, err
			}
			return b.Rows, tx.InsertCodes(ctx, codes, b)
		}, nil
	}
	data, err := os.ReadFile(of)
	if err != nil {
		return nil, err
	}
	p, err := pprof.ParseData(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", of, err)
	}
	return func(tx *columnstore.Tx, n int) (int, error) {
		p.TimeNanos = from.Add(time.Duration(n/perTx) * 10 * time.Second).UnixNano()
		return db.InsertTx(ctx, tx, p, profile.InsertOptions{Labels: map[string]string{"pod": fmt.Sprint("pod-", n%perTx)}})
	}, nil
}

// insert inserts profiles until they have `rows` rows.
func insert(store *columnstore.Store, rows int64, next func(tx *columnstore.Tx, n int) (int, error)) error {
	begun, said := time.Now(), time.Now()
	var done int64
	for n := 0; done < rows; {
		tx := store.Begin()
		for range perTx {
			some, err := next(tx, n)
			if err != nil {
				tx.Abort()
				return err
			}
			n, done = n+1, done+int64(some)
		}
		if _, err := tx.Commit(); err != nil {
			return err
		}
		if time.Since(said) > 5*time.Second {
			said = time.Now()
			fmt.Fprintf(os.Stderr, "fleetdir: %.1f M rows of %.1f in %.0f s\n", float64(done)/1e6, float64(rows)/1e6, time.Since(begun).Seconds())
		}
	}
	return nil
}
