package mirror

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
)

// openTest opens an FS over an empty disk. It is ended with the test.
func openTest(t *testing.T, objects Objects, opts Options) *FS {
	t.Helper()
	opts.pause = time.Millisecond
	m, err := Open(context.Background(), crashfs.New(crashfs.Options{}), objects, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.end()
		m.Finish(0)
	})
	return m
}

func createTest(t *testing.T, m *FS, number uint64) disk.File {
	t.Helper()
	f, err := m.Create(disk.FileName(disk.LogKind, number))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func writeTest(t *testing.T, f disk.File, text string, offset int64) {
	t.Helper()
	if _, err := f.WriteAt([]byte(text), offset); err != nil {
		t.Fatal(err)
	}
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never %s", what)
		}
	}
}

// overtaken are Objects in which a claim follows as soon as a directory is whole.
type overtaken struct{ *store }

func (o overtaken) Put(ctx context.Context, name string, body io.Reader) error {
	err := o.store.Put(ctx, name, body)
	if epoch, _, ok := cutNumber(name, wholeFolder); ok && err == nil {
		s := &segment{head: segmentHead{Sequence: epoch + 1, Epoch: epoch + 1, Writer: "another"}}
		err = o.Create(ctx, journalName(epoch+1), s.encode())
	}
	return err
}

// An FS is not opened if a claim follows before it owns the journal. It would remove what that one makes its directory from.
func TestOpen_Overtaken(t *testing.T) {
	m, err := Open(context.Background(), crashfs.New(crashfs.Options{}), overtaken{newStore(1)}, Options{Manual: true, pause: time.Millisecond})
	if !errors.Is(err, ErrFenced) {
		t.Errorf("%v, want %v", err, ErrFenced)
	}
	if m != nil {
		m.end()
		m.Finish(0)
	}
}

// An owner without anything to write finds out that another one was opened. Until then it is the owner, also amid its own segments.
func TestFenced(t *testing.T) {
	objects := newStore(1)
	m := openTest(t, objects, Options{lookEvery: time.Millisecond})
	f := createTest(t, m, 1)
	for i := range int64(50) {
		writeTest(t, f, "x", i)
		if err := f.Sync(); err != nil || m.Fenced() != nil {
			t.Fatal(err, m.Fenced())
		}
	}
	openTest(t, objects, Options{Manual: true})
	await(t, "found out", func() bool { return errors.Is(m.Fenced(), ErrFenced) })
}

