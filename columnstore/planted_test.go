//go:build planted

package columnstore_test

import (
	"testing"

	"github.com/granarydb/granary/internal/planted"
)

// TestPlantedBugs runs each bug's test: the simulator on at most 10,000 histories, TestQueries on
// at most 40,000 pairs, or another test.
func TestPlantedBugs(t *testing.T) {
	planted.Run(t, planted.Suite{
		Drawn: []string{"TestSimulation", "TestCrashes", "TestMetamorphic", "TestQueries"},
		Args:  []string{"-sim.seed", "1", "-sim.seeds", "10000", "-sim.crashes", "2000", "-queries.pairs", "40000"},
		Again: func(seed string) []string {
			return []string{
				"-sim.seed", seed, "-sim.seeds", "1", "-sim.crashes", "1", "-meta.seed", seed, "-meta.lists", "1",
				"-queries.seed", seed, "-queries.pairs", "1",
			}
		},
	})
}
