package disk_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
)

var (
	simSeed  = flag.Uint64("sim.seed", 1, "first seed of TestSimulation")
	simSeeds = flag.Int("sim.seeds", 1000, "number of seeds of TestSimulation")
	simTrace = flag.Bool("sim.trace", false, "print each operation of TestSimulation")
)

// TestSimulation runs random operations on a log, with crashes and failing calls, against a list
// (D1, D7, D8). A failure has its seed.
func TestSimulation(t *testing.T) {
	total, seeds := map[string]int{}, effort.Less(*simSeeds, 10)
	if effort.Race {
		seeds = min(seeds, 50)
	}
	for seed := *simSeed; seed < *simSeed+uint64(seeds); seed++ {
		h := newHistory(seed)
		if err := h.run(); err != nil {
			t.Fatalf("seed %d, %s: %v", seed, h.options(), err)
		}
		for event, n := range h.events {
			total[event] += n
		}
	}
	for _, event := range []string{
		"append", "steps", "sync", "fault", "heal", "remove", "rotate", "backup", "crash", "kill", "close", "open",
		"refused", "not durable", "write failed", "sync failed", "torn", "lost",
	} {
		if total[event] == 0 && seeds >= 1000 {
			t.Errorf("no history had the event %q", event)
		}
	}
	t.Logf("%d histories: %v", seeds, total)
}

// history is a log and the list of what was appended.
type history struct {
	random *rand.Rand
	fs     *crashfs.FS
	spy    *spy
	opts   disk.Options
	now    time.Time
	log    *disk.Log
	events map[string]int
	err    error

	list    []disk.Entry // all entries; Begin is the index plus 1
	times   []time.Time  // of their room
	durable int          // how many of the list are on the disk for certain
	written int          // how many survive the death of the process
	from    uint64       // the first segment that is read
	removed uint64       // the greatest commit id of the segments before
	faults  []*crashfs.Fault
}

func newHistory(seed uint64) *history {
	h := &history{random: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(0, 0), events: map[string]int{}}
	h.fs = crashfs.New(crashfs.Options{Seed: seed, Sector: 512 << (3 * h.random.IntN(2)), Keep: float64(h.random.IntN(3)) / 2})
	h.opts = disk.Options{
		Sync:         disk.SyncPolicy(h.random.IntN(3)),
		SegmentBytes: 5<<10 + h.random.Int64N(8<<10),
		QueueBytes:   1<<9 + h.random.Int64N(8<<10),
		Manual:       true,
		Now:          func() time.Time { return h.now },
	}
	return h
}

func (h *history) options() string {
	return fmt.Sprintf("policy %d, segments of %d, queue of %d bytes", h.opts.Sync, h.opts.SegmentBytes, h.opts.QueueBytes)
}

// chance reports true once in n.
func (h *history) chance(n int) bool { return h.random.IntN(n) == 0 }

// require records the first violation. It reports whether there is none so far.
func (h *history) require(ok bool, format string, args ...any) bool {
	if !ok && h.err == nil {
		h.err = fmt.Errorf(format, args...)
	}
	return h.err == nil
}

func (h *history) event(name string, args ...any) {
	h.events[name]++
	if *simTrace {
		fmt.Println(h.now.UnixMilli(), name, fmt.Sprint(args...), "list", len(h.list), "durable", h.durable, "written", h.written)
	}
}

func (h *history) run() error {
	h.reopen()
	for range 40 + h.random.IntN(80) {
		if h.err != nil {
			return h.err
		}
		switch n := h.random.IntN(100); {
		case n < 45:
			h.append()
		case n < 57:
			h.steps()
		case n < 67:
			h.now = h.now.Add(time.Duration(h.random.Int64N(1 << (20 + h.random.IntN(13))))) // to 4 s
		case n < 74:
			h.sync()
		case n < 80:
			h.fault()
		case n < 84:
			h.heal()
		case n < 88:
			h.remove()
		case n < 90:
			h.rotate()
		case n < 92:
			h.backup()
		case n < 95:
			h.crash()
		case n < 97:
			h.kill()
		default:
			h.close()
		}
	}
	h.heal()
	h.close()
	return h.err
}

