package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/compat/iceberg"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server"
)

// node is the command serve with its flags' values.
type node struct {
	config  *iceberg.Config
	id      string
	dir     string
	memory  int64
	listen  string
	address string
	hosts   []string
	every   time.Duration
	after   time.Duration
	grace   time.Duration
	result  int64

	olderRows   int64
	olderMemory int64
	tableOnly   bool
}

func newServe(c *iceberg.Config) *cobra.Command {
	n := &node{config: c}
	cmd := &cobra.Command{
		Use: "serve", Short: "Take profiles, and add them to the table as their time ranges end",
		Long: `serve is a server of profiles, as granary serve, of a directory that is a node of the
table. Ranges of 15 minutes that ended a while ago become units: a file and a commit
each. A unit stays in the directory for the grace, then the table alone has it. Rows
that come late are in a unit of their own, so none is lost and none is there twice.

GET /arrow?after=N has the rows that the table lacks at seal N of the node: sql prints
queries of both, of one state. --grace is at least as long as such a query takes.

The page offers to read what its time has and the directory lacks: the rows of all
nodes, from the table and from what they have and it lacks, into memory. They are
asked as the others, below /older/FROM--TO/; POST /older/FROM--TO/read reads them.

It can be killed and started again at any time. A node is one directory: give each its
own --node, always the same.`,
		Example: `  granary-lake serve --catalog sqlite:lake.db --node db-1 --db /var/lib/granary \
      --listen :4040 --address http://db-1:4040`,
		RunE: func(cmd *cobra.Command, _ []string) error { return n.run(cmd.Context(), cmd.ErrOrStderr()) },
	}
	f := cmd.Flags()
	f.StringVar(&n.id, "node", "", "the `ID` of the node: letters, digits, - and _")
	f.StringVar(&n.dir, "db", "", "the `DIR`ectory of the node; it is made if there is none")
	f.Int64Var(&n.memory, "memory-budget", 1<<30, "`BYTES` of memory for the store")
	f.StringVar(&n.listen, "listen", "localhost:4040", "the `ADDRESS` to listen on; it is open to all who reach it")
	f.StringVar(&n.address, "address", "", "the `URL` where others reach the server, which the table keeps; default: that of --listen, if it is one address")
	f.StringArrayVar(&n.hosts, "host", nil, "a `NAME` of the server beside localhost and IP addresses; may be repeated")
	addDuration(cmd, &n.every, "every", 5*time.Minute, "look for ended ranges after each `DURATION`, about: nodes commit at different times")
	addDuration(cmd, &n.after, "seal-after", 15*time.Minute, "the `DURATION` between the end of a range and its unit, for rows that come late")
	f.Int64Var(&n.result, "max-result", 4<<30, "`BYTES` of an answer, at most; /arrow repeats names row by row")
	f.Int64Var(&n.olderRows, "older-rows", 20_000_000, "the `NUMBER` of older rows that the page reads at most: 5 s a million")
	f.Int64Var(&n.olderMemory, "older-memory", 512<<20, "`BYTES` of memory for older rows, beside --memory-budget; a reading takes more, of symbols up to 1 GiB")
	f.BoolVar(&n.tableOnly, "older-table-only", false, "read older rows from the table alone: other nodes need not run")
	addDuration(cmd, &n.grace, "grace", 10*time.Minute, "the `DURATION` that a unit stays in the directory after its commit")
	return cmd
}

func (n *node) run(ctx context.Context, notes io.Writer) error {
	switch {
	case n.id == "" || n.dir == "":
		return fmt.Errorf("%w: serve needs --node and --db", errUsage)
	case n.every == 0 || n.memory <= 0 || n.olderRows <= 0 || n.olderMemory < 1<<20:
		return fmt.Errorf("%w: --every, --memory-budget and --older-rows are above 0, --older-memory at least 1 MiB", errUsage)
	}
	if n.address != "" {
		u, err := url.Parse(n.address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			return fmt.Errorf("%w: --address %q: want a URL such as http://db-1:4040", errUsage, n.address)
		}
		n.hosts = append(n.hosts, u.Hostname())
	}
	store, err := columnstore.Open(columnstore.Options{Dir: n.dir, MemoryBudget: n.memory})
	if err != nil {
		return fmt.Errorf("directory %s: %w", n.dir, err)
	}
	err = with(ctx, n.config, func(l *iceberg.Lake) error { return n.serve(ctx, l, store, notes) })
	return errors.Join(err, store.Close())
}

