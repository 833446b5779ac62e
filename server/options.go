package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/listing"
)

// ErrLimit reports a request that exceeds a limit of Limits. The text names the limit and its value.
var ErrLimit = fault.ErrLimit

// ErrRequest reports an invalid request. The text names the invalid part.
var ErrRequest = fault.ErrRequest

// Options configures a Server. The zero value suits a server on loopback.
type Options struct {
	// Profiles configures the table of each tenant's profiles. Its limits are Limits.Profile, and its tenant is not used.
	Profiles profile.Options
	// Limits bounds requests.
	Limits Limits
	// Tokens are the bearer tokens of requests. The zero value requires none.
	Tokens Tokens
	// Tenants has the limits of tenants by name, and of the others by OtherTenants. Without OtherTenants only the named ones can
	// push. nil takes any tenant, within Limits.Tenants, without limits of its own.
	Tenants map[string]TenantLimits
	// Hosts are the accepted names in a request's Host header, without a port, besides localhost and IP
	// addresses. A page of another site that resolves its own name to this server's address sends
	// another name (DNS rebinding). "*" accepts every name.
	Hosts []string
	// DropLabels names the labels that are removed from pushed profiles. nil means DefaultDropLabels;
	// an empty list drops none.
	DropLabels []string
	// Deltas has the last profile of each source whose values are since the start of a process. A program with
	// a directory keeps them in a file (profile.OpenDeltas). nil keeps them in memory: after a restart of the program
	// each source begins anew.
	Deltas *profile.Deltas
	// FirstWhole counts the first profile of a source as a whole, if its values are since the start of a
	// process, and one after a restart or an hour without any. By default they count as 0, because the values are older
	// than the profile. The others count by their growth.
	FirstWhole bool
	// Older reads profiles that the store no longer has, such as those in a table of many nodes, into
	// db, a store of profiles in memory: profiles with times in [from, to), Unix nanoseconds. It calls
	// progress on its own goroutine, with the rows that it has read and an upper bound of the rows. One
	// call runs at a time, as long as it takes. An error that is ErrLimit is the client's. nil means
	// that there are no older profiles.
	Older func(ctx context.Context, db *profile.DB, from, to int64, progress func(read, of int64)) error
	// Lake returns how far the rows of the store are in a table elsewhere, for /metrics and /readyz. It is called for each request
	// of these, from several goroutines, and not by New. nil means that there is no such table.
	Lake func() LakeState
	// Refusal is asked before each push is read. Its error is the answer, with status 503, and nothing happened. It is called from
	// several goroutines. nil takes all pushes.
	Refusal func() error
	// Health is asked for each GET /healthz. Its error is the answer, with status 503: only a restart helps. It is called from several
	// goroutines. nil finds no error.
	Health func() error
	// Kept is called before the answer to a request that changed files beside the store: with the path of Annotations or Rules.Keep, or of
	// a folder in Archives or Symbols.Keep. It makes them durable elsewhere too. The request fails with its error, and the files stay as
	// they are. It is called from several goroutines. nil does nothing.
	Kept func(ctx context.Context, path string) error
	// Backups is a directory for the copy that POST /backup sends, on the file system of the store's directory, so that its files
	// are links. It is made when it is needed, and what is in it is removed. Empty means that there are no backups.
	Backups string
	// Deleted is called after each POST /delete that chose rows, also if it ended early: a log of deletions. It is called for one
	// deletion at a time. The request fails with its error. nil means that POST /delete is refused.
	Deleted func(Deletion) error
	// Self is the path of a page about the server itself, relative to its own, such as "self/". Its page links to it. Empty means
	// that there is none.
	Self string
	// Symbols names the addresses of profiles. The zero value leaves them as they are.
	Symbols SymbolOptions
	// Annotations is the file of the annotations of POST /annotations, as lines of JSON. Empty keeps them in memory.
	Annotations string
	// Rules make metrics from profiles.
	Rules RuleOptions
	// Sources are directories with the source files of profiled programs, which the page shows beside the cost of their lines. Files
	// outside of them are never read; every client that may ask for a profile can read the text around the lines that it names. A front
	// has its own.
	Sources []SourceDir
	// Archives is a directory for the archives of source files that POST /archives takes, each tenant's by themselves, which the page
	// shows as it does those of Sources. It is made when it is needed. Empty means that there are none.
	Archives string
	// Assist returns the handler of /mcp, for assistants, of the profiles of a tenant. nil means that there is none.
	Assist func(Assisted) http.Handler
	// Log takes a record for each failed request and each panic. nil discards them.
	Log *slog.Logger
	// Now is the clock for profiles without a time and for the ids of pushes. nil means time.Now.
	Now func() time.Time
}

