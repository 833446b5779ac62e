package self

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/granarydb/granary/columnstore"
)

var (
	// ErrRunning is returned while another Profile runs in the process.
	ErrRunning = errors.New("the process profiles itself already")
	// ErrSkipped is wrapped by errors of Options.Notify about skipped profiles.
	ErrSkipped = errors.New("skipped")
	// ErrOptions is returned for invalid options.
	ErrOptions = errors.New("invalid options")
)

// Options are the settings of Profile. The zero value records profiles, and no states.
type Options struct {
	// Labels are the labels of all profiles. nil means job, the program's name, version, the version of
	// its main module if it has one, and pid.
	Labels map[string]string
	// Every is the time from one CPU profile to the next, at least 100 ms. 0 means 10 s.
	Every time.Duration
	// States is a history of the store, used for nothing else, for the states of goroutines, procs and
	// the collector. It must begin at the current time or before, in Unix nanoseconds. nil means no
	// flight recorder.
	States *columnstore.History
	// Keep is how long states are kept. 0 means 10 minutes. A negative duration keeps them for ever.
	Keep time.Duration
	// Notify, if not nil, is called by Profile's goroutine for errors, skipped profiles and failed
	// inserts.
	Notify func(error)
}

// withDefaults returns the options with defaults for zeros. The error is ErrOptions.
func (o Options) withDefaults() (Options, error) {
	o.Every = cmp.Or(o.Every, 10*time.Second)
	if o.Every < 100*time.Millisecond {
		return o, fmt.Errorf("%w: every %v, at least 100ms", ErrOptions, o.Every)
	}
	o.Keep = cmp.Or(o.Keep, 10*time.Minute)
	if o.Labels == nil {
		o.Labels = defaultLabels()
	}
	o.Labels = maps.Clone(o.Labels)
	if o.Notify == nil {
		o.Notify = func(error) {}
	}
	return o, nil
}

// pause returns the part of Every without a CPU profile.
func (o Options) pause() time.Duration { return min(time.Second, o.Every/10) }

func defaultLabels() map[string]string {
	labels := map[string]string{"job": filepath.Base(os.Args[0]), "pid": strconv.Itoa(os.Getpid())}
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Path != "" && info.Path != "command-line-arguments" {
			labels["job"] = path.Base(info.Path)
		}
		if v := info.Main.Version; v != "" && v != "(devel)" {
			labels["version"] = v
		}
	}
	return labels
}
