package states

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/dbdir"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/ihs"
	"github.com/granarydb/granary/internal/input"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/trace"
	"github.com/granarydb/granary/trace/format"
	"github.com/granarydb/granary/trace/golang"
)

// dbFlag adds --db to a command that queries a history.
func dbFlag(cmd *cobra.Command) {
	cmd.Flags().String("db", "", "FILE is the name of a history in the directory `DIR`, which granary history load filled")
	cli.AddTenant(cmd.Flags(), new(string), "with --db: the history is that of the tenant `NAME`")
}

// directory returns the value of --db, and whether it was set.
func directory(cmd *cobra.Command) (dir string, set bool) {
	dir, _ = cmd.Flags().GetString("db") // "" without the flag
	return dir, cmd.Flags().Changed("db")
}

// openStored opens a history in a directory. The view remains valid after the store is closed.
func openStored(cmd *cobra.Command, dir, name string) (r *trace.Recording, err error) {
	if of := dbdir.ServedOf(cmd.Context()); of != nil {
		return storedIn(cmd.Context(), of.DB.Store(), of.DB.Tenant(), dir, name)
	}
	store, err := dbdir.Open(dir, "histories", "granary history load", columnstore.Options{Manual: true, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, dbdir.Explain(dir, store.Close())) }()
	return storedIn(cmd.Context(), store, cmd.Flag("tenant").Value.String(), dir, name)
}

// storedIn returns a tenant's history in the store of a directory.
func storedIn(ctx context.Context, store *columnstore.Store, tenant, dir, name string) (r *trace.Recording, err error) {
	h := profile.TenantHistory(store, tenant, name)
	if h == nil {
		return nil, fmt.Errorf("--db %s: there is no history %q%s", dir, name, namesText(profile.TenantHistories(store, tenant)))
	}
	err = store.View(ctx, func(snap *columnstore.Snapshot) error {
		view, err := snap.History(h)
		if err == nil && !view.Instants() {
			err = fmt.Errorf("--db %s: the history %q has no states", dir, name)
		}
		if err == nil {
			r = &trace.Recording{View: view, Bytes: h.Bytes()}
		}
		return err
	})
	return r, err
}

// namesText lists the names of histories, for the error for one that does not exist.
func namesText(names []string) string {
	for i, name := range names {
		names[i] = cli.Printable(name)
	}
	if len(names) == 0 {
		return ": there is none; granary history load stores one"
	}
	return "; there is: " + strings.Join(names, ", ")
}

func newLoad() *cobra.Command {
	var dir, name, tenant string
	cmd := &cobra.Command{
		Use:   "load --db DIR [flags] FILE",
		Short: "Store a history in a directory, for questions later",
		Long: `load adds a history to the directory DIR, which is made if there is none, beside
the profiles that 'granary load' stores there. The other history commands ask it
with --db DIR and its name instead of a file.

The history is whole when load ends without an error. A load that is interrupted
leaves the states of the first part of the recording, and the name is taken.
A directory has its histories in memory while it is open, at 2 to 4 bytes a
state: a history file can be larger than that.
Flags of CSV are those of 'granary history import', whose set load takes.

` + fileHelp,
		Example: `  granary history load --db run.db run
  granary history load --db run.db --name cpus states.csv
  granary history at --db run.db run CPUs/0 +1.5s`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("db") {
				return cli.Usage(errors.New("--db DIR is missing: the directory to store the history in"))
			}
			if name == "" {
				if args[0] == "-" {
					return cli.Usage(errors.New("--name NAME is missing: the name of the history from standard input"))
				}
				name = nameOf(args[0])
			}
			if err := profile.CheckOwnName(name); err != nil {
				return cli.Usage(fmt.Errorf("--name: %w", err))
			}
			return store(cmd, dir, tenant, name, args[0])
		},
	}
	cmd.Flags().StringVar(&dir, "db", "", "store the history in the directory `DIR`")
	cli.AddTenant(cmd.Flags(), &tenant, "store the history as that of the tenant `NAME`")
	cmd.Flags().StringVar(&name, "name", "", "`NAME` of the history (default: that of the file)")
	strictFlag(cmd)
	return cmd
}

// nameOf returns the name for a file's history: the name of the file, without suffixes.
func nameOf(file string) string {
	if u, err := url.Parse(file); err == nil && input.IsURL(file) {
		file = u.Path
	}
	name := filepath.Base(ihs.BaseName(file))
	for _, suffix := range []string{".gz", ".zst", ".csv", fileSuffix} {
		if strings.HasSuffix(strings.ToLower(name), suffix) {
			name = name[:len(name)-len(suffix)]
		}
	}
	return name
}