// Assisted is what a handler of Options.Assist answers from. It is of one tenant.
type Assisted struct {
	DB *profile.DB
	// MaxBytes is Limits.QueryBytes.
	MaxBytes int64
	// InTime calls f within Limits.Queries and Limits.QueryTime, and returns its error, or one of these limits.
	InTime func(ctx context.Context, f func(context.Context) error) error
}

// SourceDir maps the names of source files that begin with a prefix to a directory, or to a revision of a git repository, which the
// command git reads. {version} in the directory or the revision stands for the value of the profiles' label version.
type SourceDir = listing.Dir

// DefaultDropLabels are labels with a random value for each process, because they would make each start of
// a program a new series.
var DefaultDropLabels = []string{"__session_id__"}

// Limits bounds requests. A field that is 0 means its default. A request beyond a limit is refused with a
// 4xx status and an error that names the limit.
type Limits struct {
	Body     int64          // encoded bytes of a request; 32 MiB
	Profile  profile.Limits // bytes, samples and stack depth of a decompressed profile
	Profiles int            // profiles in a request; 1,000
	// PushBytes bounds the memory of all pushes in progress, counted as the worst case for each of
	// their bytes. One push at a time may exceed it, so that the largest gets in. The others wait two
	// seconds and are refused; 512 MiB.
	PushBytes int64
	// PushMost bounds the memory of all pushes with what that one exceeds; 2 GiB.
	PushMost int64
	// DeltaBytes bounds the memory for the last profile of each source whose values are since the start of
	// a process, 24 bytes a sample. Beyond it, the sources that were silent for longest begin anew; 128 MiB.
	DeltaBytes int64

	Labels     int // labels in a profile; 64
	LabelName  int // bytes in a label's name; 200
	LabelValue int // bytes in a label's value, which is cut to it; 2,048
	Series     int // distinct sets of labels that a tenant pushes in an hour; 100,000
	Tenants    int // tenants with profiles; 1,000

	// Symbols bounds the bytes of the files that a tenant pushes with POST /symbols, and of what a debuginfod server sends. The
	// oldest go; 2 GiB.
	Symbols int64
	// Archives bounds the bytes of the archives that a tenant pushes with POST /archives, as they are kept, and of each one's files. The
	// oldest go; 512 MiB.
	Archives int64

	Queries     int           // queries at once; 16
	QueryTime   time.Duration // time of a query; 1 minute
	QueryBytes  int64         // memory of a query's groups, and of a flame graph; 256 MiB
	ResultBytes int64         // encoded bytes of an answer; 256 MiB
	// AnswerBytes bounds the memory of the encoded answers that clients read, all together. One answer at a time may
	// exceed it. The others wait two seconds and are refused; 256 MiB.
	AnswerBytes int64
	// ReadRate is the least number of bytes of an answer that a client reads in a second, on average, beside five
	// seconds. A slower one is cut, and one that reads nothing for five seconds, or for one while other queries
	// wait, because its query keeps its place and its memory; 64 KiB.
	ReadRate int64
	Nodes    int // functions in a flame graph; 100,000, and 8,192 if a request names none

	Rules      int // of all tenants; 500
	RuleSeries int // combinations of labels of a rule; 1,000
	RuleValues int // past values that the rules of a tenant keep for late rows, 16 bytes each; 1,000,000

	OlderBytes int64 // memory of the profiles that Options.Older has read, at least 1 MiB; 512 MiB

	ViewBytes int64 // memory of the profiles of files that clients open by POST /view, all together; 256 MiB

	ReadTime time.Duration // from a request's first byte to its last; 1 minute
}

