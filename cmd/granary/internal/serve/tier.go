package serve

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/granarydb/granary/cmd/granary/internal/dbdir"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server"
)

// Tier is a command that serves as serve does, and keeps the rows of the store elsewhere too.
type Tier struct {
	// Use, Short, Long and Example are the command's (cobra.Command).
	Use, Short, Long, Example string
	// Sync is the default of --sync.
	Sync columnstore.SyncPolicy
	// ResultBytes is the default of --max-result.
	ResultBytes int64
	// Flags adds the tier's flags to those of serve. Their names differ.
	Flags func(fs *pflag.FlagSet)
	// Check returns an error for invalid values of the flags, before anything is opened. isGiven reports whether a flag was given.
	Check func(isGiven func(flag string) bool) error
	// Files opens the directory of the store, before the store. end is called before the store closes, or if it does not open. nil
	// means the directory alone, and so does a nil FS.
	Files func(ctx context.Context, dir string, log *slog.Logger) (fs columnstore.FS, end func(), err error)
	// Begin is called once the store is open, before there are tables and requests.
	Begin func(ctx context.Context, of Opened) (Attached, error)
}

// Opened is what a Tier is attached to.
type Opened struct {
	Store *columnstore.Store
	Addr  net.Addr // of the listener
	// Scheme is http or https.
	Scheme string
	// Token is what --query-token-file has, or "".
	Token string
	Log   *slog.Logger
}

// Attached is a Tier that was attached to a server.
type Attached struct {
	// Hosts are names of the server beside those of --host.
	Hosts []string
	// Older, Lake, Refusal and Health are those of server.Options, and OlderBytes that of its limits.
	Older      func(ctx context.Context, db *profile.DB, from, to int64, progress func(read, of int64)) error
	OlderBytes int64
	Lake       func() server.LakeState
	Refusal    func() error
	Health     func() error
	// Kept is that of server.Options. It is called for the list of deletions too.
	Kept func(ctx context.Context, path string) error
	// Bucket is the width of the time ranges of new tables of profiles; 0 is the default.
	Bucket time.Duration
	// Start is called once the tables are there, before the first request. After an error there is none.
	Start func(ctx context.Context) error
	// Run is called on a goroutine of its own after Start, and returns soon after ctx has ended. The store is closed after it.
	Run func(ctx context.Context)
	// Close is called last. It is called after an error of Start too.
	Close func() error
}

// Files and folders that requests make in the directory, beside those of the store.
const (
	annotationsName = "annotations.jsonl"
	rulesName       = "rules.json"
	archivesName    = "archives"
	symbolsName     = "symbols"
)

// Beside are the names of what Attached.Kept is called for, with slashes between their parts.
var Beside = []string{annotationsName, rulesName, dbdir.DeletionsName, archivesName + "/tenants", symbolsName + "/tenants"}

// NewTier returns the command of a tier. It has the flags of serve, but for those of a store in memory and of a front.
func NewTier(t Tier) *cobra.Command {
	f := newFlags()
	f.tier, f.sync = &t, t.Sync
	f.limits.ResultBytes = t.ResultBytes
	cmd := &cobra.Command{
		Use: t.Use, Short: t.Short, Long: t.Long, Example: t.Example, Args: noProfiles,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.serve(cmd) },
	}
	f.add(cmd)
	t.Flags(cmd.Flags())
	return cmd
}

// checkTier returns the usage error of the tier, if there is one.
func (f *flags) checkTier(fs *pflag.FlagSet) error {
	if f.tier == nil {
		return nil
	}
	return f.tier.Check(fs.Changed)
}

// attach attaches the tier, if there is one, to a server's options.
func (f *flags) attach(ctx context.Context, log *slog.Logger, l net.Listener, secrets *secrets, opts *server.Options) (Attached, error) {
	if f.tier == nil {
		return Attached{
			Start: func(context.Context) error { return nil }, Run: func(context.Context) {}, Close: func() error { return nil },
		}, nil
	}
	at, err := f.tier.Begin(ctx, Opened{Store: f.store, Addr: l.Addr(), Scheme: f.scheme(), Token: secrets.tokens.Node, Log: log})
	opts.Hosts = append(slices.Clone(opts.Hosts), at.Hosts...)
	opts.Older, opts.Limits.OlderBytes, opts.Lake = at.Older, at.OlderBytes, at.Lake
	opts.Refusal, opts.Health, opts.Kept, f.kept = at.Refusal, at.Health, at.Kept, at.Kept
	opts.Profiles.Bucket = cmp.Or(opts.Profiles.Bucket, at.Bucket) // a table keeps its own
	return at, err
}
