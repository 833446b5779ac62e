package disk

import "time"

// Under SyncEach, goroutines released by one sync often commit again soon. A sync that begins at once misses
// them: they wait for all of it and for the next one, and the log syncs two halves of the group in turns.
const (
	// mostGather bounds how long an entry waits for others before it is synced; so does mostSyncs, in durations of
	// the last sync.
	mostGather = 10 * time.Millisecond
	mostSyncs  = 3
	// mostRests bounds the number of syncs without a wait after waits in vain: n waits in a row are
	// followed by 2^n-1 such syncs, because goroutines that never come back would cost time at each
	// sync. It is then 3 %.
	mostRests = 15
)

// gather waits until the goroutines that the last sync released have appended again, because one sync can
// then serve all. It ends when none has come for half of took, the duration of the last sync. It returns at
// once if the last sync was for one entry and none waits, and l.rests times after a wait in vain. Only the
// log's goroutine calls it.
func (l *Log) gather(took time.Duration) {
	pause := min(took/2, mostGather)
	first, gathers := l.goOnGathering(true, 0)
	if !gathers {
		return
	}
	if l.rests > 0 {
		l.rests--
		l.goOnGathering(false, 0)
		return
	}
	tick := time.NewTimer(pause)
	defer tick.Stop()
	came, now := first, first
	for left := min(mostSyncs*took, mostGather); gathers; {
		select {
		case <-tick.C:
			left -= pause
			tick.Reset(pause)
			now, gathers = l.goOnGathering(left > 0, came)
			came = now
		case <-l.wake:
			now, gathers = l.goOnGathering(true, 0)
		case <-l.stop:
			now, gathers = l.goOnGathering(false, 0)
		}
	}
	if l.vain = min(2*l.vain+1, mostRests); now > first {
		l.vain = 0
	}
	l.rests = l.vain
}

// goOnGathering reports whether the goroutine should wait for more entries, and records it in l.gathers. came is the
// number of entries ever appended; gathers is false if it is not above before.
func (l *Log) goOnGathering(may bool, before uint64) (came uint64, gathers bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := &l.queue
	l.gathers = may && q.added > before && q.added < l.back && l.back > q.durable+1 && len(l.line) == 0
	return q.added, l.gathers
}

// isGathering reports whether the goroutine waits for more entries. The caller holds mu.
func (l *Log) isGathering() bool {
	return l.gathers && l.queue.added < l.back && len(l.line) == 0
}
