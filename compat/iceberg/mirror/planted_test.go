//go:build planted

package mirror

import (
	"testing"

	"github.com/granarydb/granary/internal/planted"
)

// TestPlantedBugs runs the simulation of each bug, on at most 200 seeds.
func TestPlantedBugs(t *testing.T) {
	planted.Run(t, planted.Suite{
		Drawn: []string{"TestSimulation"},
		Args:  []string{"-sim.seed", "1", "-sim.seeds", "200"},
		Again: func(seed string) []string { return []string{"-sim.seed", seed, "-sim.seeds", "1"} },
	})
}
