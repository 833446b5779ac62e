package columnstore

import "github.com/granarydb/granary/internal/disk"

// The directory of a store, as its options, errors and numbers name it. Package internal/disk has
// the contracts.
type (
	// FS is the file system below a directory: Options.FS. System returns the usual one.
	FS = disk.FS
	// File is an open file of an FS.
	File = disk.File
	// SyncPolicy says when a commit is durable: Options.Sync.
	SyncPolicy = disk.SyncPolicy
	// DamagedError reports durable bytes that have changed, or a file that is gone.
	DamagedError = disk.DamagedError
	// LogStats are the numbers of the log: Stats.Log.
	LogStats = disk.LogStats
	// Latencies count calls by how long they took.
	Latencies = disk.Latencies
)

// The policies of Options.Sync.
const (
	SyncPeriodically = disk.SyncPeriodically
	SyncEach         = disk.SyncEach
	SyncNever        = disk.SyncNever
)

// Errors of a directory.
var (
	// ErrDisk is returned for a write while the disk is full or fails. Nothing happened.
	ErrDisk = disk.ErrDisk
	// ErrNotDurable is returned by a commit under SyncEach that is visible, and that becomes
	// durable once the disk works again.
	ErrNotDurable = disk.ErrNotDurable
	// ErrLocked is returned by Open while another process has the directory open.
	ErrLocked = disk.ErrLocked
	// ErrFormat is returned by Open for a directory that a newer version of this package wrote.
	ErrFormat = disk.ErrFormat
)

// System returns the file system of the operating system, below the folder dir.
func System(dir string) FS { return disk.System(dir) }
