//go:build planted

package names

import (
	"testing"

	"github.com/granarydb/granary/internal/planted"
)

// TestPlantedBugs lets rapid try more than its tests do, since some bugs are rare. It keeps no file of
// a failure and makes few attempts to shrink it.
func TestPlantedBugs(t *testing.T) {
	planted.Run(t, planted.Suite{Args: []string{"-rapid.checks", "5000", "-rapid.nofailfile", "-rapid.shrinktime", "1s"}})
}
