package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/dbdir"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/input"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
	"github.com/granarydb/granary/server/otlp"
)

// inputForms says what inputs are.
const inputForms = `Inputs are files, directories, http URLs, host:port and - for standard input. A
directory is searched recursively for files named .pb.gz, .pb, .pprof, .prof or
.gz, and for others that begin as a profile does, such as cpu.out. The search
follows links to files, but not links to directories. A profile is pprof, OTLP,
a recording of Java (JFR), a file of speedscope, a CPU profile of gperftools or
its heap or one of jemalloc, the text of Go's debug=1 or 2, that of perf script,
the CPU samples of a Go execution trace, or folded stacks: lines such as
'main;work;read 12', of samples in count. Each may be in gzip or zstd. A trace
in a directory is left out, because a CPU profile beside it has its samples. A
folder named NAME=VALUE, as in job=api/pod=x, is a label of its profiles. A
server without a path, as in localhost:6060, stands for its CPU profile, which
takes 30 seconds to fetch unless --seconds is set. The scheme https+insecure is
https without a verified server, as with go tool pprof.`

const inputsHelp = inputForms + ` A profile that cannot
be read is reported on standard error: the answer then comes from the other
profiles, and the exit code is 1.`

// askedHelp is inputsHelp for commands with --db.
const askedHelp = inputsHelp + `

--db DIR asks the directory that 'granary load' filled, instead of inputs. Names
and stacks are read into memory, and rows as the answer needs them. Nothing is
written to it. Several commands can ask it at once, but not while another
process has it open to write.`

// labelFile is the label with an input's name.
const labelFile = dbdir.LabelFile

// loaded is a store with a command's profiles.
type loaded struct {
	store  *columnstore.Store
	db     *profile.DB
	good   int // inputs that were loaded
	rows   int // rows of these inputs
	failed int // inputs that could not be loaded, each reported on stderr
	labels input.Labels
	source inputSource
	totals *totals
	// isServed says that a server in this process has the store, and closes it.
	isServed bool
	dir      *columnstore.Options // of the new directory that replaces the store with the first profile, or nil

	withStates bool      // the states of a Go execution trace are stored too
	histories  []string  // their names
	notes      io.Writer // standard error
}

// failure returns an error, which has been printed, if an input could not be loaded.
func (l *loaded) failure() error {
	if l.failed == 0 {
		return nil
	}
	return cli.Failed(errors.New("some inputs could not be read"))
}

// Close closes the store. The error comes from its directory.
func (l *loaded) Close() error {
	if l.isServed {
		return nil
	}
	err := l.store.Close()
	if l.totals != nil && l.totals.deltas != nil {
		err = cmp.Or(err, l.totals.deltas.Close())
	}
	return err
}

// answer answers a query about a snapshot's profiles.
type answer func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error

// withInputs loads the inputs and calls f with a snapshot of them and the query of the
// flags. If an input fails to load, withInputs returns an error after f has answered.
func withInputs(cmd *cobra.Command, s selection, args []string, f answer) error {
	asked, err := s.read()
	if err != nil {
		return err
	}
	source, err := s.source()
	if err != nil {
		return err
	}
	source.withStates = s.withStates || s.asksStates()
	l, err := load(cmd.Context(), cmd.ErrOrStderr(), columnstore.Options{}, source, args)
	if err != nil {
		return err
	}
	err = l.store.View(cmd.Context(), func(snap *columnstore.Snapshot) error {
		return explainMixed(s.answer(cmd.Context(), l.db, snap, asked, f))
	})
	err = cmp.Or(source.explainDamage(err), source.explain(l.Close()))
	return cmp.Or(err, l.failure())
}

// answer calls f with the query of the flags, which read returned, for the profiles of a snapshot.
func (s *selection) answer(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, asked question, f answer) error {
	q, err := asked.at(ctx, db, snap, s)
	if err != nil {
		return err
	}
	if err := knownSelected(ctx, db, snap, q); err != nil {
		return fmt.Errorf("%s%w", s.side, err)
	}
	if of := dbdir.ServedOf(ctx); of != nil {
		q.MaxBytes = of.MaxBytes
	}
	return f(ctx, db, snap, q)
}