// Invariant M4. While the object store is away a sync waits, and others are refused. It goes on when the object store is back.
func TestSync_Away(t *testing.T) {
	objects := newStore(1)
	m := openTest(t, objects, Options{patience: 10 * time.Millisecond})
	f := createTest(t, m, 1)
	writeTest(t, f, "one", 0)
	if err := f.Sync(); err != nil || m.Refusal() != nil {
		t.Fatal(err, m.Refusal())
	}
	objects.fail(1, 1)
	writeTest(t, f, "two", 3)
	synced := make(chan error, 1)
	go func() { synced <- f.Sync() }()
	await(t, "refused", func() bool { return errors.Is(m.Refusal(), errRequest) })
	if s := m.Stats(); s.Failures == 0 || s.Waiting == 0 || s.Segments != 1 {
		t.Errorf("%+v", s)
	}
	select {
	case err := <-synced:
		t.Fatalf("a sync does not wait: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	objects.fail(0, 0)
	if err := <-synced; err != nil || m.Refusal() != nil {
		t.Fatal(err, m.Refusal())
	}
	if s := m.Stats(); s.Segments != 2 || s.Waiting != 0 || s.Latencies.Count != 2 || s.Unjoined < 2 {
		t.Errorf("%+v", s)
	}
}

// At its end a store does not wait for an object store that is away.
func TestFinish(t *testing.T) {
	objects := newStore(1)
	m := openTest(t, objects, Options{})
	f := createTest(t, m, 1)
	await(t, "tidied", func() bool { m.mu.Lock(); defer m.mu.Unlock(); return len(m.jobs) == 0 })
	objects.fail(1, 1)
	m.mu.Lock()
	m.logs["log-000000000001"] = &logFile{segments: []uint64{1}}
	m.addLocked(job{join: "log-000000000001"})
	m.mu.Unlock()
	await(t, "tried", func() bool { return m.Stats().Failures > 1 }) // by the goroutine, which Finish ends
	writeTest(t, f, "one", 0)
	m.Finish(10 * time.Millisecond)
	if err := f.Sync(); !errors.Is(err, errRequest) {
		t.Error(err)
	}
}

// Reserved space is not written, a segment has the bytes since the last one, and many are joined (M5).
func TestSegments(t *testing.T) {
	objects := newStore(1)
	m := openTest(t, objects, Options{mergeAt: 3})
	f := createTest(t, m, 7)
	if err := errors.Join(f.Reserve(1<<20), f.Sync()); err != nil {
		t.Fatal(err)
	}
	if n := m.Stats().Segments; n != 0 {
		t.Errorf("%d segments of reserved space", n)
	}
	for i, text := range []string{"one", "two", "six"} {
		writeTest(t, f, text[:1], int64(3*i))
		writeTest(t, f, text[1:], int64(3*i)+1)
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
		body, err := read(context.Background(), objects, journalName(m.next-1))
		if err != nil {
			t.Fatal(err)
		}
		s, err := decodeSegment(body)
		if err != nil || string(s.bytes) != text || len(s.head.Ranges) != 1 || s.head.Ranges[0].Offset != int64(3*i) {
			t.Errorf("%+v, %v", s, err)
		}
	}
	name := fileName(m.epoch, disk.FileName(disk.LogKind, 7))
	await(t, "joined", func() bool { return m.Stats().Unjoined == 1 }) // the newest stays
	if body, err := read(context.Background(), objects, name); err != nil || string(body) != "onetwosix" {
		t.Errorf("%q, %v", body, err)
	}
	if err := m.Remove(disk.FileName(disk.LogKind, 7)); err != nil {
		t.Fatal(err)
	}
	await(t, "removed", func() bool {
		names, err := objects.List(context.Background(), filesFolder)
		return err == nil && len(names) == 0
	})
}

// Segments are written after at least Options.Every.
func TestEvery(t *testing.T) {
	const every = 30 * time.Millisecond
	m := openTest(t, newStore(1), Options{Every: every})
	f := createTest(t, m, 1)
	start := time.Now()
	for i := range int64(4) {
		writeTest(t, f, "x", i)
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(start); took < 3*every {
		t.Errorf("four segments in %v", took)
	}
}

// A segment that is not whole, or is none, is an error.
func TestDecode(t *testing.T) {
	whole := (&segment{head: segmentHead{Sequence: 3, File: "log-000000000001", Ranges: []span{{0, 2}, {8, 1}}}, bytes: []byte("abc")}).encode()
	if s, err := decodeSegment(whole); err != nil || s.head.Ranges[1] != (span{8, 1}) {
		t.Fatal(s, err)
	}
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 1
		if _, err := decodeSegment(b); err == nil {
			t.Errorf("byte %d changed", i)
		}
		if _, err := decodeSegment(whole[:i]); err == nil {
			t.Errorf("%d bytes", i)
		}
	}
	for _, ranges := range [][]span{{{0, 2}}, {{0, 4}}, {{-1, 3}}, {{0, 0}, {0, 3}}, {{1<<63 - 2, 3}}, {{0, 1 << 62}, {0, 1 << 62}}} {
		b := (&segment{head: segmentHead{Ranges: ranges}, bytes: []byte("abc")}).encode()
		if _, err := decodeSegment(b); !errors.Is(err, errSegment) {
			t.Errorf("%v: %v", ranges, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add((&segment{head: segmentHead{Sequence: 3, File: "log-000000000001", Ranges: []span{{0, 3}}}, bytes: []byte("abc")}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decodeSegment(b)
		if err != nil {
			return
		}
		if again, err := decodeSegment(s.encode()); err != nil || !bytes.Equal(again.bytes, s.bytes) {
			t.Errorf("%v, %v", again, err)
		}
	})
}
