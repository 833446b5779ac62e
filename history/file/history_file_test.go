package file

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/fields"
	"github.com/granarydb/granary/internal/tile"
)

// TestSame: after each Sync the file has what memory has, through open lanes, drops, aborts and a close,
// and so has the history that is being written.
func TestSame(t *testing.T) {
	for seed := range uint64(6) {
		disk := crashfs.New(crashfs.Options{})
		p, err := newPair(t, seed, disk)
		must(t, err)
		for round := range 8 {
			p.commit(t, 400, round == 7)
			if p.rng.IntN(3) == 0 || round == 7 {
				must(t, p.sync())
				must(t, checkOpen(t, disk, p.synced[len(p.synced)-1:]).Close())
			}
		}
		d, err := p.file.History.BeginDrop()
		must(t, err)
		v, err := d.Commit()
		must(t, err)
		if problem, err := differ(p.synced[len(p.synced)-1], v); problem != "" || err != nil {
			t.Fatal(problem, err)
		}
		must(t, p.file.Close())
	}
}

// TestCut cuts a small file at every byte: what is left has the last state whose end is in it, or there
// is an error.
func TestCut(t *testing.T) {
	whole, ends, states := smallFile(t)
	for size := range whole {
		disk := crashfs.New(crashfs.Options{})
		disk.Put("a", whole[:size])
		n := 0
		for n < len(ends) && ends[n] <= int64(size) {
			n++
		}
		if n == 0 {
			if _, err := Open("a", options(disk)); !isDamage(err) {
				t.Fatalf("%d bytes: %v", size, err)
			}
			continue
		}
		if r := checkOpen(t, disk, states[n-1:n]); r.Lost != int64(size)-ends[n-1] {
			t.Fatalf("%d bytes: %d are lost behind %d", size, r.Lost, ends[n-1])
		}
	}
}

// smallFile returns a file with three states, where the end of each is, and the states.
func smallFile(t testing.TB) (whole []byte, ends []int64, states []*history.View) {
	disk := crashfs.New(crashfs.Options{})
	p, err := newPair(t, 3, disk)
	must(t, err)
	ends = append(ends, int64(len(disk.Get("a"))))
	for _, closes := range []bool{false, true} {
		p.commit(t, 40, closes)
		must(t, p.sync())
		ends = append(ends, int64(len(disk.Get("a"))))
	}
	if _, problem := p.synced[0], p.good; problem != 3 {
		t.Fatal(problem)
	}
	return disk.Get("a"), ends, p.synced
}

func isDamage(err error) bool {
	var damage *disk.DamagedError
	return errors.As(err, &damage)
}

// TestFlip flips every bit of a small file: opening it or a query has an error, or it has an earlier
// state and says so, or all is right.
func TestFlip(t *testing.T) {
	effort.Long(t)
	whole, ends, states := smallFile(t)
	counts := map[string]int{}
	step := int64(1)
	if effort.Race {
		step = 31
	}
	for bit := int64(0); bit < int64(len(whole))*8; bit += step {
		disk := crashfs.New(crashfs.Options{})
		disk.Put("a", whole)
		disk.Flip("a", bit)
		r, err := Open("a", options(disk))
		disk.Flip("a", bit) // the bytes are shared
		if err != nil {
			if !isDamage(err) {
				t.Fatalf("bit %d: %v", bit, err)
			}
			counts["refused"]++
			continue
		}
		n := len(states) - 1
		if r.Lost > 0 {
			if n--; r.Lost != ends[2]-ends[1] || bit < 8*(ends[2]-endSize) {
				t.Fatalf("bit %d: %d bytes are lost", bit, r.Lost)
			}
		}
		disk.Flip("a", bit)
		problem, err := differ(states[n], r.View)
		damage := r.Verify()
		disk.Flip("a", bit)
		if problem != "" || err != nil && !isDamage(err) || (err != nil) != (damage != nil) {
			t.Fatalf("bit %d: %s, %v, %v", bit, problem, err, damage)
		}
		switch {
		case err != nil:
			counts["damaged block"]++
		case r.Lost > 0:
			counts["earlier"]++
		default:
			counts["whole"]++
		}
	}
	t.Logf("%d bytes: %v", len(whole), counts)
	if least := int(1000 / step); counts["refused"] < least || counts["damaged block"] < least || counts["earlier"] < 8*endSize/int(step) {
		t.Error(counts)
	}
}

