package columnstore_test

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/script"
)

// series prints the tags of the series that have rows.
func (s *scripted) series(c *script.Command) error {
	return s.view(c, func(snap *columnstore.Snapshot) error {
		all, err := s.table.Series(context.Background(), snap, parseWhere(c))
		for _, series := range all {
			var tags []string
			for _, label := range series {
				tags = append(tags, strings.TrimPrefix(label.Name, "tag.")+"="+label.Value)
			}
			c.Printf("%s\n", strings.Join(tags, " "))
		}
		return err
	})
}

// columns prints the names of the columns.
func (s *scripted) columns(c *script.Command) error {
	return s.view(c, func(snap *columnstore.Snapshot) error {
		names, err := s.table.Columns(snap)
		c.Printf("%s\n", strings.Join(names, " "))
		return err
	})
}

// note adds the lines of the input, one note each. With times, each stands for as many notes, in which * is their number.
func (s *scripted) note(c *script.Command) error {
	times, name := c.Int("times", 1), c.Text("tx", "")
	for i := range times {
		tx := s.store.Begin()
		if name != "" {
			tx = s.txs[s.known(c, name)]
		}
		for _, line := range c.Input {
			tx.Note(s.table, strings.ReplaceAll(line, "*", strconv.Itoa(i)))
		}
		if name != "" {
			continue
		}
		if _, err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// notes prints the notes, or how many there are.
func (s *scripted) notes(c *script.Command) error {
	count := c.Has("count")
	return s.view(c, func(snap *columnstore.Snapshot) error {
		notes, err := s.table.Notes(snap)
		if count {
			c.Printf("%d notes\n", len(notes))
			return err
		}
		for _, note := range notes {
			c.Printf("%s\n", note)
		}
		return err
	})
}

// drop drops the hours before a time.
func (s *scripted) drop(c *script.Command) error {
	id, err := s.table.DropBefore(context.Background(), clockTime(c, c.Text("before", "")).UnixNano())
	if err == nil {
		c.Printf("commit %d\n", id)
	}
	return err
}

// seal makes units of the buckets that end before a time, and prints them.
func (s *scripted) seal(c *script.Command) error {
	units, err := s.table.Seal(context.Background(), clockTime(c, c.Text("before", "")).UnixNano())
	printUnits(c, units)
	return err
}

// units prints the buckets, sealed and not.
func (s *scripted) units(c *script.Command) error {
	return s.view(c, func(snap *columnstore.Snapshot) error {
		units, last, err := s.table.Units(snap)
		printUnits(c, units)
		c.Printf("the last unit is %d\n", last)
		return err
	})
}

func printUnits(c *script.Command, units []columnstore.Unit) {
	text := func(at int64) string { return shortTime(time.Unix(0, at).UTC().Format(time.TimeOnly)) }
	for _, u := range units {
		name := "unit " + strconv.FormatUint(u.ID, 10)
		if u.ID == 0 {
			name = "not sealed"
		}
		c.Printf("%s: %s from %s to %s\n", name, countOf(int(u.Rows)), text(u.First), text(u.Last))
	}
}

// dropUnits drops units: drop-units 1 3.
func (s *scripted) dropUnits(c *script.Command) error {
	var ids []uint64
	for _, pair := range c.Rest() {
		id, err := strconv.ParseUint(pair[0], 10, 64)
		if err != nil {
			c.Fatalf("%s is no unit", pair[0])
		}
		ids = append(ids, id)
	}
	id, err := s.table.Drop(context.Background(), ids)
	switch {
	case err != nil:
	case id == 0:
		c.Printf("nothing to drop\n")
	default:
		c.Printf("commit %d\n", id)
	}
	return err
}

// restart closes the store, which writes its files, and opens it again.
func (s *scripted) restart(*script.Command) error {
	s.end()
	return s.reopen()
}

// crash ends the process at once, when all commits are in the log, and opens the store again.
func (s *scripted) crash(*script.Command) error {
	if err := s.store.Sync(context.Background()); err != nil {
		return err
	}
	left := s.opts.FS.(*crashfs.FS).Crash()
	s.end()
	s.opts.FS = left
	return s.reopen()
}

func (s *scripted) reopen() (err error) {
	s.opts.Rand = strings.NewReader("a seed that is always the same")
	if s.store, err = columnstore.Open(s.opts); err != nil {
		return err
	}
	s.table = s.store.Table("requests")
	return nil
}
