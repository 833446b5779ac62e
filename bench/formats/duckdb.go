//go:build cgo

package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"
	"github.com/google/uuid"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

func init() {
	measured["duckdb"] = func(dir string, rows int64) (report, error) { return measureDuck(dir, rows, false) }
	measured["duckdb-stacks"] = func(dir string, rows int64) (report, error) { return measureDuck(dir, rows, true) }
}

// measureDuck inserts a fleet into DuckDB in memory, and then into a file, whose write-ahead log gets all
// rows before a checkpoint. With stacks, rows have stack numbers, and a second table has the lists of ids.
func measureDuck(dir string, rows int64, stacks bool) (r report, err error) {
	memory, err := openDuck("", stacks)
	if err != nil {
		return r, err
	}
	err = memory.load(rows)
	if err = errors.Join(err, memory.close()); err != nil {
		return r, err
	}
	path, killed := filepath.Join(dir, "store.db"), filepath.Join(dir, "killed.db")
	d, err := openDuck(path, stacks)
	if err != nil {
		return r, err
	}
	if err := d.load(rows); err != nil {
		return r, errors.Join(err, d.close())
	}
	log, err := d.copyTo(path, killed)
	before := measure.CPU()
	if err == nil {
		_, err = d.db.Exec("CHECKPOINT")
	}
	if err = errors.Join(err, d.close()); err != nil {
		return r, err
	}
	written := measure.CPU() - before
	file, err := os.Stat(path)
	if err != nil {
		return r, err
	}
	replay, replayWall, err := duckAgain(killed, d.rows)
	if err != nil {
		return r, err
	}
	opening, _, err := duckAgain(path, d.rows)
	n := float64(d.rows)
	return report{Module: moduleVersion("github.com/duckdb/duckdb-go/v2") + ", " + d.version, Figures: figures{
		"all_in_ns_per_row": float64(memory.spent) / n, "all_in_logged_ns_per_row": float64(d.spent) / n,
		"insert_logged_us_per_call": float64(d.wall) / float64(d.profiles) / 1e3,
		"log_bytes_per_row":         float64(log) / n, "file_bytes_per_row": float64(file.Size()) / n,
		"open_log_ns_per_row": float64(replay) / n, "open_log_wall_ms": float64(replayWall) / 1e6,
		"write_files_ns_per_row": float64(written) / n, "open_files_ns_per_row": float64(opening) / n,
	}}, err
}

// duck is a DuckDB with tables for the fleet.
type duck struct {
	db      *sql.DB
	numbers map[string]int32 // by a stack's ids; nil if rows have the ids
	version string
	fields  []string // the fleet's columns, in the table's order

	rows        int64
	profiles    int
	spent, wall time.Duration // time of inserts
}

// openDuck opens a database in a file, or in memory. It never begins a checkpoint by itself.
func openDuck(path string, stacks bool) (*duck, error) {
	db, err := sql.Open("duckdb", path)
	if err != nil {
		return nil, err
	}
	d := &duck{db: db, fields: fleetColumns()}
	var columns []string
	for _, name := range d.fields {
		columns = append(columns, fmt.Sprintf("%q %s", name, duckType(name, stacks)))
	}
	statements := []string{
		"SET checkpoint_threshold = '1TB'", "PRAGMA disable_checkpoint_on_shutdown",
		"CREATE TABLE profiles (" + strings.Join(columns, ", ") + ")",
	}
	if stacks {
		d.numbers = map[string]int32{}
		statements = append(statements, "CREATE TABLE stacks (number INTEGER, ids UUID[])")
	}
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	if err := db.QueryRow("SELECT version()").Scan(&d.version); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	d.version = "DuckDB " + d.version
	return d, nil
}

