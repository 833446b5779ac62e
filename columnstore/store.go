package columnstore

import (
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/catalog"
	"github.com/granarydb/granary/catalog/stored"
	"github.com/granarydb/granary/disk"
	"github.com/granarydb/granary/internal/cache"
	"github.com/granarydb/granary/txn"
)

// Store is a database in memory, or in a directory. All methods are safe for concurrent use.
//
// Lock order: creating -> tables -> commit (package txn) -> a table's generations, and memory.making ->
// tables. The queue's lock is a leaf. No yield point, callback to the host or channel send
// happens under a lock.
type Store struct {
	opts     Options
	roots    *txn.Publisher[*catalog.Database]
	closed   atomic.Bool
	memory   account
	cache    *cache.Cache[stored.Key]
	queue    queue
	counters counters
	log      *disk.Log // nil without a directory
	dir      directory
	keeper   keeper

	running sync.WaitGroup // counts the maintainer and the keeper, which Open starts
	stop    chan struct{}

	creating sync.Mutex // held while a table or a history is created

	tables struct {
		sync.Mutex
		byName    map[string]*Table
		histories map[string]*History
	}
}