// TestFaults lets each call of a writer fail, once or from then on, and crashes afterwards: Sync has an error from then on, and
// the file has the last state that was synced, or that of the Sync that failed.
func TestFaults(t *testing.T) {
	for _, kind := range []crashfs.Fault{
		{Err: syscall.EIO},
		{Err: syscall.ENOSPC, Ops: []crashfs.Op{crashfs.WriteAt}, Forever: true},
		{Err: syscall.EIO, Ops: []crashfs.Op{crashfs.Sync}, Forever: true},
	} {
		for after, cause := 0, kind.Err; ; after++ {
			disk := crashfs.New(crashfs.Options{Seed: uint64(after), Keep: 0.5})
			fault := &kind
			fault.After, fault.Fired = after, 0
			disk.Fail(fault)
			p, err := newPair(t, uint64(after), disk)
			if err != nil {
				if !errors.Is(err, cause) || disk.Get("a") != nil {
					t.Fatalf("call %d: %v", after, err)
				}
				continue
			}
			for range 5 {
				p.commit(t, 300, false)
				if err := p.sync(); fault.Fired > 0 && !errors.Is(err, cause) || fault.Fired == 0 && err != nil {
					t.Fatalf("call %d: %v", after, err)
				}
			}
			r := checkOpen(t, disk.Crash(), p.synced[p.good-1:min(p.good+1, len(p.synced))])
			must(t, r.Close())
			if fault.Fired == 0 {
				disk.Heal()
				must(t, p.file.Close())
				break
			}
			if err := p.file.Close(); !errors.Is(err, cause) {
				t.Fatalf("call %d: Close() = %v", after, err)
			}
		}
	}
}

// TestCrash kills writers between two Syncs: what was synced is there, and the rest is not.
func TestCrash(t *testing.T) {
	lost := 0
	for seed := range uint64(6) {
		disk := crashfs.New(crashfs.Options{Seed: seed, Keep: float64(seed%3) / 2})
		p, err := newPair(t, seed, disk)
		must(t, err)
		p.commit(t, 200, false)
		must(t, p.sync())
		p.commit(t, 25000, false) // more than a block
		r := checkOpen(t, disk.Crash(), p.synced[1:])
		lost += int(r.Lost)
		must(t, p.file.Close())
	}
	if lost < 64<<10 {
		t.Errorf("%d bytes are lost: no block was written between two Syncs", lost)
	}
}

// TestUnread: a query whose block cannot be read has that error, and answers once it can.
func TestUnread(t *testing.T) {
	disk := crashfs.New(crashfs.Options{})
	p, err := newPair(t, 5, disk)
	must(t, err)
	p.commit(t, 3000, true)
	must(t, p.sync())
	r, err := Open("a", options(disk))
	must(t, err)
	disk.Fail(&crashfs.Fault{Err: syscall.EIO, Ops: []crashfs.Op{crashfs.ReadAt}, Forever: true})
	mid := r.View.End() / 2
	_, at := r.View.At(1, mid)
	_, slice := r.View.Slice(mid)
	_, into := r.View.SliceInto(nil, mid)
	_, sample := r.View.Sample(nil, []int64{mid})
	c, err := r.View.Cursor(1)
	must(t, err)
	_, move := c.MoveTo(mid)
	for i, err := range []error{at, slice, into, sample, move} {
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("query %d: %v", i, err)
		}
	}
	for in, err := range r.View.Range(1, mid, mid+9, history.RangeOptions{}) {
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("Range has %v, %v", in, err)
		}
	}
	disk.Heal()
	if problem, err := differ(p.synced[1], r.View); problem != "" || err != nil {
		t.Error(problem, err)
	}
}

