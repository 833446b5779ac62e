//go:build planted

package filed_test

import (
	"testing"

	"github.com/granarydb/granary/internal/planted"
)

func TestPlantedBugs(t *testing.T) { planted.Run(t, planted.Suite{}) }