// append appends one to three entries whose rooms are held together.
func (h *history) append() {
	var rooms []*disk.Room
	for range 1 + h.random.IntN(3) {
		size := h.random.Int64N(200)
		if h.chance(12) {
			size = h.random.Int64N(10 << 10)
		}
		urgent := h.chance(8)
		r, err := h.log.Reserve(context.Background(), size, urgent)
		if err != nil {
			h.event("refused", err)
			h.require(errors.Is(err, disk.ErrDisk), "Reserve: %w", err)
			break
		}
		h.checkReserved()
		if h.chance(15) {
			r.Release()
			continue
		}
		rooms = append(rooms, r)
		h.list = append(h.list, h.newEntry(size))
		h.times = append(h.times, h.now)
		r.Append(h.list[len(h.list)-1])
		h.event("append", size)
	}
	for i, r := range rooms {
		err := r.Wait(context.Background())
		if err != nil {
			h.event("not durable", err)
			h.require(errors.Is(err, disk.ErrNotDurable) && h.fired() > 0, "Wait: %w", err)
		} else if h.opts.Sync == disk.SyncEach {
			h.isDurable(len(h.list) - len(rooms) + 1 + i)
		}
	}
}

// newEntry returns an entry that is like no other. One in four has no commit id.
func (h *history) newEntry(size int64) disk.Entry {
	n := uint64(len(h.list))
	e := disk.Entry{Kind: 1 + uint32(h.random.IntN(3)), Begin: n + 1, Body: make([]byte, size)}
	if !h.chance(4) {
		e.Commit = n + 1
	}
	if h.chance(10) {
		e.Body = e.Body[:size/2] // less than was reserved
	}
	for i := range e.Body {
		e.Body[i] = byte(h.random.Uint32())
	}
	return e
}

// checkReserved checks the bounds that hold when room was given.
func (h *history) checkReserved() {
	h.require(h.log.Queued() <= max(h.opts.QueueBytes, 10<<10+48), "%d bytes are queued", h.log.Queued())
	if h.opts.Sync != disk.SyncPeriodically {
		return
	}
	for i := h.durable; i < len(h.times) && h.now.Sub(h.times[i]) >= 2*time.Second; i++ {
		h.isDurable(i + 1)
	}
}

func (h *history) isDurable(n int) {
	h.durable = max(h.durable, n)
	h.written = max(h.written, n)
}

// steps lets the log do what is due, or a part of it.
func (h *history) steps() {
	few := h.random.IntN(4)
	for n := 0; h.log.Step(); n++ {
		if n == few && h.chance(2) {
			return
		}
		if !h.require(n < 20, "there is always something to do") {
			return
		}
	}
	h.event("steps")
	if h.log.Err() != nil {
		return
	}
	for i := h.written; i < len(h.list) && h.now.Sub(h.times[i]) >= 10*time.Millisecond; i++ {
		h.written = i + 1
	}
	if h.opts.Sync == disk.SyncPeriodically {
		for i := h.durable; i < len(h.list) && h.now.Sub(h.times[i]) >= time.Second; i++ {
			h.isDurable(i + 1)
		}
	}
}

func (h *history) sync() {
	commit, n := uint64(everything), len(h.list)
	if h.chance(2) && n > 0 {
		i := h.random.IntN(n)
		commit, n = h.list[i].Commit, 0
		if commit > 0 {
			n = i + 1
		}
	}
	err := h.log.Sync(context.Background(), commit)
	h.event("sync", err)
	if err == nil {
		h.isDurable(n)
	} else {
		h.require(errors.Is(err, disk.ErrNotDurable) && h.fired() > 0, "Sync: %w", err)
	}
}

func (h *history) fault() {
	x := &crashfs.Fault{
		Err:     []error{syscall.EIO, syscall.ENOSPC}[h.random.IntN(2)],
		After:   h.random.IntN(6),
		Forever: h.chance(3),
	}
	if all := []crashfs.Op{crashfs.WriteAt, crashfs.Sync, crashfs.Create, crashfs.Reserve, crashfs.SyncDir, crashfs.Remove}; h.chance(2) {
		x.Ops = []crashfs.Op{all[h.random.IntN(len(all))]}
	} else {
		x.Ops = all
	}
	h.faults = append(h.faults, x)
	h.fs.Fail(x)
	h.event("fault", fmt.Sprintf("%+v", *x))
}

