package columnstore_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
)

// The intervals of two threads in a range of time, as an Arrow record that an engine or a data
// frame accepts.
func ExampleHistoryScan() {
	store, err := columnstore.Open(columnstore.Options{})
	check(err)
	defer store.Close()
	states, err := store.CreateHistory("threads", columnstore.HistoryOptions{})
	check(err)
	tx := store.Begin()
	w, err := tx.History(states)
	check(err)
	for _, change := range []struct {
		time   int64
		thread string
		value  history.Value
	}{
		{0, "4297", history.String("running")},
		{10, "17", history.String("waiting")},
		{25, "4297", history.String("waiting")},
		{40, "17", history.Value{}},
	} {
		a, err := w.Attribute("Threads", change.thread)
		check(err)
		check(w.Change(change.time, a, change.value))
	}
	_, err = tx.Commit()
	check(err)

	snap, err := store.Snapshot()
	check(err)
	defer snap.Close()
	view, err := snap.History(states)
	check(err)
	threads, err := view.Match(history.Literal("Threads"), history.Any)
	check(err)
	scan := columnstore.HistoryScan{
		View: view, Attributes: threads, NoNulls: true, Form: columnstore.Plain,
		Columns: []string{"attribute", "start", "end", "open", "value_string"},
	}
	for record, err := range scan.Range(context.Background(), view.Start(), view.End()) {
		check(err)
		for row := range int(record.NumRows()) {
			var cells []string
			for _, column := range record.Columns() {
				cells = append(cells, column.ValueStr(row))
			}
			fmt.Println(strings.Join(cells, " "))
		}
		record.Release()
	}
	// Output:
	// Threads/4297 0 24 false running
	// Threads/4297 25 40 true waiting
	// Threads/17 10 39 false waiting
}
