//go:build planted

package disk_test

import (
	"testing"

	"github.com/granarydb/granary/internal/planted"
)

// TestPlantedBugs runs each bug's test: the simulator on at most 10,000 histories, or another one.
func TestPlantedBugs(t *testing.T) {
	planted.Run(t, planted.Suite{
		Drawn: []string{"TestSimulation"},
		Args:  []string{"-sim.seed", "1", "-sim.seeds", "10000", "-clock.every", "13"},
		Again: func(seed string) []string { return []string{"-sim.seed", seed, "-sim.seeds", "1"} },
	})
}
