package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/url"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	granary "github.com/granarydb/granary/cmd/granary/node"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/compat/iceberg"
	"github.com/granarydb/granary/compat/iceberg/mirror"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server"
)

// node is the command serve with the values of its own flags.
type node struct {
	config  *iceberg.Config
	id      string
	address string
	every   time.Duration
	after   time.Duration
	grace   time.Duration
	limit   time.Duration
	isTry   bool
	ack     string
	pace    time.Duration
	sync    *pflag.Flag

	olderRows   int64
	olderMemory int64
	tableOnly   bool

	of     granary.Opened
	lake   *iceberg.Lake
	watch  *watch
	mirror *mirror.FS // nil without --ack lake
	dir    string     // of mirror
}

func newServe(c *iceberg.Config) *cobra.Command {
	n := &node{config: c}
	return granary.NewServe(granary.Tier{
		Use: "serve [flags]", Short: "Take profiles, and add them to the table as their time ranges end",
		Long: `serve is the server of granary serve, of a directory that is a node of the table.
Ranges of 15 minutes that ended a while ago become units: a file and a commit each. A
unit stays in the directory for the grace, then the table alone has it. Rows that come
late are in a unit of their own, so none is lost and none is there twice.

GET /arrow?after=N has the rows that the table lacks at seal N of the node: sql prints
queries of both, of one state. --grace is at least as long as such a query takes.

The page offers to read what its time has and the directory lacks: the rows of all
nodes, from the table and from what they have and it lacks, into memory. They are
asked as the others, below /older/FROM--TO/; POST /older/FROM--TO/read reads them.
With --read-tokens other nodes are asked with the token of --query-token-file.

It can be killed and started again at any time: with --sync each, which is the default,
a push is answered once its rows are durable. Another --sync loses the newest pushes
then, though they were answered. A node is one directory: give each its own --node,
always the same. A node whose directory was lost is another node, but for --ack lake:
that one makes its directory again from the object store.`,
		Example: `  granary-lake serve --catalog sqlite:lake.db --node db-1 --db /var/lib/granary \
      --listen :4040 --address http://db-1:4040`,
		Sync:        disk.SyncEach,
		ResultBytes: 4 << 30, // because /arrow repeats names row by row
		Flags:       n.flags, Check: n.check, Files: n.files, Begin: n.begin,
	})
}

// flags adds the flags that granary serve does not have.
func (n *node) flags(fs *pflag.FlagSet) {
	fs.StringVar(&n.id, "node", "", "the `ID` of the node: letters, digits, - and _")
	fs.StringVar(&n.address, "address", "", "the `URL` where others reach the server, which the table keeps; default: that of --listen, if it is one address")
	addDuration(fs, &n.every, "every", 5*time.Minute, "look for ended ranges after each `DURATION`, about: nodes commit at different times")
	addDuration(fs, &n.after, "seal-after", 15*time.Minute, "the `DURATION` between the end of a range and its unit, for rows that come late")
	addDuration(fs, &n.grace, "grace", 10*time.Minute, "the `DURATION` that a unit stays in the directory after its commit")
	addDuration(fs, &n.limit, "seal-limit", 6*time.Hour, "/readyz is 503 once the table has lacked rows that were due for `DURATION`; 0 never")
	fs.StringVar(&n.ack, "ack", ackLocal, "answer a push once `WHERE` has its rows: local, the directory; lake, the object store of the table too, so that a lost disk loses nothing")
	addDuration(fs, &n.pace, "ack-every", 200*time.Millisecond, "with --ack lake: write to the object store once in `DURATION` at most; 0 writes again at once")
	n.sync = fs.Lookup("sync")
	fs.BoolVar(&n.isTry, "try", false, "for a first look: a new directory has ranges of a minute, and without other flags rows are in the table some 10 s after the end of their minute")
	fs.Int64Var(&n.olderRows, "older-rows", 20_000_000, "the `NUMBER` of older rows that the page reads at most: 5 s a million")
	fs.Int64Var(&n.olderMemory, "older-memory", 512<<20, "`BYTES` of memory for older rows, beside --memory-total; a reading takes more, of symbols up to 1 GiB")
	fs.BoolVar(&n.tableOnly, "older-table-only", false, "read older rows from the table alone: other nodes need not run")
	fs.Lookup("query-token-file").Usage = "`FILE` with the token to ask other nodes with"
}