// fired returns the number of calls that failed since the last crash.
func (h *history) fired() (n int) {
	for _, x := range h.faults {
		n += x.Fired
	}
	return n
}

func (h *history) heal() {
	h.fs.Heal()
	h.event("heal")
	if h.chance(2) {
		return
	}
	h.now = h.now.Add(time.Second)
	for n := 0; h.log.Step() && n < 20; n++ {
	}
	h.require(h.log.Err() == nil, "the disk works and the log does not: %w", h.log.Err())
}

// remove removes segments that are recorded as not needed.
func (h *history) remove() {
	segments := h.log.Segments()
	if len(segments) == 0 {
		h.require(h.log.Err() != nil, "no segment is durable")
		return
	}
	h.removeBelow(segments[h.random.IntN(len(segments))])
}

// removeBelow records that the segments before one are not needed, and removes them.
func (h *history) removeBelow(keep disk.Segment) {
	for _, s := range h.log.Segments() {
		if s.Number < keep.Number {
			h.removed = max(h.removed, s.Commit)
		}
	}
	h.from = keep.Number
	err := h.log.RemoveBelow(h.from)
	h.event("remove", keep, err)
	h.require(err == nil || errors.Is(err, disk.ErrDisk) && h.fired() > 0, "RemoveBelow: %w", err)
	left := h.log.Segments()
	h.require(err != nil || len(left) > 0 && left[0] == keep, "segments %v are left", left)
}

// rotate begins a segment. All that was appended before is in those below.
func (h *history) rotate() {
	number, err := h.log.Rotate()
	h.event("rotate", number, err)
	if err != nil {
		h.require(errors.Is(err, disk.ErrDisk) && h.fired() > 0, "Rotate: %w", err)
		return
	}
	h.isDurable(len(h.list))
	segments := h.log.Segments()
	last := segments[len(segments)-1]
	h.require(last.Number == number && last.Size == 4096 && last.Commit == 0, "the newest segment is %v, want an empty one with number %d", last, number)
	again, err := h.log.Rotate()
	h.require(err == nil && again == number, "a second call begins segment %d, %w", again, err)
	if h.chance(2) {
		h.removeBelow(last)
	}
}

// backup copies what Segments has, and reads it.
func (h *history) backup() {
	to := crashfs.New(crashfs.Options{})
	for _, s := range h.log.Segments() {
		if s.Number >= h.from {
			name := disk.FileName("log", s.Number)
			to.Put(name, h.fs.Get(name)[:s.Size])
		}
	}
	if names, _ := to.List(); len(names) == 0 {
		h.require(h.log.Err() != nil, "no segment is durable")
		return
	}
	got, _, err := readLog(to, h.from)
	h.event("backup")
	if h.require(errors.Is(err, io.EOF), "the backup is not whole: %w", err) {
		h.check(got)
	}
}

// check checks that entries are those of the list, from the oldest that is needed to all that are
// durable. It returns how many entries the list has up to their end.
func (h *history) check(got []disk.Entry) int {
	oldest := slices.IndexFunc(h.list, func(e disk.Entry) bool { return e.Commit > h.removed })
	if oldest < 0 {
		oldest = len(h.list)
	}
	gone := 0 // entries that are in removed segments for certain
	for i, e := range h.list[:oldest] {
		if e.Commit > 0 {
			gone = i + 1
		}
	}
	first := max(gone, min(oldest, h.durable))
	if len(got) > 0 {
		first = int(got[0].Begin) - 1
	}
	end := first + len(got)
	h.require(first >= 0 && end <= len(h.list) && first <= oldest && (h.from > 0 || first == 0), "entries %d to %d of %d, wanted from %d", first, end, len(h.list), oldest)
	for i := 0; i < len(got) && h.err == nil; i++ {
		h.require(equal(h.list[first+i], got[i]), "entry %d is %v, want %v", first+i, got[i], h.list[first+i])
	}
	h.require(len(got) == 0 && oldest >= h.durable || end >= h.durable, "the end is at %d, and %d were durable", end, h.durable)
	return max(end, h.durable)
}