// load returns a store in memory with every profile of the inputs, or the store in the directory of --db. It
// fails if no input can be inserted. With opts.Manual, maintenance runs after each profile and not in the
// background, so that the same inputs always produce the same granules and parts.
func load(ctx context.Context, stderr io.Writer, opts columnstore.Options, source inputSource, args []string) (*loaded, error) {
	if source.db != "" {
		opts.ReadOnly = true // the command writes nothing to the directory
		return openDB(ctx, opts, source)
	}
	l, err := open(opts, source)
	if err != nil {
		return nil, err
	}
	step := func() error { return nil }
	if opts.Manual {
		step = func() error { return l.store.Maintain(ctx) }
	}
	if err := l.addAll(ctx, stderr, args, step); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// open opens a store and its table of profiles, which it creates if it is missing.
func open(opts columnstore.Options, source inputSource) (*loaded, error) {
	opts.FutureLimit = -1 // a profile may come from a machine with a different clock
	store, err := columnstore.Open(opts)
	if err != nil {
		return nil, err
	}
	l := &loaded{store: store, source: source, totals: newTotals(source.cumulative), withStates: source.withStates}
	if l.db, err = profile.Open(store, dbdir.Profiles(store, source.tenant)); err != nil {
		_ = store.Close()
		return nil, err
	}
	if opts.Dir != "" && l.totals.deltas != nil {
		if l.totals.deltas, err = dbdir.OpenDeltas(opts.Dir, profile.DeltaOptions{}); err != nil {
			_ = store.Close()
			return nil, err
		}
	}
	return l, nil
}

// addAll inserts every profile of the inputs, and calls step after each. It reports failed inputs on stderr.
// It returns an error if no input can be inserted, and at once if the disk fails or ctx ends.
func (l *loaded) addAll(ctx context.Context, stderr io.Writer, args []string, step func() error) error {
	var last error
	l.notes = stderr
	told := func(err error) error {
		if err == nil {
			l.good++
			err = step()
		}
		if err = cmp.Or(ctx.Err(), err); err == nil {
			return nil
		}
		_, noDir := errors.AsType[dirError](err)
		if noDir || ctx.Err() != nil || errors.Is(err, disk.ErrDisk) || errors.Is(err, disk.ErrNotDurable) {
			return err
		}
		if last != nil {
			fmt.Fprintf(stderr, "granary: %s\n", cli.OneLine(last))
		}
		last = err
		l.failed++
		return nil
	}
	for _, arg := range args {
		for name, err := range input.Names(arg) {
			held := false
			if err == nil {
				noteFetch(stderr, &l.source.web, arg, name)
				held, err = l.add(ctx, name)
			}
			switch {
			case !held:
				err = told(err)
			case l.totals.bytes > maxHeld:
				err = l.addHeld(ctx, told)
			}
			if err != nil {
				return err
			}
		}
	}
	if err := l.addHeld(ctx, told); err != nil {
		return err
	}
	if l.source.note != nil {
		*l.source.note = l.totals.note()
	}
	if l.good == 0 {
		return last // the caller reports it
	}
	if last != nil {
		fmt.Fprintf(stderr, "granary: %s\n", cli.OneLine(last))
	}
	return nil
}

// noteFetch reports an input's URL on standard error if it differs from the argument.
func noteFetch(stderr io.Writer, web *input.Web, arg, name string) {
	address := web.URL(name)
	if address == "" || address == arg {
		return
	}
	if shown, err := url.Parse(address); err == nil {
		address = shown.Redacted()
	}
	fmt.Fprintf(stderr, "granary: fetching %s\n", cli.Printable(address))
}

// add inserts a profile, labelled with the name of its input, the labels of its folders and the labels of
// --label. A profile that counts from the start of a process is held instead.
func (l *loaded) add(ctx context.Context, name string) (held bool, err error) {
	data, at, err := l.read(ctx, name)
	if err != nil {
		return false, err
	}
	labels := map[string]string{}
	maps.Copy(labels, input.FolderLabels(name))
	maps.Copy(labels, l.source.labels)
	labels[labelFile] = l.labels.Of(name)
	h := heldProfile{name: name, data: data, opts: profile.InsertOptions{Labels: labels, Origin: name, Time: at, Retime: true, AllFrames: l.source.allFrames, Sender: profile.TenantName(l.source.tenant, "")}}
	if data == nil || format.Of(data) == format.GoTrace {
		return false, l.addTrace(ctx, h)
	}
	return l.insert(ctx, h, true)
}

// read returns an input's bytes and time. A file that is a Go execution trace has no bytes.
func (l *loaded) read(ctx context.Context, name string) ([]byte, time.Time, error) {
	if !isGoTrace(name) {
		return l.source.web.Read(ctx, name)
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, time.Time{}, err
	}
	return nil, info.ModTime(), nil
}

// insert inserts a profile. With mayHold it holds one that counts from the start of a process instead.
func (l *loaded) insert(ctx context.Context, h heldProfile, mayHold bool) (held bool, err error) {
	if h.opts.Subtracted == nil {
		h.opts.Subtracted = new(profile.Subtraction)
	}
	*h.opts.Subtracted, h.opts.Deltas = profile.Subtraction{}, l.totals.deltas
	if mayHold {
		h.opts.Deltas = l.totals.probe
	}
	tx := l.store.Begin()
	rows, err := format.InsertTx(ctx, l.db, tx, h.data, format.Hints{OTLP: otlp.Options{}.Decode}, h.opts)
	held = err == nil && mayHold && h.opts.Subtracted.Counted != profile.CountedAsSent
	if err != nil || held || l.dir != nil {
		tx.Abort()
	} else {
		_, err = tx.Commit()
	}
	switch {
	case held:
		h.opts.Subtracted.Drop()
		l.totals.hold(h)
	case err != nil:
		if !errors.Is(err, disk.ErrNotDurable) { // the rows are visible
			h.opts.Subtracted.Drop()
		}
		return false, fmt.Errorf("%s: %w", h.name, err)
	case l.dir != nil:
		h.opts.Subtracted.Drop()
		if err := l.makeDir(); err != nil {
			return false, dirError{l.source.explain(err)}
		}
		return l.insert(ctx, h, false)
	default:
		l.rows += rows
	}
	return held, nil
}

// dirError is the error of a new directory that cannot be opened.
type dirError struct{ error }

// makeDir replaces the store in memory by that in a new directory. A load without a profile makes none.
func (l *loaded) makeDir() error {
	inDir, err := open(*l.dir, l.source)
	if err != nil {
		return err
	}
	memory := l.store
	l.store, l.db, l.dir, l.totals.deltas = inDir.store, inDir.db, nil, inDir.totals.deltas
	return memory.Close()
}

// spareProfiles returns a usage error if output would replace one of the input profiles.
func spareProfiles(output string, args []string) error {
	return cli.RefuseInput(output, func(yield func(string) bool) {
		for _, arg := range args {
			for name, err := range input.Names(arg) {
				if err == nil && !yield(name) { // an error is reported on loading
					return
				}
			}
		}
	})
}

// openDB opens the directory of --db. It creates neither a directory nor a table.
func openDB(ctx context.Context, opts columnstore.Options, source inputSource) (*loaded, error) {
	if of := dbdir.ServedOf(ctx); of != nil && opts.ReadOnly {
		return &loaded{store: of.DB.Store(), db: of.DB, source: source, isServed: true}, nil
	}
	store, err := dbdir.Open(source.db, "profiles", "granary load", opts)
	if err != nil {
		return nil, err
	}
	l := &loaded{store: store, source: source}
	if err := l.openTable(ctx, opts.Manual); err != nil {
		_ = store.Close()
		return nil, source.explain(err)
	}
	return l, nil
}

// openTable opens the profile table, with any width of its buckets.
func (l *loaded) openTable(ctx context.Context, manual bool) (err error) {
	if l.store.Table(profile.TenantName(l.source.tenant, profile.DefaultTable)) == nil {
		if all := profile.Tenants(l.store, ""); len(all) > 0 {
			return fmt.Errorf("the tenant %s has no profiles: --tenant names one of %s", cmp.Or(l.source.tenant, profile.Anonymous), strings.Join(all, ", "))
		}
		return fmt.Errorf("the store has no table %q", profile.DefaultTable)
	}
	if l.db, err = profile.Open(l.store, dbdir.Profiles(l.store, l.source.tenant)); err == nil && manual {
		err = l.store.Maintain(ctx)
	}
	return err
}

// explainDamage is explain for damage of the directory. It returns other errors unchanged.
func (s *inputSource) explainDamage(err error) error {
	if _, damaged := errors.AsType[*disk.DamagedError](err); damaged {
		return s.explain(fmt.Errorf("%w; granary verify lists all damage, and granary repair sets it aside", err))
	}
	return err
}

// explain adds the directory of --db and a remedy to an error.
func (s *inputSource) explain(err error) error {
	if s.db == "" {
		return err
	}
	return dbdir.Explain(s.db, err)
}

func newLoad() *cobra.Command {
	var f inputFlags
	var dir string
	var budget int64
	var sync columnstore.SyncPolicy
	var history string
	cmd := &cobra.Command{
		Use:   "load --db DIR [flags] INPUT...",
		Short: "Store profiles in a directory, for questions later",
		Long: `load adds profiles to the directory DIR, which is made if there is none. Other
commands ask it with --db DIR. load prints the profiles and rows that it stored,
and the bytes that the directory takes.

A profile is stored as a whole or not at all. One that is loaded twice counts
twice: the label file of the second has the suffix (2). After a load was
interrupted or killed, 'granary labels --db DIR --name file' lists the profiles
that are stored.

--sync chooses when profiles are made durable. When load ends without an error,
all are durable. If the machine crashes before, the loss is:

` + dbdir.SyncHelp() + `
If the process alone is killed, it loses the last moment, and with each nothing.
What is left is always the first profiles, in the order of the load.

One process at a time can write to a directory, and none asks it meanwhile. Its
profiles must fit into memory.

Of a Go execution trace load stores the CPU samples and, each part in one
transaction with the samples of its time, the states as a history: what 'granary
history --db DIR' asks. The history has the name of the file, or --name. Label
goid of a sample leads to the state of its goroutine, Goroutines/{goid}. A trace
without a date, of Go 1.24 or before, begins at the time of its file.

` + cumulativeHelp + `

` + inputsHelp,
		Example: `  granary load --db /var/lib/profiles cpu.pb.gz heaps/
  granary load --db profiles.db --label job=api http://api:6060/debug/pprof/heap
  granary load --db run.db --name api trace.out
  granary top --db profiles.db --from latest-1h`,
		Args: someInputs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("db") {
				return cli.Usage(errors.New("--db DIR is missing: the directory to store the profiles in"))
			}
			source, err := f.source()
			if err != nil {
				return err
			}
			source.db, source.history = dir, history
			if err := profile.CheckOwnName(history); err != nil {
				return cli.Usage(fmt.Errorf("--name: %w", err))
			}
			if isOther := args[0] != "-" && !input.IsURL(args[0]) && !isGoTrace(args[0]); history != "" && (len(args) > 1 || isOther) {
				return cli.Usage(errors.New("--name is for one input, a Go execution trace"))
			}
			return fill(cmd, source, columnstore.Options{Dir: dir, DiskBudget: budget, Sync: sync}, args)
		},
	}
	cmd.Flags().StringVar(&dir, "db", "", "store the profiles in the directory `DIR`")
	cli.AddTenant(cmd.Flags(), &f.tenant, "store the profiles as those of the tenant `NAME`")
	cmd.Flags().StringVar(&history, "name", "", "`NAME` of the history of a Go execution trace (default: that of the file)")
	dbdir.AddSync(cmd.Flags(), &sync)
	cli.AddDiskBudget(cmd, &budget)
	f.storeFlags(cmd)
	return cmd
}

