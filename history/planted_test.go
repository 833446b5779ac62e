//go:build planted

package history_test

import (
	"testing"

	"github.com/granarydb/granary/internal/planted"
)

// TestPlantedBugs keeps no file of a failure that rapid finds, and takes little time to make it
// smaller.
func TestPlantedBugs(t *testing.T) {
	planted.Run(t, planted.Suite{Args: []string{"-rapid.nofailfile", "-rapid.shrinktime", "1s"}})
}