// TestUnread_Abort: an abort that needs a block which cannot be read leaves a history that is read, and
// takes no more transactions.
func TestUnread_Abort(t *testing.T) {
	disk := crashfs.New(crashfs.Options{})
	w, err := Create("a", options(disk))
	must(t, err)
	for round := range int64(6) { // more blocks than the cache has
		d, err := w.History.Begin()
		must(t, err)
		for _, name := range []string{"old", "new"} {
			a, err := d.Attribute(name)
			must(t, err)
			for at := range int64(600) {
				if name == "new" || round == 0 {
					must(t, d.Change(1000*round+at, a, history.Int(at)))
				}
			}
		}
		_, err = d.Commit()
		must(t, err)
		must(t, w.Sync())
	}
	d, err := w.History.Begin()
	must(t, err)
	must(t, d.Change(7000, 0, history.Int(-1)))
	disk.Fail(&crashfs.Fault{Err: syscall.EIO, Ops: []crashfs.Op{crashfs.ReadAt}, Forever: true})
	d.Abort()
	disk.Heal()
	if _, err := w.History.Begin(); !errors.Is(err, history.ErrBusy) {
		t.Errorf("Begin() = %v", err)
	}
	if err := w.Sync(); !errors.Is(err, history.ErrBusy) {
		t.Errorf("Sync() = %v", err)
	}
	r, err := Open("a", options(disk))
	must(t, err)
	if in, err := r.View.At(0, 5000); err != nil || in.Start != 599 || in.Value != history.Int(599) {
		t.Error(in, err)
	}
}

// TestThreads reads views of a history, and its file, while it is written: through a cache that has room
// for few blocks.
func TestThreads(t *testing.T) {
	disk := crashfs.New(crashfs.Options{})
	p, err := newPair(t, 6, disk)
	must(t, err)
	for range 3 {
		p.commit(t, 12000, false)
		must(t, p.sync())
		d, err := p.file.History.BeginDrop()
		must(t, err)
		v, err := d.Commit()
		must(t, err)
		want := p.synced[len(p.synced)-1]
		r, err := Open("a", options(disk))
		must(t, err)
		var readers sync.WaitGroup
		for _, got := range []*history.View{v, r.View, r.View} {
			readers.Go(func() {
				if problem, err := differ(want, got); problem != "" || err != nil {
					t.Error(problem, err)
				}
			})
		}
		p.commit(t, 6000, false)
		readers.Wait()
	}
	must(t, p.file.Close())
}

// TestHeap writes and reads a file with a cache of four blocks: the heap does not grow with the file, and
// states are read as written.
func TestHeap(t *testing.T) {
	effort.Long(t)
	if effort.Race {
		t.Skip("the race detector has a heap of its own")
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	disk := disk.System(t.TempDir())
	o := Options{FS: disk, Cache: 1}
	before := heap()
	w, err := Create("a", o)
	must(t, err)
	rng := rand.New(rand.NewPCG(1, 1))
	type state struct {
		a  history.Attribute
		at int64
		v  history.Value
	}
	var known []state
	at := int64(0)
	for range 200 {
		d, err := w.History.Begin()
		must(t, err)
		for i := range 5000 {
			a, err := d.Attribute("thread", strconv.Itoa(i%40))
			must(t, err)
			at += rng.Int64N(1 << 20)
			v := history.Int(rng.Int64N(1 << 20))
			must(t, d.Change(at, a, v))
			if i == 99 {
				known = append(known, state{a, at, v})
			}
		}
		_, err = d.Commit()
		must(t, err)
	}
	writing := heap() - before
	must(t, w.Close())
	file := w.size
	w = nil
	r, err := Open("a", o)
	must(t, err)
	for _, s := range known {
		if in, err := r.View.At(s.a, s.at); err != nil || in.Start != s.at || in.Value != s.v {
			t.Fatalf("%v at %d is %v, %v, want %v", s.a, s.at, in, err, s.v)
		}
	}
	reading := heap() - before
	t.Logf("%d bytes in the file; heap %d writing, %d reading", file, writing, reading)
	if file < 6_000_000 || writing > 5<<19 || reading > 5<<19 {
		t.Error("the heap grows with the file")
	}
	must(t, r.Close())
}

// TestOtherVersions: a file of another provider or format is refused, and nobody calls that damage.
func TestOtherVersions(t *testing.T) {
	disk := crashfs.New(crashfs.Options{})
	w, err := Create("a", options(disk))
	must(t, err)
	if _, err := Create("a", options(disk)); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	o := options(disk)
	o.Provider = "test 2"
	if _, err := Open("a", o); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "rebuild") {
		t.Error(err)
	}
	o.Provider = strings.Repeat("x", mostProvider+1)
	if _, err := Create("b", o); !errors.Is(err, history.ErrLimit) {
		t.Error(err)
	}
	b := header(w.id, provider)
	b[8]++
	disk.Put("b", append(b[:len(b)-4], le32(sum(b[:len(b)-4]))...))
	if _, err := Open("b", options(disk)); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
	disk.Put("c", []byte(strings.Repeat("another file ", 20)))
	if _, err := Open("c", options(disk)); !isDamage(err) {
		t.Error(err)
	}
}

