package server

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
)

// ErrLimit reports a request beyond a limit of Limits. The text names the limit and its value.
var ErrLimit = fault.ErrLimit

// ErrRequest reports a request that cannot be understood. The text names its part.
var ErrRequest = fault.ErrRequest

// Options configures a Server. The zero value is a good default for a server on loopback.
type Options struct {
	// Profiles are the options of the table of profiles. The limits of a profile are those of
	// Limits.Profile.
	Profiles profile.Options
	// Limits bounds what a request can ask for.
	Limits Limits
	// Tokens are the bearer tokens of requests. The zero value asks for none.
	Tokens Tokens
	// Hosts are the names that the Host header of a request can have beside localhost and IP
	// addresses, without a port. A page of another site that resolves its own name to this
	// server's address has another name there (DNS rebinding). "*" stands for every name.
	Hosts []string
	// DropLabels are names of labels that pushed profiles lose. nil means DefaultDropLabels; an
	// empty list drops none.
	DropLabels []string
	// Older reads profiles that the store has no more, such as those of a table of many nodes, into a store of
	// profiles in memory: those with times from from up to but not to, Unix nanoseconds. It calls progress as it goes on, on its own
	// goroutine, with the rows that it has looked at, and how many these are at most. One call runs at a time, as
	// long as it takes; an error that is ErrLimit is the client's. nil means that there are none.
	Older func(ctx context.Context, db *profile.DB, from, to int64, progress func(read, of int64)) error
	// Log takes a record for each failed request and each panic. nil discards them.
	Log *slog.Logger
	// Now is the clock of profiles without a time and of the ids of pushes. nil means time.Now.
	Now func() time.Time
}

// DefaultDropLabels are labels with a random value for each process, which would make each
// start of a program a series of its own.
var DefaultDropLabels = []string{"__session_id__"}

// Limits bounds requests. A field that is 0 means its default. A request beyond a limit is
// refused with a status of 4xx and an error that names the limit.
type Limits struct {
	Body     int64          // bytes of a request as it is sent; 32 MiB
	Profile  profile.Limits // bytes, samples and depth of stacks of a decompressed profile
	Profiles int            // profiles of one request; 1,000
	// PushBytes bounds the memory of all pushes in progress, by what each byte of them takes at the worst. One
	// push at a time may exceed it, so that the largest gets in. The others wait two seconds and are refused;
	// 512 MiB.
	PushBytes int64

	Labels     int // labels of a profile; 64
	LabelName  int // bytes of a label's name; 200
	LabelValue int // bytes of a label's value; 2,048
	Series     int // distinct sets of labels that a tenant pushes in an hour; 100,000
	Tenants    int // tenants that push in an hour; 1,000

	Queries     int           // queries at once; 16
	QueryTime   time.Duration // of a query; 1 minute
	QueryBytes  int64         // memory of a query's groups, and of a flame graph; 256 MiB
	ResultBytes int64         // an answer, encoded; 256 MiB
	Nodes       int           // functions of a flame graph; 100,000, and 8,192 if a request names none

	OlderBytes int64 // memory of the profiles that Options.Older has read, at least 1 MiB; 512 MiB

	ReadTime time.Duration // from a request's first byte to its last; 1 minute
}

// WithDefaults returns the limits with the defaults of the fields that are 0.
func (l Limits) WithDefaults() Limits {
	l.Profile = l.Profile.WithDefaults()
	setDefault(&l.Body, 32<<20)
	setDefault(&l.Profiles, 1000)
	setDefault(&l.PushBytes, 512<<20)
	setDefault(&l.Labels, 64)
	setDefault(&l.LabelName, 200)
	setDefault(&l.LabelValue, 2048)
	setDefault(&l.Series, 100_000)
	setDefault(&l.Tenants, 1000)
	setDefault(&l.Queries, 16)
	setDefault(&l.QueryTime, time.Minute)
	setDefault(&l.QueryBytes, 256<<20)
	setDefault(&l.ResultBytes, 256<<20)
	setDefault(&l.Nodes, 100_000)
	setDefault(&l.OlderBytes, 512<<20)
	setDefault(&l.ReadTime, time.Minute)
	return l
}

func setDefault[T int | int64 | time.Duration](v *T, d T) {
	if *v == 0 {
		*v = d
	}
}

// Check returns an error that names a limit below 0.
func (l Limits) Check() error {
	for name, v := range map[string]int64{
		"bytes of a body": l.Body, "bytes of pushes": l.PushBytes, "profiles of a request": int64(l.Profiles), "bytes of a profile": int64(l.Profile.Bytes),
		"samples of a profile": int64(l.Profile.Samples), "depth of a stack": int64(l.Profile.Depth), "labels": int64(l.Labels),
		"bytes of a label's name": int64(l.LabelName), "bytes of a label's value": int64(l.LabelValue), "series": int64(l.Series),
		"tenants": int64(l.Tenants), "queries": int64(l.Queries), "time of a query": int64(l.QueryTime), "memory of a query": l.QueryBytes,
		"bytes of an answer": l.ResultBytes, "functions of a flame graph": int64(l.Nodes), "bytes of older profiles": l.OlderBytes,
		"time to read a request": int64(l.ReadTime),
	} {
		if v < 0 {
			return fmt.Errorf("%w on %s: %d, want 0 or more", ErrLimit, name, v)
		}
	}
	return nil
}

// Tokens are the bearer tokens that requests are accepted with. If Read is empty, everyone can
// ask; if Write is empty, everyone can push. A token for writing does not allow to read.
type Tokens struct {
	Read, Write []string
	// Node is what a front sends to its nodes, as one of their tokens to read. Empty is none.
	Node string
}
