//go:build planted

package filter

import (
	"testing"

	"github.com/granarydb/granary/internal/planted"
)

func TestPlantedBugs(t *testing.T) { planted.Run(t, planted.Suite{}) }
