//go:build invariants

package txn

import (
	"fmt"
	"strings"
	"testing"
)

// A root of an earlier commit is not published behind that of a later one (T2).
func TestInvariants(t *testing.T) {
	p := New(0)
	p.Replay(7, func(*Root[int]) Next[int] { return Next[int]{State: 1} })
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, "invariant T2 does not hold: a root of commit 6 follows one of commit 7") {
			t.Error(text)
		}
		if p.Root().State != 1 {
			t.Errorf("the state is %d", p.Root().State)
		}
	}()
	p.Replay(6, func(*Root[int]) Next[int] { return Next[int]{State: 2} })
}
