package disk

import "time"

// Those who commit again and again under SyncEach come in groups. Who was let go on by a sync is often back soon.
// A sync that begins at once lacks them: they wait for all of it and for the next one, and the log goes on with two
// halves in turns.
const (
	// mostGather bounds how long an entry waits for others before it is synced, as do mostSyncs of the last sync.
	mostGather = 10 * time.Millisecond
	mostSyncs  = 3
	// mostRests bounds how many syncs follow at once after some that waited in vain, one after the other: the first
	// of these has one, each next one twice as many and one more. Waiting for those who never come costs 3 % then.
	mostRests = 15
)

// gather waits until those are back who waited for the last sync, so that those who wait for the next one
// go with them. It ends when none has come for half of the time that the last sync took. It returns at once if
// the last sync was for one entry and none waits, and a few times after it waited in vain. It belongs to the
// goroutine.
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

// goOnGathering reports whether the goroutine should wait for more entries, which is recorded, and how many came
// so far. It should not if no more than before have come.
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