// serve takes requests and seals until ctx ends or the server fails.
func (n *node) serve(ctx context.Context, l *iceberg.Lake, store *columnstore.Store, notes io.Writer) error {
	s, err := server.New(store, server.Options{
		Hosts: n.hosts, Limits: server.Limits{ResultBytes: n.result, OlderBytes: n.olderMemory},
		Older: func(ctx context.Context, db *profile.DB, from, to int64, progress func(read, of int64)) error {
			return n.older(ctx, l, db, iceberg.LoadOptions{From: from, To: to, Rows: n.olderRows, TableOnly: n.tableOnly, Progress: progress})
		},
	})
	if err != nil {
		return err
	}
	defer func() { _ = s.Wait(context.WithoutCancel(ctx)) }()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", n.listen)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // the server closes it too
	if n.address == "" {
		if at, ok := listener.Addr().(*net.TCPAddr); ok && at.IP.IsUnspecified() {
			return fmt.Errorf("%w: --listen %s is of all addresses: say with --address where others reach it", errUsage, n.listen)
		}
		n.address = "http://" + listener.Addr().String()
	}
	if err := l.Register(ctx, n.id, n.address); err != nil { // before it takes rows, so that readers know the node
		return err
	}
	fmt.Fprintf(notes, "node %s at %s\n", n.id, n.address)
	web := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, Protocols: new(http.Protocols)}
	web.Protocols.SetHTTP1(true)
	web.Protocols.SetUnencryptedHTTP2(true) // gRPC
	ctx, stop := context.WithCancelCause(ctx)
	var serving sync.WaitGroup
	serving.Go(func() { stop(web.Serve(listener)) })
	n.seal(ctx, &iceberg.Sealer{Lake: l, Node: n.id, Store: store, Table: store.Table(profilesTable), Grace: n.grace}, notes)
	last, end := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer end()
	if err = web.Shutdown(last); errors.Is(err, context.DeadlineExceeded) {
		err = web.Close() // requests that take longer are cut
	}
	serving.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) { // the server failed
		err = errors.Join(cause, err)
	}
	return err
}

// older reads rows for the page.
func (n *node) older(ctx context.Context, l *iceberg.Lake, db *profile.DB, opts iceberg.LoadOptions) error {
	_, err := l.Load(ctx, db, opts)
	if errors.Is(err, iceberg.ErrRows) {
		err = fmt.Errorf("%w: %w", server.ErrLimit, err)
	}
	return err
}

// sealTime bounds a call to the sealer; the next call goes on.
const sealTime = 30 * time.Minute

// seal seals again and again until ctx ends. An error is noted, and the next call goes on.
func (n *node) seal(ctx context.Context, s *iceberg.Sealer, notes io.Writer) {
	for {
		pause := n.every/2 + rand.N(n.every)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		within, end := context.WithTimeout(ctx, sealTime) // so that a catalog that hangs is an error
		var did iceberg.Sealed
		err := limited(func() (err error) {
			did, err = s.Seal(within, time.Now().Add(-n.after))
			return err
		})
		end()
		if did != (iceberg.Sealed{}) {
			fmt.Fprintf(notes, "%d units in the table: %d rows, %d bytes; %d units dropped here\n", did.Units, did.Rows, did.Bytes, did.Dropped)
		}
		if err != nil && ctx.Err() == nil {
			fmt.Fprintln(notes, "granary-lake: seal:", err)
		}
	}
}
