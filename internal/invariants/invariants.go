// Package invariants switches checks of invariants on, in builds with the tag invariants:
//
//	go test -tags invariants ./columnstore
//
// CI builds the simulator and the race detector's tests so. Other builds have no such code, because Enabled is a constant:
//
//	if invariants.Enabled {
//		invariants.Check(commit >= old.Commit, "T2", "commit %d follows %d", commit, old.Commit)
//	}
//
// A check is where a state is published, because there everyone can see what is wrong with it. It costs at most time in
// proportion to what the publication changes.
package invariants

import "fmt"

// Check panics with the name of an invariant (doc.go of the package that it is of) and what is wrong, unless it holds.
func Check(holds bool, name, format string, args ...any) {
	if !holds {
		panic(fmt.Sprintf("invariant %s does not hold: %s", name, fmt.Sprintf(format, args...)))
	}
}
