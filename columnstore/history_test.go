package columnstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

func createHistory(t testing.TB, store *Store, opts HistoryOptions) *History {
	t.Helper()
	h, err := store.CreateHistory("states", opts)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func writerOf(t testing.TB, tx *Tx, h *History) *history.Writer {
	t.Helper()
	w, err := tx.History(h)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func viewOf(t testing.TB, store *Store, h *History) *history.View {
	t.Helper()
	snap, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	view, err := snap.History(h)
	if err != nil {
		t.Fatal(err)
	}
	return view
}

func change(t testing.TB, w *history.Writer, at int64, name string, v history.Value) {
	t.Helper()
	a, err := w.Attribute(name)
	if err == nil {
		err = w.Change(at, a, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func commit(t testing.TB, tx *Tx) {
	t.Helper()
	if _, err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// stateText returns an attribute's state at an instant, or the error.
func stateText(view *history.View, name string, at int64) string {
	a, err := view.Lookup(name)
	if err != nil {
		return "no attribute"
	}
	in, err := view.At(a, at)
	if err != nil {
		return "no instant"
	}
	return in.Value.String()
}

func TestCreateHistory(t *testing.T) {
	store, _ := open(t, Options{Manual: true}, samples(0))
	h := createHistory(t, store, HistoryOptions{Start: 5, MaxAttributes: 2})
	if h.Name() != "states" || store.History("states") != h || store.History("none") != nil {
		t.Errorf("%q, %v, %v", h.Name(), store.History("states"), store.History("none"))
	}
	if _, err := store.CreateHistory("states", HistoryOptions{}); !errors.Is(err, ErrTable) || !strings.Contains(err.Error(), `"states" exists`) {
		t.Errorf("a second one of the name: %v", err)
	}
	if _, err := store.CreateHistory("many", HistoryOptions{MaxAttributes: -1}); !errors.Is(err, history.ErrLimit) || store.History("many") != nil {
		t.Errorf("a negative number of attributes: %v", err)
	}
	if _, err := store.CreateHistory("samples", HistoryOptions{}); err != nil {
		t.Errorf("with the name of a table: %v", err)
	}
	view := viewOf(t, store, h)
	if view.Start() != 5 || view.Instants() || view.Len() != 0 {
		t.Errorf("an empty history begins at %d, %v, %d attributes", view.Start(), view.Instants(), view.Len())
	}
	tx := store.Begin()
	defer tx.Abort()
	w := writerOf(t, tx, h)
	if _, err := w.Attribute("a", "b"); err != nil {
		t.Error(err)
	}
	if _, err := w.Attribute("c"); !errors.Is(err, history.ErrLimit) {
		t.Errorf("the third of two attributes: %v", err)
	}
	broken, _ := open(t, Options{Manual: true}, samples(0))
	broken.opts.Rand = strings.NewReader("seven..")
	if _, err := broken.CreateHistory("h", HistoryOptions{}); !errors.Is(err, io.ErrUnexpectedEOF) || broken.History("h") != nil {
		t.Errorf("without a seed: %v", err)
	}
	broken.Close()
	broken.opts.Rand = strings.NewReader("eight...")
	if _, err := broken.CreateHistory("h", HistoryOptions{}); !errors.Is(err, ErrClosed) || broken.History("h") != nil {
		t.Errorf("in a closed store: %v", err)
	}
}

// A history has one writer at a time: the first transaction that asks gets it, until that transaction
// ends in any way.
func TestTxHistory(t *testing.T) {
	store, _ := open(t, Options{Manual: true}, samples(0))
	h := createHistory(t, store, HistoryOptions{})
	other, _ := open(t, Options{Manual: true}, samples(0))
	ends := map[string]func(tx *Tx){"commit": func(tx *Tx) { commit(t, tx) }, "abort": (*Tx).Abort}
	for name, end := range ends {
		first, second := store.Begin(), store.Begin()
		w := writerOf(t, first, h)
		if writerOf(t, first, h) != w {
			t.Error("a transaction has two writers of one history")
		}
		if _, err := second.History(h); !errors.Is(err, history.ErrBusy) || !strings.Contains(err.Error(), `"states"`) {
			t.Errorf("%s: while another writes: %v", name, err)
		}
		end(first)
		if err := w.Change(0, 0, history.Value{}); !errors.Is(err, history.ErrDone) {
			t.Errorf("%s: a change by a writer that has ended: %v", name, err)
		}
		if _, err := first.History(h); !errors.Is(err, ErrTxDone) {
			t.Errorf("%s: the history of a transaction that has ended: %v", name, err)
		}
		writerOf(t, second, h)
		end(second)
	}
	tx := other.Begin()
	if _, err := tx.History(h); !errors.Is(err, ErrTable) {
		t.Errorf("a history of another store: %v", err)
	}
	tx.Abort()
	if _, err := snapshot(t, other).History(h); !errors.Is(err, ErrTable) {
		t.Errorf("in a snapshot of another store: %v", err)
	}
	tx = store.Begin()
	w := writerOf(t, tx, h)
	change(t, w, 3, "a", history.Int(1))
	if err := w.Close(10); err != nil {
		t.Fatal(err)
	}
	commit(t, tx)
	for range 2 { // the error does not keep the writer
		if _, err := store.Begin().History(h); !errors.Is(err, history.ErrClosed) {
			t.Errorf("a closed history: %v", err)
		}
	}
	if view := viewOf(t, store, h); !view.Closed() || view.End() != 10 {
		t.Errorf("closed: %v, until %d", view.Closed(), view.End())
	}
	snap, tx := snapshot(t, store), store.Begin()
	snap.Close()
	if _, err := snap.History(h); !errors.Is(err, ErrSnapshotClosed) {
		t.Errorf("in a closed snapshot: %v", err)
	}
	store.Close()
	if _, err := tx.History(h); !errors.Is(err, ErrClosed) {
		t.Errorf("in a closed store: %v", err)
	}
}

// Aborted and failed transactions leave nothing, in tables and histories alike. The next
// transaction can write the same states.
func TestTxHistory_Abort(t *testing.T) {
	store, table := open(t, Options{Manual: true, Retention: 10, FutureLimit: -1}, samples(10))
	h := createHistory(t, store, HistoryOptions{})
	tx := store.Begin()
	change(t, writerOf(t, tx, h), 1, "kept", history.Int(1))
	commit(t, tx)
	before := store.Stats()
	held := viewOf(t, store, h)
	ends := map[string]func(tx *Tx){
		"abort": (*Tx).Abort,
		"a bucket that was dropped": func(tx *Tx) {
			insert(t, table, at(1000)) // drops the bucket of the transaction's row
			if _, err := tx.Commit(); !errors.Is(err, ErrTooOld) {
				t.Errorf("commit: %v", err)
			}
		},
		"a closed store": func(tx *Tx) {
			store.Close()
			if _, err := tx.Commit(); !errors.Is(err, ErrClosed) {
				t.Errorf("commit: %v", err)
			}
		},
	}
	for _, name := range []string{"abort", "a bucket that was dropped", "a closed store"} {
		tx := store.Begin()
		w := writerOf(t, tx, h)
		for i := range int64(2000) {
			change(t, w, 2+i, "kept", history.Int(i))
			change(t, w, 2+i, fmt.Sprint("new", i%10), history.Int(i))
		}
		row := int64(1)
		if name == "a closed store" {
			row = 1001
		}
		if err := tx.Insert(t.Context(), table, at(row)); err != nil {
			t.Fatal(err)
		}
		ends[name](tx)
		if h.busy.Load() {
			t.Errorf("%s: the history still has a writer", name)
		}
		view := held
		if name != "a closed store" {
			view = viewOf(t, store, h)
		}
		if view.End() != 1 || view.Len() != 1 || stateText(view, "kept", 1) != "1" || stateText(view, "new1", 1) != "no attribute" {
			t.Errorf("%s: the history ends at %d, with %d attributes", name, view.End(), view.Len())
		}
		if after := store.Stats(); after.PendingBytes != 0 || after.HistoryBytes > before.HistoryBytes+64<<10 {
			t.Errorf("%s: %d bytes are pending, histories have %d, had %d", name, after.PendingBytes, after.HistoryBytes, before.HistoryBytes)
		}
	}
}

// A view never changes, whatever happens to its history later (C2). The same holds for a
// snapshot from before the history was created.
func TestSnapshotHistory_Held(t *testing.T) {
	store, _ := open(t, Options{Manual: true}, samples(0))
	before := snapshot(t, store)
	h := createHistory(t, store, HistoryOptions{})
	type look struct {
		view *history.View
		end  int64
		text string
	}
	texts := func(view *history.View) string {
		var b strings.Builder
		for name := range view.Children(history.Top) {
			for in, err := range view.Range(name, view.Start(), view.End(), history.RangeOptions{}) {
				fmt.Fprintln(&b, name, in, err)
			}
		}
		return b.String()
	}
	var looks []look
	for i := range int64(20) {
		tx := store.Begin()
		w := writerOf(t, tx, h)
		for k := range 30 * i { // growing, so that tiles are sealed
			change(t, w, i*10000+k, fmt.Sprint("a", k%7), history.Int(k%3))
		}
		change(t, w, i*10000, fmt.Sprint("b", i), history.String("there"))
		commit(t, tx)
		view := viewOf(t, store, h)
		looks = append(looks, look{view, view.End(), texts(view)})
	}
	tx := store.Begin()
	if err := writerOf(t, tx, h).Close(1 << 40); err != nil {
		t.Fatal(err)
	}
	commit(t, tx)
	for i, l := range looks {
		if got := texts(l.view); l.view.End() != l.end || l.view.Closed() || got != l.text {
			t.Errorf("view %d ends at %d, was %d; it says\n%.300s\nand said\n%.300s", i, l.view.End(), l.end, got, l.text)
		}
	}
	view, err := before.History(h)
	if err != nil || view.Instants() || view.Len() != 0 {
		t.Errorf("before the history was made: %v, %d attributes, %v", view.Instants(), view.Len(), err)
	}
}

// samplesAndStates is a task that writes rows at the instants after the last change, and
// states that begin there.
func samplesAndStates(n int, commit bool) func(*simRun, *transcript) {
	return func(h *simRun, s *transcript) {
		tx := h.store.Begin()
		defer tx.Abort()
		w, err := tx.History(h.states)
		if errors.Is(err, history.ErrBusy) {
			s.saw["busy"] = append(s.saw["busy"], "")
			return
		}
		c := simCommit{rows: make([][]string, len(h.tables))}
		for i := range int64(n) {
			at := h.stateTime + 1 + i
			var a history.Attribute
			if err == nil {
				a, err = w.Attribute("sim", "a0")
			}
			if err == nil {
				err = w.Change(at, a, history.Int(at))
			}
			b, rows := h.rowsAt(int(at))
			if err == nil {
				err = tx.Insert(context.Background(), h.tables[0], b)
			}
			c.rows[0] = append(c.rows[0], rows...)
			c.states = append(c.states, simChange{"a0", at, history.Int(at)})
		}
		if err == nil && commit {
			var id txn.ID
			if id, err = tx.Commit(); err == nil {
				h.commits.Add(uint64(id), c)
				h.committedStates(c.states)
			}
		}
		if err != nil {
			h.fail("%v", err)
		}
	}
}

// lookAtBoth reads the rows and the states of one snapshot, in either order.
func lookAtBoth(name string, statesFirst bool) func(*simRun, *transcript) {
	return func(h *simRun, s *transcript) {
		h.snapshot(func(snap *Snapshot) {
			states := func() {
				view, err := snap.History(h.states)
				if err != nil {
					h.fail("%v", err)
					return
				}
				var times []string
				if a, err := view.Lookup("sim", "a0"); err == nil {
					for in, err := range view.Range(a, view.Start(), view.End(), history.RangeOptions{}) {
						if err != nil || !in.Value.IsNull() && in.Value.Int() != in.Start {
							h.fail("%+v, %v", in, err)
						}
						if !in.Value.IsNull() {
							times = append(times, fmt.Sprint(in.Start))
						}
					}
				}
				s.saw[name+" states"] = append(s.saw[name+" states"], strings.Join(times, ","))
			}
			if statesFirst {
				states()
			}
			s.look(h, name, snap, 0)
			if !statesFirst {
				states()
			}
		})
	}
}

// A reader never sees a sample without the state at its time, or a state without the sample
// (read skew, G-single, and aborted and intermediate reads, between a table and a history).
func TestAnomaly_GSingle_ReadSkewOfTableAndHistory(t *testing.T) {
	busy, saw := 0, map[string]bool{}
	check := func(t *testing.T, s *transcript) {
		busy += len(s.saw["busy"])
		for _, name := range []string{"one", "two"} {
			if !slices.Equal(s.saw[name], s.saw[name+" states"]) {
				t.Errorf("rows at %q, states from %q", s.saw[name], s.saw[name+" states"])
			}
			for _, times := range s.saw[name] {
				saw[times] = true
			}
		}
	}
	for _, bucket := range []int64{0, 2} {
		if effort.Brief() && bucket > 0 {
			continue // one goroutine runs at a time
		}
		script(t, bucket, 1, nil, check, samplesAndStates(3, true), samplesAndStates(2, true), lookAtBoth("one", true), lookAtBoth("two", false))
		script(t, bucket, 1, nil, check, samplesAndStates(2, false), samplesAndStates(2, true), lookAtBoth("one", true), rewriter)
	}
	if busy == 0 || len(saw) != 4 { // nothing, the states of either writer, all
		t.Errorf("%d writers found the history busy, readers saw %q", busy, slices.Sorted(maps.Keys(saw)))
	}
}

// The same with real threads, while tiles are sealed and granules rewritten.
func TestHistory_SamplesAndStatesTogether(t *testing.T) {
	const commits, perCommit, threads = 150, 20, 5
	store, table := open(t, Options{FutureLimit: -1, GranuleRows: 200, FreshParts: 2}, samples(500))
	h := createHistory(t, store, HistoryOptions{})
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for last := int64(-1); ctx.Err() == nil; {
				last = checkTogether(t, store, table, h, last)
			}
		})
	}
	for i := range int64(commits) {
		tx := store.Begin()
		w := writerOf(t, tx, h)
		b := schema.Batch{Rows: perCommit, Columns: map[string]encoding.Vector{
			"kind": encoding.Strings("k"), "stack": encoding.UUIDLists([]uuid.UUID{{1}}), "value": encoding.Int64s(1),
		}}
		var at []int64
		var tags []string
		for k := range int64(perCommit) {
			thread := fmt.Sprint("t", k%threads)
			at, tags = append(at, i*perCommit+k), append(tags, thread)
			change(t, w, i*perCommit+k, thread, history.Int(i*perCommit+k))
		}
		b.Columns["time"], b.Columns["tags.thread"] = encoding.Int64s(at...), encoding.Strings(tags...)
		err := tx.Insert(ctx, table, b)
		if i%10 == 9 { // no reader may see it
			tx.Abort()
			tx = store.Begin()
			w = writerOf(t, tx, h)
			for k, thread := range tags {
				change(t, w, at[k], thread, history.Int(at[k]))
			}
			err = errors.Join(err, tx.Insert(ctx, table, b))
		}
		if err != nil {
			t.Fatal(err)
		}
		commit(t, tx)
	}
	stop()
	wg.Wait()
	if last := checkTogether(t, store, table, h, -1); last != commits*perCommit-1 {
		t.Errorf("the last row is at %d", last)
	}
}

// checkTogether compares each row of a new snapshot with the state that begins at its time. It returns
// the time of the last row, which must not precede the last time seen.
func checkTogether(t *testing.T, store *Store, table *Table, h *History, last int64) int64 {
	snap, err := store.Snapshot()
	if err != nil {
		t.Error(err)
		return last
	}
	defer snap.Close()
	groups, err := table.Aggregate(context.Background(), snap, AggregateOptions{By: []string{"time", "tags.thread"}})
	view, viewErr := snap.History(h)
	if err := errors.Join(err, viewErr); err != nil {
		t.Error(err)
		return last
	}
	newest := int64(-1)
	for i, at := range groups.Columns[0].Values.Int64s {
		newest = max(newest, at)
		if got := stateText(view, groups.Columns[1].Values.Strings[i], at); got != fmt.Sprint(at) {
			t.Errorf("a row at %d of %d has the state %s", at, len(groups.Counts), got)
		}
	}
	if view.Instants() && view.End() != newest || newest < last {
		t.Errorf("rows until %d, states until %d, seen before %d", newest, view.End(), last)
	}
	return newest
}

// An expired snapshot does not return its history any more. A view taken from it before stays
// readable.
func TestSnapshotHistory_Expired(t *testing.T) {
	store, table := tight(t, 6)
	h := createHistory(t, store, HistoryOptions{})
	tx := store.Begin()
	change(t, writerOf(t, tx, h), 1, "a", history.Int(7))
	commit(t, tx)
	for i := range int64(30) {
		insert(t, table, heavy(i*10, 500))
	}
	snap := snapshot(t, store)
	view, err := snap.History(h)
	if err != nil {
		t.Fatal(err)
	}
	for i := int64(30); store.Stats().Expired == 0; i++ {
		if insert(t, table, heavy(i*10, 500)); i > 100 {
			t.Fatal("the snapshot does not expire")
		}
	}
	if _, err := snap.History(h); !errors.Is(err, ErrSnapshotExpired) {
		t.Errorf("of an expired snapshot: %v", err)
	}
	if got := stateText(view, "a", 1); got != "7" {
		t.Errorf("the view says %s", got)
	}
}
