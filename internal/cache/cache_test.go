package cache

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
)

type value int

func (v value) Size() int { return int(v) }

// within returns a cache of at most `most` bytes.
func within(most int64) *Cache[string] {
	var c *Cache[string]
	c = New[string](func(bytes int64) bool { return c.Bytes()+bytes <= most })
	return c
}

// ask returns whether a key was read.
func ask(t *testing.T, c *Cache[string], key string, bytes int) (read bool) {
	t.Helper()
	v, err := c.Get(key, func() (Sized, error) {
		read = true
		return value(bytes), nil
	})
	if err != nil || v.Size() != bytes {
		t.Fatalf("%s: %v, %v", key, v, err)
	}
	return read
}

// Values that are asked for once do not displace values that were asked for again.
func TestCache_OneScan(t *testing.T) {
	c := within(100)
	for range 2 {
		ask(t, c, "often", 40)
	}
	for i := range 50 {
		if !ask(t, c, fmt.Sprint("scan ", i), 20) {
			t.Errorf("value %d was there", i)
		}
	}
	if ask(t, c, "often", 40) {
		t.Error("a scan displaced a value that was asked for twice")
	}
	if ask(t, c, "scan 49", 20) {
		t.Error("the last value is not there")
	}
	if got := c.Bytes(); got != 100 {
		t.Errorf("%d bytes", got)
	}
	ask(t, c, "too large", 101)
	if !c.Shrink(math.MaxInt64) || c.Bytes() != 0 || c.Shrink(1) {
		t.Errorf("%d bytes are left", c.Bytes())
	}
	if !ask(t, c, "often", 40) {
		t.Error("a value outlived Shrink")
	}
}

// A value that grows is counted when it is asked for next.
func TestCache_Grows(t *testing.T) {
	c := within(100)
	size := value(10)
	read := func() (Sized, error) { return &size, nil }
	for i := range 3 {
		if _, err := c.Get("grows", read); err != nil {
			t.Fatal(err)
		}
		if got := c.Bytes(); got != int64(10*(i+1)) {
			t.Errorf("%d bytes", got)
		}
		size += 10
	}
	c.Forget("grows")
	if got := c.Bytes(); got != 0 {
		t.Errorf("%d bytes are left", got)
	}
}

// Callers at once wait for one of them, and for its error, which is not kept.
func TestCache_AtOnce(t *testing.T) {
	c := within(100)
	var reads atomic.Int64
	begun, end := make(chan struct{}), make(chan struct{})
	bad := errors.New("bad")
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := c.Get("key", func() (Sized, error) {
			reads.Add(1)
			close(begun)
			<-end
			return nil, bad
		})
		if !errors.Is(err, bad) {
			t.Error(err)
		}
	})
	<-begun
	for range 4 {
		wg.Go(func() {
			_, err := c.Get("key", func() (Sized, error) { return value(reads.Add(1)), nil })
			if err != nil && !errors.Is(err, bad) {
				t.Error(err)
			}
		})
	}
	close(end)
	wg.Wait()
	if n := reads.Load(); n > 2 {
		t.Errorf("read %d times", n)
	}
	if _, err := c.Get("key", func() (Sized, error) { return value(1), nil }); err != nil {
		t.Error(err)
	}
}

// A value that was forgotten while it was read is not kept.
func TestCache_ForgottenMeanwhile(t *testing.T) {
	c := within(100)
	if _, err := c.Get("key", func() (Sized, error) {
		c.Forget("key")
		return value(10), nil
	}); err != nil || c.Bytes() != 0 {
		t.Errorf("%d bytes, %v", c.Bytes(), err)
	}
}
