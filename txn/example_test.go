package txn_test

import (
	"errors"
	"fmt"

	"github.com/granarydb/granary/txn"
)

// The state of this publisher is a total. A snapshot keeps its total while transactions
// commit, abort and fail.
func Example() {
	log := txn.New(0)
	add := func(n int) error {
		_, err := log.Begin().Commit(func(_ txn.ID, current *txn.Root[int]) (next txn.Next[int], err error) {
			if n < 0 {
				return next, errors.New("only insertions")
			}
			next.State = current.State + n
			return next, nil
		})
		return err
	}

	fmt.Println("add 3:", add(3))
	var snapshot txn.Handle[int]
	snapshot.Take(log)
	fmt.Println("add 4:", add(4))
	fmt.Println("add -1:", add(-1))

	total, err := snapshot.State()
	fmt.Println("snapshot:", total, err)
	snapshot.Close()
	_, err = snapshot.State()
	fmt.Println("closed:", err)
	fmt.Println("now:", log.Root().State)
	// Output:
	// add 3: <nil>
	// add 4: <nil>
	// add -1: only insertions
	// snapshot: 3 <nil>
	// closed: snapshot is closed
	// now: 7
}
