package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/granarydb/granary/cmd/granary/internal/dbdir"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/profile"
)

// profilesTable is the profile table in a directory.
const profilesTable = "profiles"

// openDB opens the directory of --db. It creates neither a directory nor a table.
func openDB(ctx context.Context, opts columnstore.Options, source inputSource) (*loaded, error) {
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
	table := l.store.Table(profilesTable)
	if table == nil {
		return fmt.Errorf("the store has no table %q", profilesTable)
	}
	if l.db, err = profile.Open(l.store, profile.Options{Bucket: dbdir.Bucket(table)}); err == nil && manual {
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
