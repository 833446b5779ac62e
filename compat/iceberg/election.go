package iceberg

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// maintainerKey is the property with the process that compacts the table: its name, and the Unix second until which it has that place.
const maintainerKey = "granary.maintainer"

// electedFor is how long a maintainer has its place, unless it renews it. It covers the rewrite of a full file on a slow machine.
const electedFor = 10 * time.Minute

// elect makes a process the one that compacts the table, for ten minutes, or for ten more. ok is false if another one is, which other
// names. The place saves work, and keeps nothing right: of two that think that they have it one works in vain. Clocks of machines may differ by
// minutes. The name is not empty, and has no spaces. The errors are ErrOptions and any from the catalog.
func (l *Lake) elect(ctx context.Context, name string, now time.Time) (other string, ok bool, err error) {
	if name == "" || strings.ContainsAny(name, " \t\n") {
		return "", false, fmt.Errorf("%w: maintainer %q", ErrOptions, name)
	}
	want := fmt.Sprintf("%s %d", name, now.Add(electedFor).Unix())
	err = l.change(ctx, func(t *table.Table) (*table.Transaction, error) {
		holder, until := maintainerOf(t.Properties())
		switch {
		case holder != name && now.Before(until):
			other = holder
			return nil, nil
		case holder == name && until.Sub(now) > electedFor/2:
			other = ""
			return nil, nil
		}
		other = ""
		tx := t.NewTransaction()
		return tx, errors.Join(tx.SetProperties(iceberg.Properties{maintainerKey: want}), tx.AssertRefSnapshotID(""))
	})
	if err != nil || other != "" {
		return other, false, err
	}
	t, err := l.load(ctx) // of two changes at once a REST catalog can take both
	if err != nil {
		return "", false, err
	}
	holder, _ := maintainerOf(t.Properties())
	return holder, holder == name, nil
}

// resign frees the place of elect, if a process has it. The errors are those of the catalog.
func (l *Lake) resign(ctx context.Context, name string) error {
	return l.change(ctx, func(t *table.Table) (*table.Transaction, error) {
		if holder, _ := maintainerOf(t.Properties()); holder != name {
			return nil, nil
		}
		tx := t.NewTransaction()
		return tx, tx.RemoveProperties([]string{maintainerKey})
	})
}

// maintainerOf returns the process that has the place, and until when. A property that has another form counts for none.
func maintainerOf(props iceberg.Properties) (name string, until time.Time) {
	name, text, _ := strings.Cut(props[maintainerKey], " ")
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return "", time.Time{}
	}
	return name, time.Unix(seconds, 0)
}
