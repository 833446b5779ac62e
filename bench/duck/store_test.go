//go:build cgo && duckdb_arrow

package main

import (
	"os"
	"testing"

	"github.com/granarydb/granary/bench/peers"
	"github.com/granarydb/granary/bench/replay"
)

// TestStores compares every answer with the oracle's.
func TestStores(t *testing.T) {
	for name, open := range stores {
		for _, workload := range []string{"queries", "pprof"} {
			t.Run(name+" "+workload, func(t *testing.T) {
				if _, err := os.Stat(replay.SharedData("pprof")); workload == "pprof" && err != nil {
					t.Skip(replay.SharedData("pprof"), "is not there")
				}
				dir := t.TempDir()
				if err := peers.Check(name, workload, 20_000, func() (peers.Store, error) { return open(dir) }); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
