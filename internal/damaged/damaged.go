// Package damaged tests readers of images: it changes the bytes of an image in many ways, and
// expects an error, or an image that can be used, within a bound on memory.
package damaged

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"testing"

	"github.com/granarydb/granary/internal/effort"
)

var changes = flag.Int("image.changes", 20_000, "random changes of images; from a million on, every byte of an image gets every value")

// Image is an image and its reader.
type Image struct {
	Name  string
	Bytes []byte
	// Bad is the error that the errors of Open wrap.
	Bad error
	// Open reads an image, which it may keep.
	Open func(image []byte) (opened any, err error)
	// Use uses, in every way, what Open returned. It fails the test if two ways do not agree.
	Use func(t *testing.T, opened any)
}

// Memory that Open may take: Factor times the size of the image, and what the runtime counts
// late.
const (
	Factor = 64
	slack  = 1 << 20
)

// Try opens bytes and uses what they make. It returns the error of Open.
func (i *Image) Try(t *testing.T, image []byte) error {
	t.Helper()
	problem, err := i.try(t, image)
	if problem != "" {
		t.Fatalf("%s: %s\nimage %x", i.Name, problem, image)
	}
	return err
}

// try returns what is wrong, if anything is, and the error of Open.
func (i *Image) try(t *testing.T, image []byte) (problem string, err error) {
	t.Helper()
	defer func() {
		if panicked := recover(); panicked != nil {
			problem = fmt.Sprintf("panic: %v\n%s", panicked, debug.Stack())
		}
	}()
	opened, bytes, err := i.measure(image)
	most := uint64(Factor*len(image) + slack)
	for range 2 { // pools that a collection has just emptied are not of the image
		if bytes > most {
			opened, bytes, err = i.measure(image)
		}
	}
	switch {
	case bytes > most:
		return fmt.Sprintf("%d bytes take %d, at most %d: %v", len(image), bytes, most, err), err
	case err == nil:
		i.Use(t, opened)
	case !errors.Is(err, i.Bad):
		return fmt.Sprintf("%v, want %v", err, i.Bad), err
	}
	return "", err
}

// measure opens an image, and returns the bytes that it allocates.
func (i *Image) measure(image []byte) (opened any, bytes uint64, err error) {
	before := allocated()
	opened, err = i.Open(image)
	return opened, allocated() - before, err
}

// allocated returns the bytes allocated so far.
func allocated() uint64 {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64()
}

// EveryByte changes every byte to every value, and cuts the image at every byte, which must be an
// error. It tries some values of each byte if these are more than most changes.
func (i *Image) EveryByte(t *testing.T, most int) {
	t.Helper()
	values, tried, found := min(256, 1+share(most)/len(i.Bytes)), 0, 0
	if *changes >= 1_000_000 {
		values = 256
	}
	r := rand.New(rand.NewPCG(1, 1))
	for at := range i.Bytes {
		for _, b := range r.Perm(256)[:values] {
			changed := slices.Clone(i.Bytes)
			changed[at] = byte(b)
			if tried++; i.Try(t, changed) != nil {
				found++
			}
		}
		if i.Try(t, slices.Clone(i.Bytes[:at])) == nil {
			t.Errorf("%s: %d of %d bytes are an image", i.Name, at, len(i.Bytes))
		}
	}
	t.Logf("%s: %d of %d changes are errors", i.Name, found, tried)
	if found == 0 {
		t.Errorf("%s: no change is an error", i.Name)
	}
}

// share returns how many of the changes are made.
func share(changes int) int {
	if effort.Race {
		return changes / 64
	}
	return effort.Less(effort.Part(changes, 4), 8)
}

// RandomChanges makes the changes that the flag -image.changes counts, of the images in turns.
func RandomChanges(t *testing.T, images []Image) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	found := 0
	for n := range share(*changes) {
		i := &images[n%len(images)]
		if i.Try(t, change(r, i.Bytes)) != nil {
			found++
		}
	}
	t.Logf("%d of %d changes are errors", found, share(*changes))
}

// change returns an image with a few bytes or bits changed, or a piece cut out, doubled or moved.
func change(r *rand.Rand, image []byte) []byte {
	image = slices.Clone(image)
	for range 1 + r.IntN(3) {
		at := r.IntN(len(image))
		if r.IntN(2) == 0 {
			at = min(at, r.IntN(80)) // descriptors are at the start
		}
		n := min(1+r.IntN(24), len(image)-at)
		if r.IntN(2) == 0 {
			n = min(8*(n/8+1), len(image)-at)
		}
		switch r.IntN(10) {
		case 0:
			if n < len(image) {
				image = slices.Delete(image, at, at+n)
			}
		case 1:
			image = slices.Insert(image, at, image[at:at+n]...)
		case 2:
			copy(image[r.IntN(len(image)):], image[at:at+n])
		case 3, 4:
			image[at] ^= 1 << r.IntN(8)
		case 5:
			image[at] = [...]byte{0, 1, 0x7f, 0x80, 0xff}[r.IntN(5)]
		default:
			image[at] = byte(r.Uint32())
		}
	}
	return image
}
