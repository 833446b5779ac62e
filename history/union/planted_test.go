//go:build planted

package union_test

import (
	"testing"

	"github.com/granarydb/granary/internal/planted"
)

func TestPlantedBugs(t *testing.T) { planted.Run(t, planted.Suite{}) }