func le32(x uint32) []byte { return []byte{byte(x), byte(x >> 8), byte(x >> 16), byte(x >> 24)} }

// TestHostile changes bytes of blocks and of the index and makes all checksums right: there is an error
// or an answer, and neither a panic nor a query without end.
func TestHostile(t *testing.T) {
	effort.Long(t)
	whole, _, states := smallFile(t)
	hostile(t, whole, states[2], 8000, 3, "slots do not have", "has word", "bytes")
	disk := crashfs.New(crashfs.Options{})
	p, err := newPair(t, 1, disk)
	must(t, err)
	p.commit(t, 6000, true) // several tiles a lane
	must(t, p.sync())
	hostile(t, disk.Get("a"), p.synced[1], 300, 100, "an interval from")
}

// apart returns the header and the blocks of a file, which are not compressed, a reader that knows their places,
// and the image of its last index.
func apart(t testing.TB, whole []byte) (plain []byte, r *Reader, image []byte) {
	t.Helper()
	at := int64(len(whole)) - endSize
	r = &Reader{file: file{name: "a"}}
	copy(r.id[:], whole[16:])
	e, ok := endAt(whole[at:], r.id, at)
	if !ok {
		t.Fatal("no end")
	}
	disk := crashfs.New(crashfs.Options{})
	disk.Put("a", whole)
	var err error
	r.disk, err = disk.Open("a")
	must(t, err)
	raw, err := r.readIndex(e, at)
	must(t, err)
	index := fields.NewReader(raw, tile.ErrTile)
	must(t, r.readBlocks(&index, e.offset))
	r.Note = index.Text("note", index.Left())
	r.readAside(&index, e.offset)
	must(t, index.Err())
	plain = append(plain, whole[:len(header(r.id, provider))]...)
	for i, b := range r.blocks {
		into := make([]byte, tile.ChunkBytes)
		must(t, r.readBlock(b, into))
		r.blocks[i] = block{offset: int64(len(plain)), length: b.raw, raw: b.raw}
		plain = append(plain, into[:b.raw]...)
	}
	return plain, r, index.Peek()
}

// joined returns a file of a header and blocks, at the places of w.blocks, and an image. All checksums are right.
func (w *Writer) joined(file, image []byte, id fileID) []byte {
	for i, b := range w.blocks {
		w.blocks[i].sum = sum(file[b.offset:][:b.length])
	}
	at, raw := int64(len(file)), w.index(image)
	file = append(file, raw...)
	file = append(file, make([]byte, -len(file)&7)...)
	return end{at, int64(len(raw)), int64(len(raw)), sum(raw)}.append(file, id, int64(len(file)))
}

// FuzzOpen opens files of any blocks and any image, whose checksums are right, and asks them everything: an error
// of damage or of a tile, or answers.
func FuzzOpen(f *testing.F) {
	whole, _, states := smallFile(f)
	plain, r, image := apart(f, whole)
	start := len(header(r.id, provider))
	f.Add(plain[start:], image)
	f.Add(plain[start:start+40], image)
	f.Add(plain[start:], image[:len(image)/2])
	f.Fuzz(func(t *testing.T, blocks, image []byte) {
		if len(blocks) > 1<<20 || len(image) > 1<<20 {
			t.Skip("larger than what is tried")
		}
		file := append(append([]byte(nil), plain[:start]...), blocks...)
		w := new(Writer)
		for at := start; at < len(file); at += tile.ChunkBytes {
			n := min(tile.ChunkBytes, len(file)-at)
			w.blocks = append(w.blocks, block{offset: int64(at), length: n, raw: n})
		}
		disk := crashfs.New(crashfs.Options{})
		disk.Put("a", w.joined(file, image, r.id))
		r, err := Open("a", options(disk))
		if err != nil {
			if !isDamage(err) && !errors.Is(err, history.ErrLimit) {
				t.Fatal(err)
			}
			return
		}
		problem, err := differ(states[2], r.View)
		if problem == endless || err != nil && !errors.Is(err, tile.ErrTile) && !errors.Is(err, history.ErrOutside) {
			t.Fatal(problem, err)
		}
	})
}

