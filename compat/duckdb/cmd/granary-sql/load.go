//go:build cgo

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/input"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
)

// loaded is a store with the inputs' profiles.
type loaded struct {
	store        *columnstore.Store
	db           *profile.DB
	labels       input.Labels
	good, failed int // loaded profiles, and failures reported on stderr
}

// load inserts every profile in the inputs. It returns an error if no profile could be inserted, or if ctx ends.
func load(ctx context.Context, stderr io.Writer, inputs []string) (*loaded, error) {
	store, err := columnstore.Open(columnstore.Options{FutureLimit: -1}) // a profile may come from a machine with a different clock
	if err != nil {
		return nil, err
	}
	l := &loaded{store: store}
	if l.db, err = profile.Open(store, profile.Options{Table: "samples"}); err != nil {
		store.Close()
		return nil, err
	}
	fail := func(err error) {
		if err != nil {
			l.failed++
			fmt.Fprintf(stderr, "granary-sql: %s\n", err)
		}
	}
	for _, arg := range inputs {
		for name, err := range input.Names(arg) {
			if ctx.Err() != nil {
				store.Close()
				return nil, ctx.Err()
			}
			if err == nil {
				err = l.add(ctx, name)
			}
			fail(err)
		}
	}
	if l.good == 0 {
		store.Close()
		return nil, errors.New("there is no profile in the inputs")
	}
	return l, nil
}

// add inserts one profile, labelled with its name.
func (l *loaded) add(ctx context.Context, name string) error {
	data, at, err := new(input.Web).Read(ctx, name)
	if err != nil {
		return err
	}
	opts := profile.InsertOptions{Labels: map[string]string{"file": l.labels.Of(name)}, Time: at}
	if _, err := format.Insert(ctx, l.db, data, format.Hints{}, opts); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	l.good++
	return nil
}