// store stores the history of a file in a directory, as that of a tenant.
func store(cmd *cobra.Command, dir, tenant, name, file string) (err error) {
	if err := dbdir.CheckNew(dir); err != nil {
		return err
	}
	feed, done, err := feedOf(cmd, file)
	if err != nil {
		return err
	}
	defer done()
	in := storing{dir: dir, name: profile.TenantName(tenant, name)}
	defer func() {
		if in.store != nil {
			err = cmp.Or(err, dbdir.Explain(dir, in.store.Close()))
		}
	}()
	if dbdir.IsStore(dir) {
		if err := in.open(); err != nil {
			return err
		}
		if in.store.History(in.name) != nil {
			return cli.Usage(fmt.Errorf("--db %s: there is a history %q already: choose another --name", dir, name))
		}
	}
	intervals, err := in.fill(cmd, feed)
	if err != nil {
		return err
	}
	return in.store.View(cmd.Context(), func(snap *columnstore.Snapshot) error {
		view, err := snap.History(in.history)
		if err != nil {
			return err
		}
		if intervals < 0 {
			if intervals, err = intervalsOf(view); err != nil {
				return err
			}
		}
		p := cli.Printer{W: cmd.OutOrStdout()}
		p.Printf("Stored %s: %s of %s, from %s to %s\n", cli.Printable(name), cli.Many(intervals, "interval"),
			cli.Many(view.Len(), "attribute"), cli.TimeJSON(view.Start()), cli.TimeJSON(view.End()))
		return p.Err
	})
}

// fill stores a history, and returns the number of its intervals as the feeding does.
func (s *storing) fill(cmd *cobra.Command, feed feeding) (int, error) {
	bar := &stageProgress{w: cmd.ErrOrStderr()}
	intervals, err := feed(cmd.Context(), bar.show, trace.Target{Begin: s.begin, Commit: s.commit})
	if err != nil {
		return 0, s.abort(err)
	}
	bar.end()
	return intervals, nil
}

// IsRecording reports whether a file has states, not profiles: a recording of a tracer without profiles, a history file, a
// set or CSV. It recognizes sets and CSV by their suffixes.
func IsRecording(name string) bool {
	if f, is := format.Of(input.Head(name)); is && f.HasProfiles {
		return false
	}
	isSet := strings.HasSuffix(strings.ToLower(name), ihs.IntervalsSuffix)
	return isSet || !isOnce(name) && isStream(name) || isHistoryFile(name)
}

// Add stores a file's history under the file's name, without suffixes and with a number if the name is taken.
// It shows the progress on standard error. After an error the store can have the first states of the history.
func Add(cmd *cobra.Command, s *columnstore.Store, file string) error {
	feed, done, err := feedOf(cmd, file)
	if err != nil {
		return err
	}
	defer done()
	in := storing{store: s, name: NameIn(s, "", file)}
	_, err = in.fill(cmd, feed)
	return err
}

// Sampled is a recording whose states and CPU samples are stored together: a Go execution trace.
type Sampled struct {
	Name    string // of the history in the store
	File    string // for messages
	From    io.Reader
	Begun   time.Time                                             // of a trace without a date
	Notes   io.Writer                                             // takes what is left out
	Samples func(tx *columnstore.Tx, some []golang.Sampled) error // inserts samples in a transaction
}

// AddSampled stores a recording as Add does, each part of its states in one transaction with the samples of their time.
func AddSampled(ctx context.Context, s *columnstore.Store, of Sampled) error {
	defer tight()()
	in := storing{store: s, name: of.Name}
	outcome, err := golang.ImportWith(ctx, of.From, trace.Target{Begin: in.begin, Commit: in.commit}, golang.ImportOptions{
		Begun: of.Begun.UnixNano(), Samples: func(some []golang.Sampled) error { return of.Samples(in.tx, some) },
	})
	if err != nil {
		return fmt.Errorf("%s: %w", of.File, in.abort(err))
	}
	tell(of.Notes, of.File, outcome, true)
	return nil
}

// NameIn returns the name for a file's history in a store of a tenant: that of the file without suffixes, with a number if the
// name is taken.
func NameIn(s *columnstore.Store, tenant, file string) string {
	base := nameOf(file)
	name := base
	for n := 2; s.History(profile.TenantName(tenant, name)) != nil; n++ {
		name = fmt.Sprintf("%s (%d)", base, n)
	}
	return profile.TenantName(tenant, name)
}

// storing writes a history to a store.
type storing struct {
	store   *columnstore.Store // nil until a new directory gets its first states
	dir     string
	name    string
	history *columnstore.History // nil before the first transaction
	tx      *columnstore.Tx
	commits int
}

// open opens the directory, unless there is a store.
func (s *storing) open() (err error) {
	if s.store == nil {
		s.store, err = columnstore.Open(columnstore.Options{Dir: s.dir})
	}
	return dbdir.Explain(s.dir, err)
}

// begin begins a transaction. The first call creates the history.
func (s *storing) begin(start int64) (w *history.Writer, err error) {
	if s.history == nil {
		if err := s.open(); err != nil {
			return nil, err
		}
		if s.history, err = s.store.CreateHistory(s.name, columnstore.HistoryOptions{Start: start}); err != nil {
			return nil, err
		}
	}
	s.tx = s.store.Begin()
	return s.tx.History(s.history)
}

func (s *storing) commit() error {
	if _, err := s.tx.Commit(); err != nil {
		return err
	}
	s.commits++
	return nil
}

// abort aborts the current transaction after err, and returns err with the number of commits that are stored.
func (s *storing) abort(err error) error {
	if s.tx != nil {
		s.tx.Abort()
	}
	if s.history == nil {
		return err
	}
	return fmt.Errorf("%w; the history %q has the states of %s", err, s.name, cli.Many(s.commits, "commit"))
}
