package disk

import "cmp"

// Err returns ErrDisk with its reason while the disk fails, and nil otherwise.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return cmp.Or(l.failing, l.full)
}

// Queued returns the bytes of entries that are not durable, and of reserved room.
func (l *Log) Queued() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queue.bytes
}
