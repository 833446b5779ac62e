//go:build planted

package iceberg

import (
	"testing"

	"github.com/granarydb/granary/internal/planted"
)

// TestPlantedBugs runs each bug's test: random faults on at most 20 seeds, or another one.
func TestPlantedBugs(t *testing.T) {
	planted.Run(t, planted.Suite{
		Drawn: []string{"TestCommit_Faults"},
		Args:  []string{"-faults.seed", "1", "-faults.seeds", "20"},
		Again: func(seed string) []string { return []string{"-faults.seed", seed, "-faults.seeds", "1"} },
	})
}
