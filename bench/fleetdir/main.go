// Command fleetdir makes the directory of a store that has the CPU profiles of a fleet, as a server keeps them:
//
//	go run ./fleetdir -dir DIR -rows 100000000
//
// The rows are those of package fleet, inserted by their codes, with the records of locations that package profile makes. The
// first scrape is a day ago. Progress goes to standard error. A directory that has a store is an error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/disk"
	"github.com/granarydb/granary/profile"
)

func main() {
	dir := flag.String("dir", "", "directory to make")
	rows := flag.Int64("rows", 1_000_000, "rows to insert, at least")
	flag.Parse()
	if err := run(context.Background(), *dir, *rows); err != nil {
		fmt.Fprintln(os.Stderr, "fleetdir:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string, rows int64) (err error) {
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
	if err := insert(ctx, store, db, rows); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "fleetdir: compact")
	return store.Compact(ctx)
}

// perTx is the number of profiles of a transaction.
const perTx = 40

// insert inserts profiles until they have so many rows.
func insert(ctx context.Context, store *columnstore.Store, db *profile.DB, rows int64) error {
	m := maker{fleet: fleet.New(fleet.Seed), named: fleet.NewVariant(fleet.Seed, fleet.Variant{Symbols: true}), table: db.Table(), from: fleet.RecentStart()}
	begun, said := time.Now(), time.Now()
	var done int64
	for n := 0; done < rows; {
		tx := store.Begin()
		for range perTx {
			codes, b, err := m.batch(n)
			if err == nil {
				err = tx.InsertCodes(ctx, codes, b)
			}
			if err != nil {
				tx.Abort()
				return err
			}
			n, done = n+1, done+int64(b.Rows)
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
