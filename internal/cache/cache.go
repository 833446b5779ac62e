// Package cache keeps values in memory that can be read again, within bytes that others grant.
package cache

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// Cache keeps values by key. A value that has no room is read anew each time, as memory of the caller. A
// value that leaves the cache stays good for callers that have it. It is safe for concurrent use.
//
// New values are in one list, and values that were asked for again in another, which goes last. So a
// query that reads everything once leaves the values that others use.
type Cache[K comparable] struct {
	room  func(bytes int64) bool // reports whether there is room for `bytes` more bytes
	bytes atomic.Int64

	mu      sync.Mutex
	entries map[K]*list.Element
	lists   [2]list.List // of *cached[K], the latest first: asked for once, and again
	loads   map[K]*load
}

// cached is a value in the cache.
type cached[K comparable] struct {
	key   K
	value Sized
	bytes int64
	list  int
}

// Sized is a value that knows its bytes on the heap. They can grow as it is used.
type Sized interface{ Size() int }

// load is a value that is being read.
type load struct {
	done  chan struct{}
	value Sized
	err   error
}

// New returns an empty cache. room reports whether there is room for `bytes` more bytes. It is called with
// the cache's lock held.
func New[K comparable](room func(bytes int64) bool) *Cache[K] {
	return &Cache[K]{room: room, entries: map[K]*list.Element{}, loads: map[K]*load{}}
}

// Bytes returns the bytes of the values. It costs one atomic load.
func (c *Cache[K]) Bytes() int64 { return c.bytes.Load() }

// Get returns a value, which read makes if the cache lacks it. Callers that ask for the same value at
// once wait for one of them.
func (c *Cache[K]) Get(key K, read func() (Sized, error)) (Sized, error) {
	c.mu.Lock()
	if e := c.entries[key]; e != nil {
		value := c.touch(e)
		c.mu.Unlock()
		return value, nil
	}
	if l := c.loads[key]; l != nil {
		c.mu.Unlock()
		<-l.done
		return l.value, l.err
	}
	l := &load{done: make(chan struct{})}
	c.loads[key] = l
	c.mu.Unlock()
	l.value, l.err = read()
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(l.done)
	if c.loads[key] == l { // otherwise it was forgotten meanwhile
		delete(c.loads, key)
		if l.err == nil {
			c.put(key, l.value)
		}
	}
	return l.value, l.err
}

// touch counts a use of a value. The caller holds c.mu.
func (c *Cache[K]) touch(e *list.Element) Sized {
	v := e.Value.(*cached[K])
	bytes := int64(v.value.Size())
	c.bytes.Add(bytes - v.bytes)
	v.bytes = bytes
	if v.list == 1 {
		c.lists[1].MoveToFront(e)
		return v.value
	}
	c.lists[0].Remove(e)
	v.list = 1
	c.entries[v.key] = c.lists[1].PushFront(v)
	return v.value
}

// put adds a value if there is room, or if values that were asked for once make room. The caller holds
// c.mu.
func (c *Cache[K]) put(key K, value Sized) {
	bytes := int64(value.Size())
	for !c.room(bytes) {
		if c.lists[0].Len() == 0 {
			return
		}
		c.drop(c.lists[0].Back())
	}
	c.entries[key] = c.lists[0].PushFront(&cached[K]{key: key, value: value, bytes: bytes})
	c.bytes.Add(bytes)
}

// drop removes a value. The caller holds c.mu.
func (c *Cache[K]) drop(e *list.Element) {
	v := e.Value.(*cached[K])
	c.lists[v.list].Remove(e)
	delete(c.entries, v.key)
	c.bytes.Add(-v.bytes)
}

// Shrink removes values until at least `bytes` bytes are gone, and reports whether there were some.
func (c *Cache[K]) Shrink(bytes int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.bytes.Load()
	for i := range c.lists {
		for c.lists[i].Len() > 0 && before-c.bytes.Load() < bytes {
			c.drop(c.lists[i].Back())
		}
	}
	return c.bytes.Load() < before
}

// Forget removes a value: it is in memory elsewhere, or nobody can ask for it any more. One that is
// being read is not kept.
func (c *Cache[K]) Forget(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil {
		c.drop(e)
	}
	delete(c.loads, key)
}
