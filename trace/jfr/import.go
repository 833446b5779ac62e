package jfr

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/granarydb/granary/internal/jfr"
	"github.com/granarydb/granary/internal/tracks"
	"github.com/granarydb/granary/trace"
)

// ErrFormat means that the bytes are no recording, or one without states.
var ErrFormat = errors.New("bad states of Java")

// maxChunk bounds a chunk. The JDK begins another after 12 MB.
const maxChunk = 512 << 20

// Magic reports whether head is the start of a recording.
func Magic(head []byte) bool { return bytes.HasPrefix(head, []byte(jfr.ChunkMagic)) }

// Import reads a whole recording, writes it into a target, and closes its history. The errors are ErrFormat, those of in and of the
// target, and ctx's. After an error the target has the committed states, and may be in a transaction.
func Import(ctx context.Context, in io.Reader, to trace.Target) (trace.Outcome, error) {
	s := waitReader{Timeline: tracks.New(), threads: map[string]tracks.Nest{}, byID: map[uint64]tracks.Nest{}}
	s.collections = s.Nest(s.Child(s.Child(tracks.Outermost, "GC"), "collections"))
	s.pauses = s.Nest(s.Child(s.Child(tracks.Outermost, "GC"), "pauses"))
	r := bufio.NewReaderSize(in, 64<<10)
	for n := 0; ; n++ {
		if err := ctx.Err(); err != nil {
			return trace.Outcome{}, err
		}
		data, err := s.next(r)
		if errors.Is(err, io.EOF) {
			if n > 0 {
				break
			}
			err = fmt.Errorf("%w: nothing", ErrFormat)
		}
		if err == nil {
			err = s.chunk(data)
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, ErrFormat) || n == 0 {
			return trace.Outcome{}, err
		}
		s.Outcome.Lost = err
		break
	}
	outcome, err := s.WriteTo(ctx, to)
	if errors.Is(err, tracks.ErrNoStates) {
		err = fmt.Errorf("%w: no thread waits in it, and nothing is collected", ErrFormat)
	}
	return outcome, err
}

// waitReader makes states of events.
type waitReader struct {
	*tracks.Timeline
	data                bytes.Buffer           // of a chunk
	threads             map[string]tracks.Nest // by what they are called
	byID                map[uint64]tracks.Nest // by their constants in the chunk, each of which is read once
	collections, pauses tracks.Nest
	offset              int64 // of the chunk
}

// next reads a chunk. Memory grows with the bytes that are there. The error is io.EOF at the end, also of nothing.
func (s *waitReader) next(r io.Reader) ([]byte, error) {
	s.offset += int64(s.data.Len())
	s.data.Reset()
	if n, err := io.CopyN(&s.data, r, jfr.HeaderBytes); err != nil {
		if n == 0 && errors.Is(err, io.EOF) {
			return nil, err
		}
		return nil, s.cut(err)
	}
	size := binary.BigEndian.Uint64(s.data.Bytes()[jfr.SizeAt:])
	switch {
	case !Magic(s.data.Bytes()):
		return nil, fmt.Errorf("%w: byte %d: no chunk begins here", ErrFormat, s.offset)
	case size == 0:
		return nil, fmt.Errorf("%w: byte %d: the recording was not ended", ErrFormat, s.offset)
	case size < jfr.HeaderBytes || size > maxChunk:
		return nil, fmt.Errorf("%w: byte %d: a chunk of %d bytes, at most %d", ErrFormat, s.offset, size, maxChunk)
	}
	if _, err := io.CopyN(&s.data, r, int64(size)-jfr.HeaderBytes); err != nil {
		return nil, s.cut(err)
	}
	return s.data.Bytes(), nil
}

func (s *waitReader) cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: the end within the chunk at byte %d", ErrFormat, s.offset)
	}
	return err
}

// waits are the events of a thread that waits, with its state and the class that it waits for.
var waits = map[string]struct {
	state string
	class jfr.Slot
}{
	"jdk.ThreadPark":       {"parked", jfr.SlotParkedClass},
	"jdk.ThreadSleep":      {"sleeping", 0},
	"jdk.JavaMonitorEnter": {"entering a monitor", jfr.SlotMonitorClass},
	"jdk.JavaMonitorWait":  {"waiting on a monitor", jfr.SlotMonitorClass},
	"jdk.SocketRead":       {"reading a socket", 0},
	"jdk.SocketWrite":      {"writing a socket", 0},
	"jdk.FileRead":         {"reading a file", 0},
	"jdk.FileWrite":        {"writing a file", 0},
}

// others are the other events that event knows.
var others = map[string]bool{
	"jdk.GarbageCollection": true, "jdk.GCPhasePause": true, "jdk.ExecutionSample": true, "jdk.NativeMethodSample": true,
	"jdk.CPUTimeSample": true, "profiler.WallClockSample": true,
}

// chunk reads the states of a chunk.
func (s *waitReader) chunk(data []byte) error {
	c, _, err := jfr.Read(data, len(data)+1<<20)
	if err != nil {
		return fmt.Errorf("%w: byte %d: %w", ErrFormat, s.offset, err)
	}
	clear(s.byID)
	known := func(name string) bool { _, is := waits[name]; return is || others[name] }
	if err := c.Events(known, func(name string, v *jfr.Contents) error { s.event(c, name, v); return c.Err() }); err != nil {
		return fmt.Errorf("%w: byte %d: %w", ErrFormat, s.offset, err)
	}
	return nil
}

func (s *waitReader) event(c *jfr.Chunk, name string, v *jfr.Contents) {
	wait, isWait := waits[name]
	nest, what := s.collections, ""
	switch {
	case isWait:
		what = wait.state
		if wait.class != 0 {
			if class := c.Label(jfr.JavaClass, v[wait.class], jfr.SlotName); class != "" {
				what += " (" + strings.ReplaceAll(class, "/", ".") + ")"
			}
		}
		nest = s.thread(c, v[jfr.SlotEventThread])
	case name == "jdk.GarbageCollection":
		what = c.Label(jfr.GCName, v[jfr.SlotName], jfr.SlotName)
		if cause := c.Label(jfr.GCCause, v[jfr.SlotCause], jfr.SlotCause); cause != "" {
			what += " (" + cause + ")"
		}
	case name == "jdk.GCPhasePause":
		nest, what = s.pauses, c.TextAt(v[jfr.SlotName])
	default:
		s.Outcome.LeaveOut("samples", 1)
		return
	}
	start, ok := c.Time(v[jfr.SlotStartTime])
	duration := c.Nanos(v[jfr.SlotDuration])
	if !ok || duration > math.MaxInt64/4 {
		s.Outcome.LeaveOut("events at impossible times", 1)
		return
	}
	s.Slice(nest, s.Text([]byte(what)), start, start+int64(duration))
}

// thread returns the nest of a thread's states.
func (s *waitReader) thread(c *jfr.Chunk, id uint64) tracks.Nest {
	nest, ok := s.byID[id]
	if ok {
		return nest
	}
	v, _ := c.Record(jfr.JavaThread, id)
	name, number := c.TextAt(v[jfr.SlotJavaName]), v[jfr.SlotJavaThreadID]
	if name == "" {
		name, number = c.TextAt(v[jfr.SlotOSName]), v[jfr.SlotOSThreadID]
	}
	called := strconv.FormatInt(int64(number), 10)
	if name != "" {
		called = name + " " + called
	}
	nest, ok = s.threads[called]
	if !ok {
		nest = s.Nest(s.Child(s.Child(tracks.Outermost, "Threads"), called))
		s.threads[called] = nest
	}
	s.byID[id] = nest
	return nest
}
