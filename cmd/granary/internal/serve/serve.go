package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/dbdir"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server"
)

// flags are the values of the flags of serve.
type flags struct {
	listen   string
	dir      string
	inMemory bool
	sync     columnstore.SyncPolicy
	memory   int64

	memoryTotal int64
	isUnbounded bool // --memory 0

	disk      int64
	retention time.Duration
	past      time.Duration
	drain     time.Duration
	hosts     []string
	drop      []string
	logJSON   bool

	firstWhole bool
	// allowDelete is whether POST /delete deletes.
	allowDelete bool
	nodes       server.Nodes
	sources     []server.SourceDir
	files       files
	limits      server.Limits
	symbols     server.SymbolOptions
	remoteWrite string // URL
	assist      func(server.Assisted) http.Handler
	self        bool
	ownStates   bool
	store       *columnstore.Store                           // nil for a front
	tier        *Tier                                        // nil for serve itself
	own         *own                                         // nil without --self
	kept        func(ctx context.Context, path string) error // that of the tier, or nil
}

// newFlags returns the default values.
func newFlags() *flags {
	f := &flags{
		listen: "127.0.0.1:4040", dir: "granary.db", drain: 10 * time.Second,
		drop: server.DefaultDropLabels, limits: server.Limits{}.WithDefaults(),
	}
	f.limits.PushBytes, f.limits.DeltaBytes, f.limits.QueryBytes, f.limits.AnswerBytes, f.limits.ViewBytes = 0, 0, 0, 0, 0 // parts of --memory-total
	return f
}

// NewServe returns the command serve. assist is that of server.Options.
func NewServe(assist func(server.Assisted) http.Handler) *cobra.Command {
	f := newFlags()
	f.assist = assist
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Take profiles over HTTP and answer questions about them",
		Long: `serve takes the profiles that clients of Pyroscope push: Grafana Alloy, the SDKs
of Pyroscope, and any program that can send a pprof file. It answers Grafana's
data source for Pyroscope, go tool pprof, and readers of Arrow.

  POST /push.v1.PusherService/Push   Alloy (Connect, gRPC)
  POST /ingest                       the SDKs
  POST /v1development/profiles       OpenTelemetry (OTLP; gRPC too)
  POST /pprof?job=api                a pprof file as it is, labels as parameters
  POST /traces?job=api               a Go execution trace, with its CPU samples
  POST /querier.v1.QuerierService/*  Grafana's data source for Pyroscope
  GET  /pprof?type=cpu&selector=...  a merged profile, for go tool pprof
  GET  /pyroscope/render?query=...   flame graphs, for scripts of Pyroscope
  GET  /arrow?type=cpu&selector=...  rows as an Arrow stream
  GET  /                             a page, for a browser
  POST /view                         files that are dropped on the page
  GET  /api/v1/flame?t=cpu&q=...     trees and tables as JSON, for web pages
  POST /symbols                      binaries, for the names of addresses
  POST /archives?version=1.2         source files of a version, for the page
  POST /rules                        metrics that are made from profiles
  POST /mcp                          assistants, as with granary mcp
  GET  /metrics                      for Prometheus
  GET  /healthz, /readyz             is it alive, does it take requests
  GET  /self/pprof?type=cpu          with --self: this server's own profiles

Profiles are stored in the directory --db, which is made if there is none, and
are there again after a restart. --sync chooses when they are made durable, as
'granary load --help' describes. Rows beyond --memory are in files alone, those
beyond --disk or older than --retention are dropped, the oldest first.

With --query-from a server stores nothing. It answers questions, but for /arrow
and parts of /api/v1, from the profiles of other servers: as one server would
that has all of them, or with an error if one of them does not answer.

Each tenant has profiles of its own: a request names one by the header
X-Scope-OrgID, by a path that begins with /tenants/NAME/, or by a token that is
bound to it. Requests that name none are of the tenant anonymous. --tenants
bounds each one, or takes no others.

The server listens on loopback unless --listen says otherwise. Before it listens
for others, give it tokens and a certificate: any client that reaches it can
read and push. SIGHUP reads these files again, and those of --tenants, --budgets
and --rules.
An interrupt or SIGTERM answers the requests in progress, closes the store and
ends with 0.`,
		Example: `  granary serve
  granary serve --db /var/lib/granary --memory 4GiB --disk 100GiB
  granary serve --listen :4040 --write-tokens push.txt --read-tokens read.txt \
      --tls-cert cert.pem --tls-key key.pem --host profiles.example.com
  granary serve --query-from http://granary-0:4040,http://granary-1:4040
  URL='http://localhost:4040/pprof?type=cpu&from=-1h'; go tool pprof "$URL"`,
		Args: noProfiles,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.serve(cmd) },
	}
	f.add(cmd)
	return cmd
}