// tryBucket is the range of the units of --try.
const tryBucket = time.Minute

// check returns an error for invalid values of the flags, and sets those of --try that are not given.
func (n *node) check(isGiven func(flag string) bool) error {
	for flag, of := range map[string]struct {
		to  *time.Duration
		try time.Duration
	}{"every": {&n.every, 5 * time.Second}, "seal-after": {&n.after, 5 * time.Second}, "grace": {&n.grace, time.Minute}} {
		if n.isTry && !isGiven(flag) {
			*of.to = of.try
		}
	}
	switch {
	case n.id == "" || !isGiven("db"):
		return fmt.Errorf("%w: serve needs --node and --db", errUsage)
	case n.ack != ackLocal && n.ack != ackLake:
		return fmt.Errorf("%w: --ack %q: want %s or %s", errUsage, n.ack, ackLocal, ackLake)
	case n.ack == ackLake && n.sync.Value.String() != disk.SyncEach.String():
		return fmt.Errorf("%w: --ack %s makes each push durable: leave out --sync", errUsage, ackLake)
	case n.ack == ackLocal && isGiven("ack-every"):
		return fmt.Errorf("%w: --ack-every is of --ack %s", errUsage, ackLake)
	case n.every == 0 || n.olderRows <= 0 || n.olderMemory < 1<<20:
		return fmt.Errorf("%w: --every and --older-rows are above 0, --older-memory at least 1 MiB", errUsage)
	}
	if n.address != "" {
		u, err := url.Parse(n.address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			return fmt.Errorf("%w: --address %q: want a URL such as http://db-1:4040", errUsage, n.address)
		}
	}
	return nil
}

// The values of --ack.
const (
	ackLocal = "local"
	ackLake  = "lake"
)

// closeTime is how long the end of a node waits for an object store that is away. What was answered is there.
const closeTime = 10 * time.Second

// files opens the table, and the directory. With --ack lake that is one that the object store of the table has too.
func (n *node) files(ctx context.Context, dir string, log *slog.Logger) (files columnstore.FS, end func(), err error) {
	if n.lake, err = iceberg.Open(ctx, *n.config); err != nil {
		return nil, nil, err
	}
	end = func() {
		if n.mirror != nil {
			n.mirror.Finish(closeTime)
		}
		if n.of.Store == nil {
			_ = n.lake.Close() // the command ends with another error
		}
	}
	var objects mirror.Objects
	if n.ack == ackLake {
		objects, err = n.lake.Segments(ctx, n.id)
	}
	if err == nil {
		err = n.checkDir(ctx, dir, objects)
	}
	if err == nil && n.ack == ackLake {
		n.dir = dir
		n.mirror, err = mirror.Open(ctx, disk.System(dir), objects, mirror.Options{Every: n.pace, Log: log, Beside: mirror.Beside{Dir: dir, Names: granary.Beside}})
	}
	if errors.Is(err, mirror.ErrStale) {
		err = fmt.Errorf("%w: to go on from there, remove the directory; to begin anew, give it a new --node", err)
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	if n.mirror == nil {
		return nil, end, nil
	}
	return n.mirror, end, nil
}

// checkDir returns the error with which start would refuse a directory, before there is a store in it, or a copy of it: one that is there
// would be followed. objects is nil without --ack lake.
func (n *node) checkDir(ctx context.Context, dir string, objects mirror.Objects) error {
	if objects != nil {
		if exists, err := mirror.Exists(ctx, objects); exists || err != nil {
			return err
		}
	}
	_, has, err := disk.Identify(disk.System(dir))
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !has:
		return n.checkNode(ctx, &iceberg.Sealer{Lake: n.lake, Node: n.id})
	case err != nil || objects == nil:
		return err
	}
	store, err := columnstore.Open(columnstore.Options{Dir: dir, ReadOnly: true})
	if err != nil {
		return err
	}
	err = n.checkNode(ctx, &iceberg.Sealer{Lake: n.lake, Node: n.id, Store: store, Table: store.Table(profilesTable)})
	return errors.Join(err, store.Close())
}