// WithDefaults returns the limits with defaults in place of 0.
func (l Limits) WithDefaults() Limits {
	l.Profile = l.Profile.WithDefaults()
	setDefault(&l.Body, 32<<20)
	setDefault(&l.Profiles, 1000)
	setDefault(&l.PushBytes, 512<<20)
	setDefault(&l.PushMost, 2<<30)
	setDefault(&l.DeltaBytes, 128<<20)
	setDefault(&l.Labels, 64)
	setDefault(&l.LabelName, 200)
	setDefault(&l.LabelValue, 2048)
	setDefault(&l.Series, 100_000)
	setDefault(&l.Tenants, 1000)
	setDefault(&l.Symbols, 2<<30)
	setDefault(&l.Archives, 512<<20)
	setDefault(&l.Queries, 16)
	setDefault(&l.QueryTime, time.Minute)
	setDefault(&l.QueryBytes, 256<<20)
	setDefault(&l.ResultBytes, 256<<20)
	setDefault(&l.AnswerBytes, 256<<20)
	setDefault(&l.ReadRate, 64<<10)
	setDefault(&l.Nodes, 100_000)
	setDefault(&l.Rules, 500)
	setDefault(&l.RuleSeries, 1000)
	setDefault(&l.RuleValues, 1_000_000)
	setDefault(&l.OlderBytes, 512<<20)
	setDefault(&l.ViewBytes, 256<<20)
	setDefault(&l.ReadTime, time.Minute)
	return l
}

func setDefault[T int | int64 | time.Duration](v *T, d T) {
	*v = cmp.Or(*v, d)
}

// Check returns an error that names a negative limit.
func (l Limits) Check() error {
	for name, v := range map[string]int64{
		"bytes of a body": l.Body, "bytes of pushes": l.PushBytes, "bytes of pushes with the largest": l.PushMost, "bytes of cumulative profiles": l.DeltaBytes, "profiles of a request": int64(l.Profiles), "bytes of a profile": int64(l.Profile.Bytes),
		"samples of a profile": int64(l.Profile.Samples), "depth of a stack": int64(l.Profile.Depth), "labels": int64(l.Labels),
		"bytes of a label's name": int64(l.LabelName), "bytes of a label's value": int64(l.LabelValue), "series": int64(l.Series),
		"tenants": int64(l.Tenants), "bytes of symbols": l.Symbols, "bytes of archives": l.Archives, "queries": int64(l.Queries), "time of a query": int64(l.QueryTime), "memory of a query": l.QueryBytes,
		"bytes of an answer": l.ResultBytes, "bytes of answers": l.AnswerBytes, "bytes that a client reads in a second": l.ReadRate, "functions of a flame graph": int64(l.Nodes), "bytes of older profiles": l.OlderBytes, "bytes of opened files": l.ViewBytes,
		"rules": int64(l.Rules), "series of a rule": int64(l.RuleSeries), "values of rules": int64(l.RuleValues), "time to read a request": int64(l.ReadTime),
	} {
		if v < 0 {
			return fmt.Errorf("%w on %s: %d, want 0 or more", ErrLimit, name, v)
		}
	}
	return nil
}

// DeltaOptions returns the options for Options.Deltas: a source begins anew after an hour without a profile.
func (l Limits) DeltaOptions() profile.DeltaOptions {
	return profile.DeltaOptions{MaxBytes: l.DeltaBytes, MaxGap: time.Hour}
}