// noProfiles is the argument check of serve.
func noProfiles(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return cli.Usage(fmt.Errorf("serve takes no arguments: %q; profiles are pushed to it", args[0]))
	}
	return nil
}

// addOthers adds the flags of what is no server of a directory: a store in memory, and a front.
func (f *flags) addOthers(fs *pflag.FlagSet) {
	fs.BoolVar(&f.inMemory, "in-memory", false, "store nothing in files: a restart loses all profiles")
	fs.StringSliceVar(&f.nodes.URLs, "query-from", nil, "store nothing, and answer questions from the profiles of the servers at `URL`,URL; no profile may be on two of them")
	fs.BoolVar(&f.nodes.PartialAnswers, "partial-answers", false, "with --query-from: answer without servers that are away, with a header Granary-Warning for each, instead of an error")
}

// add adds the flags to a command.
func (f *flags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	if f.tier == nil {
		f.addOthers(fs)
	}
	fs.StringVar(&f.listen, "listen", f.listen, "listen on `ADDRESS`, as host:port; :port is every interface")
	fs.StringVar(&f.dir, "db", f.dir, "store the profiles in the directory `DIR`")
	dbdir.AddSync(fs, &f.sync)
	fs.Var(cli.NewBytes("memory-total", 64<<20, &f.memoryTotal), "memory-total", "`BYTES` of memory for all, at least 64MiB, which the flags about memory share (default: three quarters of the machine's or the container's, at most 4GiB)")
	fs.Var(cli.NewBytes("memory", 0, &f.memory), "memory", "`BYTES` that the store keeps in memory, beside what queries take; 0 is no limit (default: 11/32 of --memory-total)")
	fs.Var(cli.NewBytes("disk", 16<<20, &f.disk), "disk", "`BYTES` of files and log, at least 16MiB, beyond which the oldest profiles are dropped (default: no limit)")
	fs.Var(cli.NewDuration("retention", 0, 0, &f.retention), "retention", "drop profiles older than the newest by more than `DURATION`, such as 30d; 0 keeps them")
	fs.Var(cli.NewDuration("past-limit", 0, 0, &f.past), "past-limit", "refuse profiles older than the clock by more than `DURATION`, such as 90d; 0 takes times from 1980 on")
	fs.Var(cli.NewDuration("drain", 0, 0, &f.drain), "drain", "at the end, give requests in progress this `DURATION`")
	fs.StringArrayVar(&f.hosts, "host", nil, "`NAME` of this server in requests, beside localhost and IP addresses; * is any; can be repeated")
	fs.StringArrayVar(&f.drop, "drop-label", f.drop, "drop the label `NAME` of pushed profiles; can be repeated; \"\" alone drops none")
	fs.BoolVar(&f.allowDelete, "allow-delete", false, "let POST /delete delete samples by selector, type, from and to; it needs a write token, and DIR/deletions.jsonl lists what was deleted")
	fs.BoolVar(&f.firstWhole, "first-whole", false, "count the first profile of a source as a whole, if its values are since the start of a process; by default as nothing, and the next by their growth")
	fs.BoolVar(&f.logJSON, "log-json", false, "log JSON instead of text")
	fs.BoolVar(&f.self, "self", false, "profile this server too, in 32 MiB of memory of its own; URL/self answers as URL does")
	fs.BoolVar(&f.ownStates, "self-states", false, "with --self: also keep what each goroutine did in the last ten minutes")
	fs.StringArrayVar(&f.symbols.Dirs, "symbols", nil, "name the addresses of profiles by the binaries and debug files below `DIR`, for all tenants; can be repeated")
	fs.StringVar(&f.symbols.Debuginfod, "debuginfod", "", "ask the debuginfod server at `URL` for files of build ids that are missing")
	fs.StringVar(&f.remoteWrite, "remote-write", "", "send the values of rules to the receiver of Prometheus' remote write at `URL` too")
	f.files.add(fs)
	AddSources(fs, &f.sources)
	l := &f.limits
	fs.Var(cli.NewBytes("max-body", 0, &l.Body), "max-body", "at most `BYTES` in a request")
	fs.IntVar(&l.Profile.Bytes, "max-profile", l.Profile.Bytes, "at most `N` bytes in a decompressed profile")
	fs.IntVar(&l.Profile.Samples, "max-samples", l.Profile.Samples, "at most `N` samples in a profile")
	fs.IntVar(&l.Profile.Depth, "max-depth", l.Profile.Depth, "at most `N` locations in a stack")
	fs.IntVar(&l.Profiles, "max-profiles", l.Profiles, "at most `N` profiles in a request")
	fs.Var(cli.NewBytes("max-push-memory", 0, &l.PushBytes), "max-push-memory", "at most `BYTES` of memory for all pushes in progress, and as much for the largest (default: 4/32 of --memory-total)")
	fs.Var(cli.NewBytes("max-delta-memory", 0, &l.DeltaBytes), "max-delta-memory", "at most `BYTES` of memory for the last profile of each source with values since the start of a process (default: 1/32 of --memory-total)")
	fs.IntVar(&l.Labels, "max-labels", l.Labels, "at most `N` labels of a profile")
	fs.IntVar(&l.LabelName, "max-label-name", l.LabelName, "at most `N` bytes in the name of a label")
	fs.IntVar(&l.LabelValue, "max-label-value", l.LabelValue, "cut the value of a label to `N` bytes")
	fs.IntVar(&l.Series, "max-series", l.Series, "at most `N` sets of labels that a tenant pushes in an hour")
	fs.IntVar(&l.Tenants, "max-tenants", l.Tenants, "at most `N` tenants with profiles")
	fs.Var(cli.NewBytes("max-symbols", 1, &l.Symbols), "max-symbols", "keep at most `BYTES` of the files that a tenant pushes with POST /symbols, and of those of --debuginfod")
	fs.Var(cli.NewBytes("max-archives", 1, &l.Archives), "max-archives", "keep at most `BYTES` of the source files that a tenant pushes with POST /archives")
	fs.IntVar(&l.Rules, "max-rules", l.Rules, "at most `N` rules of all tenants")
	fs.IntVar(&l.RuleSeries, "max-rule-series", l.RuleSeries, "at most `N` combinations of labels of a rule")
	fs.IntVar(&l.Queries, "max-queries", l.Queries, "at most `N` queries at once (default: 4 to 16, by --memory-total)")
	fs.Var(cli.NewDuration("max-query-time", 0, 0, &l.QueryTime), "max-query-time", "a query takes at most `DURATION`")
	fs.Var(cli.NewBytes("max-query-memory", 0, &l.QueryBytes), "max-query-memory", "at most `BYTES` of memory for the groups of a query, and for a flame graph (default: 8/32 of --memory-total, by --max-queries)")
	fs.Var(cli.NewBytes("max-answer-memory", 0, &l.AnswerBytes), "max-answer-memory", "at most `BYTES` of memory for all encoded answers that clients read (default: 2/32 of --memory-total)")
	fs.Var(cli.NewBytes("max-view-memory", 1<<20, &l.ViewBytes), "max-view-memory", "at most `BYTES` of memory for the profiles and traces that browsers open in the page, which are kept for half an hour (default: 1/32 of --memory-total)")
	fs.Var(cli.NewBytes("least-read-rate", 1, &l.ReadRate), "least-read-rate", "cut a client that reads fewer `BYTES` of an answer a second, beside 5s")
	fs.Var(cli.NewBytes("max-result", 0, &l.ResultBytes), "max-result", "at most `BYTES` in an answer")
	fs.IntVar(&l.Nodes, "max-nodes", l.Nodes, "at most `N` functions in a flame graph")
	fs.Var(cli.NewDuration("max-read-time", 0, 0, &l.ReadTime), "max-read-time", "a client takes at most `DURATION` to send a request")
}

