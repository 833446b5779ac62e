package source

import (
	"net/http"
	"sync"
	"time"

	"github.com/granarydb/granary/columnstore"
)

// keptStore is a store in memory that its keeper, an Older or Files, drops while queries use it. It is closed once it is
// neither kept nor in use. The keeper's mutex guards the fields from used on.
type keptStore struct {
	store   *columnstore.Store
	source  *Store
	handler http.Handler

	used time.Time
	uses int
	left bool // it is no longer kept
}

// leave ends a use, and closes the store if the keeper has dropped it meanwhile. The caller does not hold mu, the keeper's mutex.
func (k *keptStore) leave(mu *sync.Mutex, now func() time.Time) error {
	mu.Lock()
	k.uses--
	k.used = now()
	isOver := k.left && k.uses == 0
	mu.Unlock()
	if !isOver {
		return nil
	}
	return k.close()
}

// isNeeded reports whether a query uses the store, or one did within `age`. With age 0 nothing is needed. The caller holds the
// keeper's mutex.
func (k *keptStore) isNeeded(age time.Duration, now func() time.Time) bool {
	return age > 0 && (k.uses > 0 || !isOver(now(), k.used, age))
}

// isOver reports whether an age has passed since a time. A time later than now is of a clock that was wrong, and would not pass
// for as long as that was.
func isOver(now, since time.Time, age time.Duration) bool {
	past := now.Sub(since)
	return past < 0 || past >= age
}

// close closes the source and the store. The caller knows that no query uses them.
func (k *keptStore) close() error {
	k.source.Close()
	return k.store.Close()
}

// ServeHTTP answers a query about the store.
func (k *keptStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.source.Tidy()
	k.handler.ServeHTTP(w, r)
}
