package columnstore

import (
	"flag"
	"testing"

	"github.com/granarydb/granary/internal/effort"
)

var scarceSeeds = flag.Uint64("sim.scarce", 1, "of how many histories of each kind each reservation of memory fails")

// TestSimulation_EveryReservationFails runs histories again and again, with and without crashes. Each time another
// reservation of memory is refused: the n-th and, because a shortage lasts, in a second run all from the n-th to the
// (n+4)-th. What a refused call was to do has not happened, and everything else goes on (C9).
func TestSimulation_EveryReservationFails(t *testing.T) {
	effort.Slow(t)
	failReservations(t, 1)
}

// TestSimulation_ReservationsFail does so for some of the reservations, in a second or two.
func TestSimulation_ReservationsFail(t *testing.T) {
	failReservations(t, 7)
}

// failReservations refuses each step-th reservation.
func failReservations(t *testing.T, step int) {
	t.Helper()
	if effort.Race {
		t.Skip("a simulator runs one goroutine at a time")
	}
	collectRarely(t)
	lowerDiskBudget(t)
	for name, begin := range map[string]func(uint64) *simRun{"memory": newHistory, "disk": newCrashing} {
		t.Run(name, func(t *testing.T) {
			refused := 0
			for seed := *simSeed; seed < *simSeed+*scarceSeeds; seed++ {
				all, _ := runScarce(t, begin, seed, 0, 0)
				for n := 1; n <= all; n += step {
					for _, last := range []int{n, n + 4} {
						_, events := runScarce(t, begin, seed, n, last)
						refused += events["refused for memory"]
					}
				}
				t.Logf("seed %d: %d reservations", seed, all)
			}
			if refused == 0 {
				t.Error("no call was refused")
			}
		})
	}
}

// runScarce runs a history whose reservations from the first to the last are refused, none if they are 0. It returns the
// number of reservations.
func runScarce(t *testing.T, begin func(uint64) *simRun, seed uint64, first, last int) (all int, events map[string]int) {
	t.Helper()
	h := begin(seed)
	h.opts.refuse = func() bool {
		all++
		return all >= first && all <= last
	}
	if err := h.run(); err != nil {
		t.Fatalf("seed %d, reservations %d to %d refused, options %s: %v", seed, first, last, h.options(), err)
	}
	return all, h.events
}