// check returns a usage error for invalid values.
func (f *flags) check(fs *pflag.FlagSet) error {
	if _, _, err := net.SplitHostPort(f.listen); err != nil {
		return cli.Usage(fmt.Errorf("--listen %s: want host:port: %w", f.listen, err))
	}
	if err := f.limits.Check(); err != nil {
		return cli.Usage(err)
	}
	if f.ownStates && !f.self {
		return cli.Usage(errors.New("--self-states: without --self there are no profiles to add them to"))
	}
	if err := f.checkNodes(fs); err != nil {
		return err
	}
	if err := cmp.Or(f.checkTier(fs), f.checkSymbols(), f.checkRules()); err != nil {
		return err
	}
	if err := f.shareMemory(fs, machineMemory(os.DirFS("/"))); err != nil || f.isFront() {
		return err
	}
	if f.inMemory {
		if fs.Changed("db") {
			return cli.Usage(errors.New("--db and --in-memory: a store in memory has no directory: leave one of them out"))
		}
		if f.disk != 0 {
			return cli.Usage(errors.New("--disk bounds files, and --in-memory has none: leave one of them out"))
		}
		return nil
	}
	return dbdir.CheckNew(f.dir)
}

// open opens the store. end is called before it is closed.
func (f *flags) open(ctx context.Context, log *slog.Logger) (store *columnstore.Store, end func(), err error) {
	opts, end := columnstore.Options{MemoryBudget: f.memory, Retention: f.retention, PastLimit: f.past, CloseWithin: closeTime}, func() {}
	if !f.inMemory {
		opts.Dir, opts.DiskBudget, opts.Sync = f.dir, f.disk, f.sync
	}
	if f.tier != nil && f.tier.Files != nil {
		if opts.FS, end, err = f.tier.Files(ctx, f.dir, log); err != nil {
			return nil, nil, dbdir.Explain(f.dir, err)
		}
	}
	if store, err = columnstore.Open(opts); err != nil {
		if end(); !f.inMemory {
			err = dbdir.Explain(f.dir, err)
		}
	}
	return store, end, err
}