// hostile makes up to `changes` changes to a file in each round, and expects some errors of tiles. Many are in
// blocks alone.
func hostile(t *testing.T, whole []byte, want *history.View, rounds, changes int, errs ...string) {
	t.Helper()
	plain, r, image := apart(t, whole)
	rng := rand.New(rand.NewPCG(1, 1))
	if effort.Race {
		rounds /= 20
	}
	refused, failed := 0, map[string]int{}
	for range rounds {
		w := &Writer{file: file{blocks: append([]block(nil), r.blocks...)}}
		file, image := append([]byte(nil), plain...), append([]byte(nil), image...)
		for range 1 + rng.IntN(changes) {
			if i := rng.IntN(len(r.blocks)); rng.IntN(2) == 0 || changes > 3 {
				file[w.blocks[i].offset+rng.Int64N(int64(w.blocks[i].length))] = byte(rng.Uint32()) * byte(rng.IntN(2))
			} else {
				image[rng.IntN(len(image))] = byte(rng.Uint32())
			}
		}
		file = w.joined(file, image, r.id)
		disk := crashfs.New(crashfs.Options{})
		disk.Put("a", file)
		r, err := Open("a", options(disk))
		if err != nil {
			if refused++; !isDamage(err) {
				t.Fatal(err)
			}
			continue
		}
		problem, err := differ(want, r.View)
		if problem == endless || err != nil && !errors.Is(err, tile.ErrTile) && !errors.Is(err, history.ErrOutside) {
			t.Fatal(problem, err)
		}
		for _, what := range errs {
			if err != nil && strings.Contains(err.Error(), what) {
				failed[what]++
			}
		}
	}
	t.Logf("%d of %d refused, tiles that are none: %v", refused, rounds, failed)
	if changes == 3 && refused < rounds/4 || len(failed) < len(errs) && !effort.Race {
		t.Error("too few changes are found")
	}
}

// TestExpand changes compressed bytes: there are as many bytes as were asked for, or an error.
func TestExpand(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	raw := make([]byte, 5000)
	for i := range raw {
		raw[i] = byte(rng.IntN(9) * (i / 1000))
	}
	data := compress(raw, nil)
	if len(data) == len(raw) {
		t.Fatal("nothing is saved")
	}
	failed := 0
	for range 3000 {
		changed := append([]byte(nil), data...)
		changed[rng.IntN(len(changed))] = byte(rng.Uint32())
		if err := expand(changed, make([]byte, 4000+rng.IntN(2)*1000)); err != nil {
			failed++
		}
	}
	if failed < 1500 {
		t.Errorf("%d of 3000 changes are found", failed)
	}
}

// TestPath writes and reads a file of the operating system.
func TestPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "states.history")
	w, err := Create(path, Options{})
	must(t, err)
	w.Note = []byte("a note of an earlier Sync")
	must(t, w.Sync())
	w.Note = []byte("a note")
	d, err := w.History.Begin()
	must(t, err)
	a, err := d.Attribute("cpu")
	must(t, err)
	must(t, d.Change(5, a, history.Int(7)))
	if err := w.Sync(); !errors.Is(err, history.ErrBusy) {
		t.Errorf("Sync() within a transaction = %v", err)
	}
	must(t, d.Close(9))
	_, err = d.Commit()
	must(t, err)
	must(t, w.Close())
	r, err := Open(path, Options{})
	must(t, err)
	if in, err := r.View.At(a, 6); err != nil || in.Value != history.Int(7) || in.End != 9 {
		t.Error(in, err)
	}
	must(t, r.Close())
	if r.View.Closed() == false || r.Lost != 0 || string(r.Note) != "a note" {
		t.Error(r.Lost, r.Note)
	}
}
