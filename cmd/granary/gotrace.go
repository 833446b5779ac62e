package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/states"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/input"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
	"github.com/granarydb/granary/trace/golang"
)

// isGoTrace reports whether a file is a Go execution trace, which is read as a stream, because it can be long.
func isGoTrace(name string) bool { return golang.Magic(input.Head(name)) }

// addTrace inserts the CPU samples of a Go execution trace, and with l.withStates its states too, as a history.
func (l *loaded) addTrace(ctx context.Context, h heldProfile) error {
	open := func() (io.ReadCloser, error) {
		if h.data == nil {
			return l.source.web.Open(ctx, h.name)
		}
		return io.NopCloser(format.Plain(bytes.NewReader(h.data))), nil
	}
	if l.dir != nil { // a load of nothing that can be read makes none
		if err := l.probeTrace(open); err != nil {
			return fmt.Errorf("%s: %w", h.name, err)
		}
		if err := l.makeDir(); err != nil {
			return dirError{l.source.explain(err)}
		}
	}
	in, err := open()
	if err != nil {
		return err
	}
	defer in.Close()
	if l.withStates {
		return l.addStates(ctx, h, in)
	}
	tx, rows := l.store.Begin(), 0
	for p, err := range format.GoSamples(in, profile.Limits{Bytes: math.MaxInt}) {
		if broken, is := errors.AsType[*format.BrokenError](err); is {
			fmt.Fprintf(l.notes, "granary: %s: %s: what is before it is read, and the rest is lost\n", cli.Printable(h.name), cli.OneLine(broken))
			break
		}
		n := 0
		if err == nil {
			n, err = p.InsertTx(ctx, l.db, tx, h.opts)
		}
		if err != nil {
			tx.Abort()
			return fmt.Errorf("%s: %w", h.name, err)
		}
		rows += n
	}
	if _, err := tx.Commit(); err != nil {
		return fmt.Errorf("%s: %w", h.name, err)
	}
	l.rows += rows
	return nil
}

// probeTrace returns why a trace has no event that can be read.
func (l *loaded) probeTrace(open func() (io.ReadCloser, error)) error {
	in, err := open()
	if err != nil {
		return err
	}
	defer in.Close()
	r, err := golang.NewReader(in, math.MaxInt64)
	if err == nil {
		err = r.Peek()
	}
	return err
}

// addStates inserts a trace's samples together with its states.
func (l *loaded) addStates(ctx context.Context, h heldProfile, in io.Reader) error {
	name := states.NameIn(l.store, l.source.tenant, h.name)
	if l.source.history != "" {
		if name = profile.TenantName(l.source.tenant, l.source.history); l.store.History(name) != nil {
			return cli.Usage(fmt.Errorf("there is a history %q already: choose another --name", l.source.history))
		}
	}
	err := states.AddSampled(ctx, l.store, states.Sampled{
		Name: name, File: h.name, From: in, Begun: h.opts.Time, Notes: l.notes,
		Samples: func(tx *columnstore.Tx, some []golang.Sampled) error {
			if len(some) == 0 {
				return nil
			}
			p := format.OfGoSamples(some, true)
			n, err := p.InsertTx(ctx, l.db, tx, h.opts)
			l.rows += n
			return err
		},
	})
	if err == nil {
		own, _ := strings.CutPrefix(name, profile.TenantName(l.source.tenant, ""))
		l.histories = append(l.histories, own)
	}
	return err
}
