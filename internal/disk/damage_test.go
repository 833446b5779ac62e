package disk_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
)

var (
	cuts  = flag.Int("damage.cuts", 300, "TestLog_CutAtEveryByte: one byte in `n`")
	flips = flag.Int("damage.flips", 150, "TestLog_FlipEveryBit: one bit in `n`")
)

// randomEntries returns entries that take `bytes` bytes in the log together.
func randomEntries(bytes, most int) (entries []disk.Entry) {
	random := rand.New(rand.NewPCG(1, 2))
	for bytes > 0 {
		e := entry(uint64(len(entries)+1), min(random.IntN(most), max(0, bytes-40)))
		for i := range e.Body {
			e.Body[i] = byte(random.Uint32() >> random.IntN(16))
		}
		bytes -= size(len(e.Body))
		entries = append(entries, e)
	}
	return entries
}

// checkRead reads a damaged log from its first file on, and wants entries and then a DamagedError
// at an offset of the file, or none if that is negative.
func checkRead(f files, want []laid, damagedAt int) (torn int64, err error) {
	names, _ := f.List()
	_, from, _ := disk.ParseName(names[0])
	got, r, err := readLog(f, from)
	if len(got) != len(want) {
		return 0, fmt.Errorf("%d entries, want %d: %w", len(got), len(want), err)
	}
	for i, e := range got {
		if !equal(e, want[i].Entry) {
			return 0, fmt.Errorf("entry %d is wrong: %v", i, e)
		}
	}
	var damaged *disk.DamagedError
	switch {
	case damagedAt < 0 && errors.Is(err, io.EOF):
		return r.Torn(), nil
	case damagedAt < 0 || !errors.As(err, &damaged):
		return 0, fmt.Errorf("the log ends with %w, want damage at %d", err, damagedAt)
	case damaged.Offset != int64(damagedAt) || damaged.File != names[0]:
		return 0, fmt.Errorf("want damage at %d: %w", damagedAt, err)
	case len(want) > 0 && damaged.After != want[len(want)-1].Commit:
		return 0, fmt.Errorf("want damage after commit %d: %w", want[len(want)-1].Commit, err)
	}
	return 0, nil
}

// TestLog_CutAtEveryByte cuts each segment of a log of 1 MiB (D1). If it is the last, the entries
// that are whole remain. If another follows, the cut is damage behind them (D6).
func TestLog_CutAtEveryByte(t *testing.T) {
	const segment = 64 << 10
	most := 1 << 20
	if effort.Brief() { // one goroutine reads
		most = 1 << 18
	}
	whole, places := layLog(t, randomEntries(most, 3000), segment, 20)
	total := 0
	for i, here := range places[:len(places)-1] {
		name, next := disk.FileName("log", uint64(i+1)), disk.FileName("log", uint64(i+2))
		bytes, n := whole[name], 0
		total += len(bytes)
		for cut := range len(bytes) + 1 {
			for n < len(here) && here[n].end <= cut {
				n++
			}
			atEntry := n > 0 && here[n-1].end == cut
			if cut%*cuts != 0 && !atEntry {
				continue
			}
			last := files{name: bytes[:cut]}
			if cut >= 64 {
				if _, err := checkRead(last, here[:n], -1); err != nil {
					t.Fatalf("segment %d cut at %d: %v", i+1, cut, err)
				}
			}
			want, damagedAt := here[:n], firstEntry
			switch {
			case cut < 64:
				damagedAt = 0
			case cut == len(bytes):
				want, damagedAt = slices.Concat(here, places[i+1]), -1
			case n > 0:
				damagedAt = here[n-1].end
			}
			last[next] = whole[next]
			if _, err := checkRead(last, want, damagedAt); err != nil {
				t.Fatalf("segment %d cut at %d, with another behind it: %v", i+1, cut, err)
			}
		}
	}
	t.Logf("%d bytes, one cut in %d and behind each entry", total, *cuts)
}

// TestLog_FlipEveryBit flips the bits of a log of 64 KiB (D1, D5): what comes back is a prefix. It
// is the end of the log unless a later entry has recorded that more was durable (D6).
func TestLog_FlipEveryBit(t *testing.T) {
	f, all := layLog(t, randomEntries(64<<10, 700), 1<<20, 8)
	places, name := all[0], disk.FileName("log", 1)
	f[name] = append(f[name], make([]byte, 512)...) // as if reserved
	bytes, torn, damaged, step := f[name], 0, 0, *flips
	if effort.Brief() {
		step *= 10
	}
	for bit := step / 2; bit < 8*len(bytes); bit += step {
		n, at, isTorn := flipped(places, bit/8)
		bytes[bit/8] ^= 1 << (bit % 8)
		got, err := checkRead(f, places[:n], at)
		if err != nil {
			t.Fatalf("bit %d: %v", bit, err)
		}
		if isTorn != (got > 0) {
			t.Fatalf("bit %d: %d bytes are torn", bit, got)
		}
		if isTorn {
			torn++
		}
		if at >= 0 {
			damaged++
		}
		bytes[bit/8] ^= 1 << (bit % 8)
	}
	t.Logf("%d bytes, one bit in %d: %d torn, %d damaged", len(bytes), step, torn, damaged)
	if torn == 0 || damaged == 0 {
		t.Error("the flips are of one kind")
	}
}

// flipped returns the number of entries that are left if a byte has changed, the offset of the
// damage, negative if there is none, and whether the end is torn.
func flipped(places []laid, at int) (n, damagedAt int, torn bool) {
	last := places[len(places)-1]
	switch {
	case at < 64:
		return 0, 0, false // all entries have recorded that the header was durable
	case at < firstEntry:
		return len(places), -1, false
	case at >= last.end:
		return len(places), -1, true
	}
	for places[n].end <= at {
		n++
	}
	for _, later := range places[n+1:] {
		if later.synced > places[n].offset {
			return n, places[n].offset, false
		}
	}
	return n, -1, true
}
