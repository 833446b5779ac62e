package columnstore

import "github.com/granarydb/granary/internal/disk"

// The types, options and errors of package internal/disk that the API of a store uses. That package has
// the contracts.
type (
	// FS is the file system below a directory (Options.FS). System returns the one of the operating
	// system.
	FS = disk.FS
	// File is an open file of an FS.
	File = disk.File
	// SyncPolicy says when a commit becomes durable (Options.Sync).
	SyncPolicy = disk.SyncPolicy
	// DamagedError reports durable bytes that have changed, or a file that is gone.
	DamagedError = disk.DamagedError
	// LogStats counts the work of the log (Stats.Log).
	LogStats = disk.LogStats
	// Latencies counts calls by their duration.
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
	// ErrNotDurable is returned by a commit under SyncEach. The commit is visible, and becomes durable
	// when the disk works again.
	ErrNotDurable = disk.ErrNotDurable
	// ErrLocked is returned by Open while another process has the directory open.
	ErrLocked = disk.ErrLocked
	// ErrFormat is returned by Open for a directory that a newer version of this package wrote.
	ErrFormat = disk.ErrFormat
)

// System returns the file system of the operating system, below the folder dir.
func System(dir string) FS { return disk.System(dir) }
