//go:build planted

package server

import (
	"testing"

	"github.com/granarydb/granary/internal/planted"
)

// TestPlantedBugs plants bugs in the answers to pages and pushes.
func TestPlantedBugs(t *testing.T) { planted.Run(t, planted.Suite{}) }