// crash ends the machine, at times in the middle of a step.
func (h *history) crash() {
	if h.chance(2) {
		x := &crashfs.Fault{Err: syscall.EIO, After: h.random.IntN(8), Forever: true}
		h.faults = append(h.faults, x)
		h.fs.Fail(x)
		h.append()
		h.now = h.now.Add(time.Duration(h.random.Int64N(int64(3 * time.Second))))
		for range 3 {
			h.log.Step()
		}
	}
	h.fs = h.fs.Crash()
	h.event("crash")
	h.written = h.durable
	h.reopen()
}

// kill ends the process: what was written stays.
func (h *history) kill() {
	h.event("kill")
	h.reopen()
}

func (h *history) close() {
	err := h.log.Close()
	h.event("close", err)
	if err == nil {
		h.isDurable(len(h.list))
	} else {
		h.require(errors.Is(err, disk.ErrNotDurable) && h.fired() > 0, "Close: %w", err)
	}
	h.require(h.spy.open == 0, "%d files are open after Close", h.spy.open)
	h.reopen()
}

// reopen reads the log and opens it. It may fail, and be done again.
func (h *history) reopen() {
	h.fs.Heal()
	if h.chance(3) {
		h.fault()
	}
	for h.err == nil {
		h.spy = &spy{FS: h.fs, history: h}
		got, r, err := readLog(h.spy, h.from)
		if !h.require(errors.Is(err, io.EOF), "the log is not whole: %w", err) {
			return
		}
		end := h.check(got)
		if !h.require(end >= h.written, "the end is at %d, and %d were written", end, h.written) {
			return
		}
		if r.Torn() > 0 {
			h.events["torn"]++
		}
		h.checkSegments(r.Segments(), got)
		h.log, err = disk.OpenLog(r, h.opts)
		if err != nil {
			h.event("refused", err)
			h.require(errors.Is(err, disk.ErrDisk) && h.fired() > 0, "OpenLog: %w", err)
			h.require(h.spy.open == 0, "%d files are open after OpenLog failed", h.spy.open)
			h.fs.Heal()
			if h.chance(3) {
				h.fs, h.written = h.fs.Crash(), h.durable
			}
			continue
		}
		h.events["lost"] += len(h.list) - end
		h.list, h.times = h.list[:end], h.times[:end]
		h.durable, h.written = end, end
		h.event("open")
		return
	}
}

// checkSegments checks the commits that are recorded of segments.
func (h *history) checkSegments(segments []disk.Segment, got []disk.Entry) {
	var want, most uint64
	for _, e := range got {
		want = max(want, e.Commit)
	}
	for _, s := range segments {
		most = max(most, s.Commit)
	}
	h.require(most == want, "segments %v, and the greatest commit is %d", segments, want)
	h.require(slices.IsSortedFunc(segments, func(a, b disk.Segment) int { return int(a.Number) - int(b.Number) }), "segments %v", segments)
}

// spy is an FS that knows which files are open, and wants no write after a failed sync (D7).
type spy struct {
	disk.FS
	history *history
	open    int
}

func (s *spy) Create(name string) (disk.File, error) { return s.wrap(s.FS.Create(name)) }
func (s *spy) Open(name string) (disk.File, error)   { return s.wrap(s.FS.Open(name)) }

func (s *spy) wrap(f disk.File, err error) (disk.File, error) {
	if err != nil {
		return nil, err
	}
	s.open++
	return &spiedFile{File: f, spy: s}, nil
}

type spiedFile struct {
	disk.File
	spy    *spy
	failed bool // a write or a sync
}

func (f *spiedFile) WriteAt(b []byte, offset int64) (int, error) {
	f.spy.history.require(!f.failed, "a write after one that failed, or a sync")
	n, err := f.File.WriteAt(b, offset)
	f.failed = f.failed || err != nil
	f.count("write", err)
	return n, err
}

func (f *spiedFile) Sync() error {
	f.spy.history.require(!f.failed, "a sync after one that failed, or a write")
	err := f.File.Sync()
	f.failed = f.failed || err != nil
	f.count("sync", err)
	return err
}

func (f *spiedFile) Close() error {
	f.spy.open--
	return f.File.Close()
}

func (f *spiedFile) count(what string, err error) {
	if err != nil {
		f.spy.history.events[what+" failed"]++
	}
}
