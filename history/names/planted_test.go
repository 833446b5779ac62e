//go:build planted

package names

import (
	"testing"

	"github.com/granarydb/granary/internal/planted"
)

// TestPlantedBugs keeps no file of a failure that rapid finds.
func TestPlantedBugs(t *testing.T) {
	planted.Run(t, planted.Suite{Args: []string{"-rapid.nofailfile"}})
}
