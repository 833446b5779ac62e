package file

import (
	"bytes"
	"testing"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/effort"
)

// asideFile returns a file with three states, of which two have bytes beside them, and where the end of each is.
func asideFile(t *testing.T, p *pair, fs *crashfs.FS, asides [][]byte) (whole []byte, ends []int64) {
	t.Helper()
	ends = append(ends, int64(len(fs.Get("a"))))
	for i, aside := range asides[1:] {
		p.file.Aside = aside
		p.commit(t, 20, i == 1)
		must(t, p.sync())
		ends = append(ends, int64(len(fs.Get("a"))))
	}
	return fs.Get("a"), ends
}

// TestAside cuts a file at every byte and flips every bit of it: what is beside the index is that of the state, or an
// error of damage, which leaves the state whole.
func TestAside(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	p, err := newPair(t, 3, fs)
	must(t, err)
	asides := [][]byte{nil, bytes.Repeat([]byte("compressed "), 20), []byte("as it is")}
	whole, ends := asideFile(t, p, fs, asides)
	check := func(what string, at int64, fs *crashfs.FS) (opened, damaged bool) {
		r, err := Open("a", options(fs))
		if err != nil {
			if !isDamage(err) {
				t.Fatalf("%s %d: %v", what, at, err)
			}
			return false, false
		}
		n := 0
		for n+1 < len(ends) && int64(len(whole))-r.Lost >= ends[n+1] {
			n++
		}
		if what == "cut" {
			for n = 0; n+1 < len(ends) && ends[n+1] <= at; {
				n++
			}
		}
		aside, err := r.Aside()
		if err == nil && !bytes.Equal(aside, asides[n]) || err != nil && !isDamage(err) {
			t.Fatalf("%s %d: %q, %v, want %q", what, at, aside, err, asides[n])
		}
		if err != nil {
			if !isDamage(r.Verify()) {
				t.Fatalf("%s %d: Verify finds no damage", what, at)
			}
			if problem, err := differ(p.synced[n], r.View); problem != "" || err != nil {
				t.Fatalf("%s %d: %s, %v", what, at, problem, err)
			}
		}
		must(t, r.Close())
		return true, err != nil
	}
	for size := range whole {
		fs := crashfs.New(crashfs.Options{})
		fs.Put("a", whole[:size])
		if opened, damaged := check("cut", int64(size), fs); opened != (int64(size) >= ends[0]) || damaged {
			t.Fatalf("cut at %d: opened %v, damaged %v", size, opened, damaged)
		}
	}
	step, damages := int64(1), 0
	if effort.Brief() {
		step = 31
	}
	for bit := int64(0); bit < int64(len(whole))*8; bit += step {
		fs.Flip("a", bit)
		if _, damaged := check("bit", bit, fs); damaged {
			damages++
		}
		fs.Flip("a", bit)
	}
	if want := 8 * len(asides[2]) / int(step); damages < want || damages > want+1 {
		t.Errorf("%d damages, want those of %d bits", damages, want)
	}
}
