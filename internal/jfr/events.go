package jfr

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// ErrFormat means that the bytes are no chunk of a recording.
var ErrFormat = errors.New("bad recording of Java")

// ErrLimit means that a chunk has too much of something.
var ErrLimit = errors.New("too large a recording of Java")

func bad(text string) error { return fmt.Errorf("%w: %s", ErrFormat, text) }

// Events calls f with each event that known knows by the name of its class, in the order of the chunk. The values are valid
// until the next event. It ends at the first error, of the chunk or of f.
func (c *Chunk) Events(known func(name string) bool, f func(name string, v *Contents) error) error {
	for at := HeaderBytes; at < len(c.data); {
		c.at = at
		size, id := c.long(), c.long()
		if size == 0 || size > uint64(len(c.data)-at) {
			c.fail("an event of %d bytes", size)
			return c.err
		}
		at += int(size)
		class := c.classes[id]
		if class == nil || !known(class.name) {
			continue
		}
		var v Contents
		if c.fields(class, 0, &v); c.at > at {
			c.fail("%s behind its end", class.name)
		}
		var err error
		if c.err == nil {
			err = f(class.name, &v)
		}
		if err = cmp.Or(c.err, err); err != nil {
			return err
		}
	}
	return nil
}

// Class returns the name of a class by its id, or "".
func (c *Chunk) Class(id uint64) string {
	if class := c.classes[id]; class != nil {
		return class.name
	}
	return ""
}

// EachConstant calls f with the id of each constant of a class, in any order.
func (c *Chunk) EachConstant(class string, f func(id uint64)) {
	if of := c.named[class]; of != nil {
		for id := range of.constants {
			f(id)
		}
	}
}

// EachFrame calls begin with the number of frames of a stack, and f with each, leaf first. It reports whether the chunk has the
// stack. The errors are those of the chunk, of begin and of f.
func (c *Chunk) EachFrame(stack uint64, begin func(n int) error, f func(v *Contents) error) (ok bool, err error) {
	at, ok := c.constant(stackTrace, stack)
	if !ok {
		return false, nil
	}
	c.seek(at)
	of := c.named[stackTrace]
	for i := range of.fields {
		list := &of.fields[i]
		if list.slot != SlotFrames || !list.isArray || list.isConstant || list.class == nil {
			c.field(list, 0, nil)
			continue
		}
		n := c.count()
		if err := begin(n); err != nil {
			return false, err
		}
		for i := 0; i < n && c.err == nil; i++ {
			var v Contents
			c.fields(list.class, 1, &v)
			at := c.at
			if err := f(&v); err != nil {
				return false, err
			}
			if c.err == nil {
				c.at = at // f may read constants
			}
		}
	}
	return true, c.err
}

// Texts returns the bytes of the texts that were read.
func (c *Chunk) Texts() int { return c.texts }

// Err returns the first error.
func (c *Chunk) Err() error { return c.err }

// Time returns a time of an event in Unix nanoseconds. It reports false for one beyond 62 bits.
func (c *Chunk) Time(ticks uint64) (int64, bool) {
	since := int64(ticks) - c.startTicks
	magnitude := uint64(max(since, -since))
	hi, lo := bits.Mul64(magnitude, 1_000_000_000)
	if since == math.MinInt64 || hi >= uint64(c.ticks) {
		return 0, false
	}
	nanos, _ := bits.Div64(hi, lo, uint64(c.ticks))
	if nanos > math.MaxInt64/4 || c.Start > math.MaxInt64/2 {
		return 0, false
	}
	if since < 0 {
		return c.Start - int64(nanos), true
	}
	return c.Start + int64(nanos), true
}
