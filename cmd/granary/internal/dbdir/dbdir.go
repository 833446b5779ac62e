// Package dbdir opens the directories of the flag --db, with errors that name the flag and a way out.
package dbdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/profile"
)

// ErrNoName is the usage error for an empty --db.
var ErrNoName = cli.Usage(errors.New("--db has no name: is a variable of the shell empty?"))

// syncValue is the value of --sync.
type syncValue struct {
	pflag.Value
	name string
	to   *disk.SyncPolicy
}

// AddSync adds the flag --sync, whose default is *to.
func AddSync(flags *pflag.FlagSet, to *disk.SyncPolicy) {
	names := disk.SyncNames()
	v := &syncValue{name: to.String(), to: to}
	v.Value = cli.NewChoice("sync", names, &v.name)
	last := len(names) - 1
	flags.Var(v, "sync", fmt.Sprintf("make profiles durable `WHEN`: %s or %s", strings.Join(names[:last], ", "), names[last]))
}

// Set accepts the name of a policy.
func (v *syncValue) Set(text string) error {
	err := v.Value.Set(text)
	if err == nil {
		*v.to = disk.SyncPolicy(slices.Index(disk.SyncNames(), v.name))
	}
	return err
}

// SyncHelp describes the values of --sync, a line for each.
func SyncHelp() string {
	var lines strings.Builder
	for i, name := range disk.SyncNames() {
		fmt.Fprintf(&lines, "  %-13s  %s\n", name, disk.SyncLoses(disk.SyncPolicy(i)))
	}
	return lines.String()
}

// LabelFile is the label with an input's name.
const LabelFile = "file"

// Profiles returns the options of a tenant's table of profiles in a store: any width of its buckets, and means of gauges
// over the times of all files. No tenant ("") is profile.Anonymous.
func Profiles(store *columnstore.Store, tenant string) profile.Options {
	return profile.Options{Tenant: tenant, Without: []string{LabelFile}}.As(store)
}

// OpenDeltas opens the sources of cumulative profiles, which are in a file beside those of the store in a directory.
func OpenDeltas(dir string, opts profile.DeltaOptions) (*profile.Deltas, error) {
	deltas, err := profile.OpenDeltas(filepath.Join(dir, "deltas"), opts)
	return deltas, Explain(dir, err)
}

// Open opens the store of a directory that has one. For another directory, the error names the content that
// the caller wants, such as profiles, and the command that stores it. Commands that only query set
// Options.ReadOnly.
func Open(dir, content, command string, opts columnstore.Options) (*columnstore.Store, error) {
	if dir == "" {
		return nil, ErrNoName
	}
	_, ok, err := disk.Identify(disk.System(dir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("--db %s: there is no such directory; %s makes one", dir, command)
	case err != nil:
		return nil, Explain(dir, err)
	case !ok:
		return nil, fmt.Errorf("--db %s: there are no %s in it; %s fills a directory", dir, content, command)
	}
	opts.Dir = dir
	store, err := columnstore.Open(opts)
	return store, Explain(dir, err)
}

// CheckNew returns a usage error for a directory without a store that has other files.
func CheckNew(dir string) error {
	if dir == "" {
		return ErrNoName
	}
	if _, ok, err := disk.Identify(disk.System(dir)); err != nil || ok {
		return nil // opening it gives a better error
	}
	other, err := Other(dir)
	if other != "" {
		return cli.Usage(fmt.Errorf("--db %s: it has other files, such as %q: want a directory that granary load made, or a new one", dir, other))
	}
	return err
}

// Other returns the name of a file or folder in a directory that is none of a store, or "".
func Other(dir string) (other string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), disk.MarkPrefix) {
			return "", err // a copy of a directory, with what is beside its store, is being made here
		}
		if _, _, ours := disk.ParseName(e.Name()); !ours && e.Name() != disk.LockName && other == "" {
			other = e.Name()
		}
	}
	return other, err
}

// CheckUnused is CheckNew for a command that adds to no store.
func CheckUnused(dir string) error {
	if err := CheckNew(dir); err != nil {
		return err
	}
	if IsStore(dir) {
		return cli.Usage(fmt.Errorf("--db %s: there is a store in it already: want a new directory", dir))
	}
	return nil // because opening a damaged directory reports the damage
}

// IsStore reports whether a directory has a store, as far as it can be read.
func IsStore(dir string) bool {
	_, ok, err := disk.Identify(disk.System(dir))
	return err == nil && ok
}

// Explain wraps an error of a directory: the result names the directory and a way out. Explain(dir, nil) is
// nil.
func Explain(dir string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, disk.ErrLocked):
		return fmt.Errorf("--db %s: another process has it open: wait until it ends", dir)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("--db %s: it is a file, or below one: want a directory", dir)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("--db %s: %w; the log reserves segments of 64 MiB, two while the directory is open, and smaller ones with --disk-budget", dir, err)
	}
	return fmt.Errorf("--db %s: %w", dir, err)
}

// Size returns the total size of the files in a directory, in bytes.
func Size(dir string) (bytes int64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return 0, err
		}
		bytes += info.Size()
	}
	return bytes, nil
}
