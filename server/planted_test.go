//go:build planted

package server

import (
	"testing"

	"github.com/granarydb/granary/internal/planted"
)

// TestPlantedBugs plants bugs in the answers to pages and pushes. Each reading of the clock is wrong in the test of that.
func TestPlantedBugs(t *testing.T) {
	planted.Run(t, planted.Suite{Args: []string{"-clock.every", "1"}})
}