// fleetColumns returns the columns in the fleet's profiles.
func fleetColumns() []string {
	f, names := fleet.New(fleet.Seed), map[string]bool{}
	for n := range f.Number(fleet.Place{Scrape: 1}) {
		for name := range f.Profile(n, fleet.Start).Columns {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// duckType returns the type of a fleet column.
func duckType(name string, stacks bool) string {
	switch name {
	case profile.ColumnStacktrace:
		if stacks {
			return "INTEGER"
		}
		return "UUID[]"
	case profile.ColumnTimestamp, profile.ColumnValue, profile.ColumnPeriod, profile.ColumnDuration:
		return "BIGINT"
	}
	return "VARCHAR"
}

// load inserts profiles with an appender, a transaction each, until `rows` rows are in.
func (d *duck) load(rows int64) error {
	ctx := context.Background()
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return err
	}
	err = conn.Raw(func(raw any) error {
		to, err := duckdb.NewAppenderFromConn(raw.(driver.Conn), "", "profiles")
		if err != nil {
			return err
		}
		var stacks *duckdb.Appender
		if d.numbers != nil {
			stacks, err = duckdb.NewAppenderFromConn(raw.(driver.Conn), "", "stacks")
		}
		if err == nil {
			err = d.append(to, stacks, rows)
		}
		if stacks != nil {
			err = errors.Join(err, stacks.Close())
		}
		return errors.Join(err, to.Close())
	})
	return errors.Join(err, conn.Close())
}

// append is load with both tables' appenders.
func (d *duck) append(to, stacks *duckdb.Appender, rows int64) error {
	f, values := fleet.New(fleet.Seed), make([]driver.Value, len(d.fields))
	for ; d.rows < rows; d.profiles++ {
		b := f.Profile(d.profiles, fleet.Start)
		d.rows += int64(b.Rows)
		start, begun := measure.CPU(), time.Now()
		for row := range b.Rows {
			for i, name := range d.fields {
				v, err := d.value(b, name, row, stacks)
				if err != nil {
					return err
				}
				values[i] = v
			}
			if err := to.AppendRow(values...); err != nil {
				return err
			}
		}
		if stacks != nil {
			if err := stacks.Flush(); err != nil {
				return err
			}
		}
		if err := to.Flush(); err != nil {
			return err
		}
		d.spent, d.wall = d.spent+measure.CPU()-start, d.wall+time.Since(begun)
	}
	return nil
}

// value returns a row's value for the appender. A new stack gets a number.
func (d *duck) value(b schema.Batch, name string, row int, stacks *duckdb.Appender) (driver.Value, error) {
	v, ok := b.Columns[name]
	if !ok {
		return nil, nil
	}
	switch v.Type {
	case encoding.String:
		return v.Strings[0], nil
	case encoding.UUIDList:
		ids := duckIDs(v.UUIDLists[row])
		if stacks == nil {
			return ids, nil
		}
		key := make([]byte, 0, 16*len(ids))
		for _, id := range ids {
			key = append(key, id[:]...)
		}
		number, known := d.numbers[string(key)]
		if !known {
			number = int32(len(d.numbers))
			d.numbers[string(key)] = number
			return number, stacks.AppendRow(number, ids)
		}
		return number, nil
	}
	if len(v.Int64s) == 1 { // all rows share it
		return v.Int64s[0], nil
	}
	return v.Int64s[row], nil
}

// duckIDs returns a stack's ids for the appender.
func duckIDs(stack []uuid.UUID) []duckdb.UUID {
	ids := make([]duckdb.UUID, len(stack))
	for i, id := range stack {
		ids[i] = duckdb.UUID(id)
	}
	return ids
}

// copyTo copies the file and its log while no transaction is open, and returns the log's bytes.
func (d *duck) copyTo(from, to string) (log int64, err error) {
	for _, ending := range []string{"", ".wal"} {
		data, err := os.ReadFile(from + ending)
		if err == nil {
			err = os.WriteFile(to+ending, data, 0o600)
		}
		if err != nil {
			return 0, err
		}
		log = int64(len(data))
	}
	return log, nil
}

// close closes the database without a checkpoint.
func (d *duck) close() error { return d.db.Close() }

// duckAgain opens a file that has `rows` rows, until they are counted.
func duckAgain(path string, rows int64) (cpu, wall time.Duration, err error) {
	start, begun := measure.CPU(), time.Now()
	db, err := sql.Open("duckdb", path)
	if err != nil {
		return 0, 0, err
	}
	var found int64
	err = db.QueryRow("SELECT count(*) FROM profiles").Scan(&found)
	cpu, wall = measure.CPU()-start, time.Since(begun)
	if err == nil && found != rows {
		err = fmt.Errorf("%d of %d rows came back", found, rows)
	}
	return cpu, wall, errors.Join(err, db.Close())
}
