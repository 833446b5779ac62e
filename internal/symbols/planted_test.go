//go:build planted

package symbols

import (
	"testing"

	"github.com/granarydb/granary/internal/planted"
)

// TestPlantedBugs plants bugs that a test of this package alone can find.
func TestPlantedBugs(t *testing.T) { planted.Run(t, planted.Suite{}) }
