package crashfs

import (
	"io/fs"
	"slices"
)

// Op is a kind of call.
type Op int

// The calls of disk.FS and disk.File that can fail.
const (
	Create Op = iota
	Open
	Remove
	List
	SyncDir
	Lock
	Free
	WriteAt
	ReadAt
	Sync
	Reserve
	Trim
)

// String returns the call's name.
func (o Op) String() string {
	return [...]string{"create", "open", "remove", "list", "sync directory", "lock", "free", "write", "read", "sync", "reserve", "trim"}[o]
}

// Fault makes calls fail.
type Fault struct {
	Err     error // the cause, such as syscall.EIO
	Ops     []Op  // kinds of calls that fail; nil means all
	After   int   // number of these that succeed first
	Forever bool  // all later calls fail, not only one
	Fired   int   // number of calls that failed
}

// Fail adds a fault. The FS changes it until it is over.
//
// A write that fails has written a part. A sync that fails has made a part durable, and the rest is not
// durable later either. Other calls that fail do nothing.
func (f *FS) Fail(x *Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, x)
}

// Heal ends all faults.
func (f *FS) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = nil
}

// Calls returns the number of calls so far, including failed ones.
func (f *FS) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// call counts a call, and returns its error if it must fail. The caller holds mu.
func (f *FS) call(op Op, name string) error {
	f.calls++
	for _, x := range f.faults {
		if len(x.Ops) > 0 && !slices.Contains(x.Ops, op) {
			continue
		}
		if x.After > 0 {
			x.After--
			continue
		}
		if x.Forever || x.Fired == 0 {
			x.Fired++
			return &fs.PathError{Op: op.String(), Path: name, Err: x.Err}
		}
	}
	return nil
}
