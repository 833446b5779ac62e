//go:build planted

package summary_test

import (
	"testing"

	"github.com/granarydb/granary/internal/planted"
)

// TestPlantedBugs tries more histories than the tests do, since some bugs are rare.
func TestPlantedBugs(t *testing.T) {
	planted.Run(t, planted.Suite{Args: []string{"-summary.seeds", "60"}})
}