// serve serves until the context ends or SIGTERM arrives.
func (f *flags) serve(cmd *cobra.Command) (err error) {
	if err := f.check(cmd.Flags()); err != nil {
		return err
	}
	secrets, err := f.files.load(f.budgets(), f.limits)
	if err != nil {
		return cli.Usage(err)
	}
	if err := f.checkBudgets(secrets.budgets); err != nil {
		return err
	}
	var handler slog.Handler = slog.NewTextHandler(cmd.ErrOrStderr(), nil)
	if f.logJSON {
		handler = slog.NewJSONHandler(cmd.ErrOrStderr(), nil)
	}
	log := slog.New(handler)
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
	defer stop()
	defer f.limitMemory()()

	if f.isFront() {
		return f.serveNodes(ctx, log, secrets)
	}
	l, err := Listen(f.listen)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // serving closes it too
	start := time.Now()
	store, end, err := f.open(ctx, log)
	if err != nil {
		return err
	}
	defer func() {
		end()
		if closed := store.Close(); closed != nil {
			err = cmp.Or(err, closed)
			return
		}
		if err == nil {
			log.Info("closed")
		}
	}()
	f.store = store
	return f.serveStore(ctx, log, secrets, l, start)
}

// serveStore serves the open store until the context ends. start is when the opening began.
func (f *flags) serveStore(ctx context.Context, log *slog.Logger, secrets *secrets, l net.Listener, start time.Time) (err error) {
	if err := f.setBudgets(secrets); err != nil {
		return err
	}
	if slices.Equal(f.drop, []string{""}) {
		f.drop = []string{}
	}
	var deltas *profile.Deltas
	if !f.inMemory {
		if deltas, err = dbdir.OpenDeltas(f.dir, f.limits.DeltaOptions()); err != nil {
			return err
		}
		defer func() { err = cmp.Or(err, deltas.Close()) }()
	}
	opts := server.Options{
		Profiles: dbdir.Profiles(f.store, ""), Limits: f.limits, Tokens: secrets.tokens, Tenants: secrets.tenants, Backups: f.inDir("backup"), Symbols: f.symbolOptions(), Archives: f.inDir(archivesName), Rules: f.ruleOptions(secrets), Annotations: f.inDir(annotationsName), Hosts: f.hosts, DropLabels: f.drop, Deltas: deltas, FirstWhole: f.firstWhole, Deleted: f.deleted(log), Sources: f.sources, Self: f.selfPath(), Assist: f.assist, Log: log,
	}
	tier, err := f.attach(ctx, log, l, secrets, &opts)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, tier.Close()) }()
	handle, err := server.New(f.store, opts)
	if err != nil {
		return err
	}
	defer f.fetchSymbols(ctx, handle)()
	if err := f.setRules(handle, secrets); err != nil {
		return err
	}
	if err := tier.Start(ctx); err != nil {
		return err
	}
	defer beside(ctx, handle.ReadAhead)()
	defer beside(ctx, handle.RunRules)()
	defer beside(ctx, tier.Run)()
	stats := f.store.Stats()
	return f.answer(ctx, log, handle, secrets, l, "db", f.where(), "rows", stats.Rows, "file_bytes", stats.FileBytes, "opened", time.Since(start).Round(time.Millisecond))
}