// fill adds inputs to a directory. If an input was stored, it prints the stored rows, also after a failed input.
func fill(cmd *cobra.Command, source inputSource, opts columnstore.Options, args []string) error {
	ctx := cmd.Context()
	if err := dbdir.CheckNew(source.db); err != nil {
		return err
	}
	first, dir := opts, (*columnstore.Options)(nil)
	if !dbdir.IsStore(source.db) {
		first, dir = columnstore.Options{}, &opts
	}
	l, err := open(first, source)
	if err != nil {
		return source.explain(err)
	}
	l.dir, l.withStates = dir, true
	if err := l.knowFiles(ctx); err != nil {
		return cmp.Or(err, l.Close())
	}
	total := int64(0)
	for _, arg := range args {
		for _, err := range input.Names(arg) {
			if err == nil {
				total++
			}
		}
	}
	bar := cli.NewLateProgress(cmd.ErrOrStderr(), "loading")
	err = l.addAll(ctx, cmd.ErrOrStderr(), args, func() error {
		bar.Show(int64(l.good+l.failed), total)
		return nil
	})
	bar.End()
	rows := l.store.Stats().Rows
	err = cmp.Or(err, source.explain(l.Close()))
	if l.good > 0 {
		err = cmp.Or(err, l.printStored(cmd.OutOrStdout(), rows))
	}
	return cmp.Or(err, l.failure())
}

// knowFiles reads the names of the stored inputs, so that an input that is loaded again gets another name.
func (l *loaded) knowFiles(ctx context.Context) error {
	return l.store.View(ctx, func(snap *columnstore.Snapshot) error {
		names, err := l.db.LabelValues(ctx, snap, labelFile, profile.Query{})
		for _, name := range names {
			l.labels.Of(name)
		}
		return err
	})
}

// printStored prints the result of a load into a directory that now has `rows` rows.
func (l *loaded) printStored(w io.Writer, rows int64) error {
	bytes, err := dbdir.Size(l.source.db)
	if err != nil {
		return err
	}
	p := cli.Printer{W: w}
	p.Printf("Stored %s, %s\n", cli.Many(l.good, "profile"), cli.Many(l.rows, "row"))
	for _, name := range l.histories {
		p.Printf("Stored states as the history %s\n", cli.Printable(name))
	}
	if text := l.totals.note().text; text != "" {
		p.Printf("%s%s\n", strings.ToUpper(text[:1]), text[1:])
	}
	p.Printf("%s has %s in %s\n", cli.Printable(l.source.db), cli.Many(rows, "row"), cli.Size(bytes))
	return p.Err
}
