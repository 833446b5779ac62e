//go:build planted && unix

package serve

import (
	"testing"

	"github.com/granarydb/granary/internal/planted"
)

// TestPlantedBugs plants bugs in the end of a server.
func TestPlantedBugs(t *testing.T) { planted.Run(t, planted.Suite{}) }