// checkNode checks that a directory is the node's.
func (n *node) checkNode(ctx context.Context, s *iceberg.Sealer) error {
	err := s.Check(ctx)
	if errors.Is(err, iceberg.ErrNode) {
		return fmt.Errorf("%w; give this directory a new --node, or let \"granary-lake forget --node %s\" free the id: the rows in the table stay", err, n.id)
	}
	return err
}

// kept makes a file or a folder beside those of the store durable in the object store.
func (n *node) kept(ctx context.Context, path string) error {
	name, err := filepath.Rel(n.dir, path)
	if err != nil {
		return err
	}
	return n.mirror.Keep(ctx, filepath.ToSlash(name))
}

// begin attaches the table to a server.
func (n *node) begin(_ context.Context, of granary.Opened) (at granary.Attached, err error) {
	if n.address == "" {
		if at, ok := of.Addr.(*net.TCPAddr); ok && at.IP.IsUnspecified() {
			return granary.Attached{}, fmt.Errorf("%w: --listen %s is of all addresses: say with --address where others reach it", errUsage, of.Addr)
		}
		n.address = of.Scheme + "://" + of.Addr.String()
	} else if u, err := url.Parse(n.address); err == nil {
		at.Hosts = []string{u.Hostname()}
	}
	n.of = of
	n.watch = newWatch(of.Store, n.limit)
	if n.mirror != nil {
		n.watch.mirror, at.Refusal, at.Health, at.Kept = n.mirror, n.mirror.Refusal, n.mirror.Fenced, n.kept
	}
	if n.isTry {
		at.Bucket = tryBucket
	}
	at.OlderBytes, at.Older, at.Lake = n.olderMemory, n.older, n.watch.state
	at.Start, at.Run, at.Close = n.start, n.seal, n.lake.Close
	return at, nil
}

// start registers the node before it takes rows, so that readers know it.
func (n *node) start(ctx context.Context) error {
	sealer := &iceberg.Sealer{Lake: n.lake, Node: n.id, Store: n.of.Store, Table: n.of.Store.Table(profilesTable), Grace: n.grace}
	if err := n.checkNode(ctx, sealer); err != nil {
		return err
	}
	if err := n.lake.Register(ctx, n.id, n.address); err != nil {
		return err
	}
	if width := time.Duration(sealer.Table.Schema().BucketWidth()); n.isTry && width != tryBucket {
		n.of.Log.Warn("--try: the directory has longer ranges already, whose rows get to the table when they end", "range", width)
	}
	n.watch.sealer = sealer
	n.of.Log.Info("a node of the table", "node", n.id, "address", n.address, "table", n.lake.Name())
	return nil
}

// older reads rows for the page.
func (n *node) older(ctx context.Context, db *profile.DB, from, to int64, progress func(read, of int64)) error {
	_, err := n.lake.Load(ctx, db, iceberg.LoadOptions{From: from, To: to, Rows: n.olderRows, TableOnly: n.tableOnly, Token: n.of.Token, Progress: progress})
	if errors.Is(err, iceberg.ErrRows) {
		err = fmt.Errorf("%w: %w", server.ErrLimit, err)
	}
	return err
}

// sealTime bounds a call to the sealer; the next call goes on.
const sealTime = 30 * time.Minute

// seal seals again and again until ctx ends. An error is logged, and the next call goes on.
func (n *node) seal(ctx context.Context) {
	for {
		pause := n.every/2 + rand.N(n.every)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		n.sealOnce(ctx)
	}
}

// sealOnce seals, and tells the watch how it went.
func (n *node) sealOnce(ctx context.Context) {
	within, end := context.WithTimeout(ctx, sealTime) // so that a catalog that hangs is an error
	defer end()
	var did iceberg.Sealed
	err := limited(func() (err error) {
		did, err = n.watch.sealer.Seal(within, time.Now().Add(-n.after))
		return err
	})
	if did != (iceberg.Sealed{}) {
		n.of.Log.Info("sealed", "units", did.Units, "rows", did.Rows, "bytes", did.Bytes, "dropped_units", did.Dropped)
	}
	if ctx.Err() != nil {
		return // the error is that of the end
	}
	if err != nil {
		n.of.Log.Log(ctx, slog.LevelError, "rows are not in the table yet", "error", err)
	}
	n.watch.sealed(did, err, time.Now())
}