// answer logs a listener's address and `has`, and answers requests.
func (f *flags) answer(ctx context.Context, log *slog.Logger, handle *server.Server, secrets *secrets, l net.Listener, has ...any) (err error) {
	if f.self {
		if f.own, err = f.profileSelf(ctx, log, secrets); err != nil {
			return err
		}
		defer func() { err = cmp.Or(err, f.own.close()) }()
	}
	f.announce(log, l.Addr(), has...)
	return f.run(ctx, log, handle, secrets, l)
}

// announce logs the address and `has`, and warns about an exposed address or a store in memory.
func (f *flags) announce(log *slog.Logger, addr net.Addr, has ...any) {
	log.Info("listening", append([]any{"url", f.scheme() + "://" + addr.String()}, has...)...)
	if f.inMemory {
		log.Warn("a restart loses all profiles: --in-memory stores nothing in files")
	}
	if tcp, ok := addr.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		log.Warn("other machines can reach this address", "--listen", f.listen)
		if f.files.read == "" || f.files.write == "" && !f.isFront() {
			log.Warn("any client that reaches this address can read or push: see --read-tokens, --write-tokens")
		}
		if f.files.cert == "" {
			log.Warn("profiles and tokens are sent in the clear: see --tls-cert, --tls-key")
		}
	}
}

// scheme is that of the server's address.
func (f *flags) scheme() string {
	if f.files.cert != "" {
		return "https"
	}
	return "http"
}

// deleted returns what logs a deletion, or nil if there are none.
func (f *flags) deleted(log *slog.Logger) func(server.Deletion) error {
	if !f.allowDelete {
		return nil
	}
	return func(d server.Deletion) error {
		log.Info("deleted", "tenant", d.Tenant, "selector", d.Selector, "type", d.Type, "rows", d.Rows, "error", d.Error)
		if f.inMemory {
			return nil
		}
		err := dbdir.LogDeletion(f.dir, d)
		if err == nil && f.kept != nil {
			err = f.kept(context.Background(), f.inDir(dbdir.DeletionsName)) // whatever becomes of the request
		}
		return err
	}
}

// inDir returns the path of what the server keeps beside the store's files, or "" if it keeps nothing.
func (f *flags) inDir(name string) string {
	if f.inMemory {
		return ""
	}
	return filepath.Join(f.dir, name)
}

func (f *flags) where() string {
	if f.inMemory {
		return "memory"
	}
	return f.dir
}

// notOfFronts are the flags that apply only to a server with a store. A front has no store, and takes no
// pushes.
var notOfFronts = []string{
	"db", "in-memory", "sync", "memory", "disk", "retention", "past-limit", "allow-delete", "budgets", "drop-label", "write-tokens", "tenants",
	"symbols", "debuginfod", "max-symbols", "max-archives", "rules", "remote-write", "remote-write-token-file", "max-rules", "max-rule-series", "max-profiles", "max-labels", "max-label-name", "max-label-value", "max-series", "max-tenants", "max-push-memory", "max-delta-memory",
}

func (f *flags) isFront() bool { return len(f.nodes.URLs) > 0 }

// checkNodes returns a usage error for flags of a front without --query-from, and for flags of a store with
// it.
func (f *flags) checkNodes(fs *pflag.FlagSet) error {
	if !f.isFront() {
		names := []string{"query-from", "partial-answers", "query-token-file"}
		if f.tier != nil {
			return nil // it asks the other nodes
		}
		if i := slices.IndexFunc(names, fs.Changed); i >= 0 {
			return cli.Usage(fmt.Errorf("--%s: --query-from names no server to ask", names[i]))
		}
		return nil
	}
	if i := slices.IndexFunc(notOfFronts, fs.Changed); i >= 0 {
		return cli.Usage(fmt.Errorf("--%s and --query-from: a server that asks others stores nothing and takes no pushes: leave one of them out", notOfFronts[i]))
	}
	return nil
}

// serveNodes serves a front until the context ends.
func (f *flags) serveNodes(ctx context.Context, log *slog.Logger, secrets *secrets) error {
	handle, err := server.NewFront(f.nodes, server.Options{Limits: f.limits, Tokens: secrets.tokens, Hosts: f.hosts, Sources: f.sources, Log: log})
	if errors.Is(err, server.ErrNode) {
		return cli.Usage(fmt.Errorf("--query-from: %w", err))
	}
	if err != nil {
		return err
	}
	l, err := Listen(f.listen)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // serving closes it too
	return f.answer(ctx, log, handle, secrets, l, "nodes", f.nodes.URLs)
}
