package pprof

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// deltaFile has the records of a Deltas: each profile that became the last of its source, as a whole or as what
// changed since the one before. It is written over when it is several times as large as what it says. A file that
// ends without recordEnd was left by a process that was killed; it is whole, unless the machine went down too.
type deltaFile struct {
	path       string
	f          *os.File // nil until there is a source
	size, base int64    // base is the size after the last time it was written over
	err        error    // the first error; nothing is written after it
}

// Kinds of records.
const (
	recordEnd     = iota
	recordWhole   // all counters of a source
	recordChanged // the counters that differ from those before
	recordForget  // the source has no counters
)

const (
	deltaMagic = "granary deltas 1\n"
	frameBytes = 8 // the length and the checksum before a record
	maxRecord  = 64 << 20
	maxTypes   = 1000    // cumulative types of a source
	growTo     = 3       // times base
	leastSize  = 1 << 20 // below which a file is not written over
)

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// OpenDeltas is NewDeltas with the sources of a file, which it keeps there for the next time. No one else may use the
// file meanwhile. A missing file is an empty one. Sources of a damaged file, and of one that a crash of the machine may
// have left behind the profiles, are forgotten: their next profile is a first one. Call Close at the end.
func OpenDeltas(path string, opts DeltaOptions) (*Deltas, error) {
	d := NewDeltas(opts)
	data, err := os.Open(path)
	if err == nil {
		err = d.restore(data)
		_ = data.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, inFile(err)
	}
	d.file = &deltaFile{path: path}
	if err == nil { // there is a file, which must not be left as it is
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.writeOver(); d.file.err != nil {
			return nil, inFile(d.file.err)
		}
	}
	return d, nil
}

// inFile returns an error of the file with what is in it.
func inFile(err error) error {
	if err != nil {
		return fmt.Errorf("sources of cumulative profiles: %w", err)
	}
	return nil
}

// Close ends the file of OpenDeltas, so that it counts after a crash of the machine too. The error is the first one of
// writing: the sources then begin anew. Without a file it does nothing.
func (d *Deltas) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	df := d.file
	d.file = nil
	if df == nil || df.f == nil && df.err == nil {
		return nil
	}
	if df.append([]byte{recordEnd}); df.err == nil {
		df.err = errors.Join(df.f.Sync(), df.f.Close())
	}
	return inFile(df.err)
}

// bootID tells apart the times that a machine was up, or is "" where that is not known.
func bootID() string {
	if runtime.GOOS != "linux" {
		return ""
	}
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// append writes a record. After an error the file is removed, because a later profile would be subtracted from one that is
// not the last.
func (df *deltaFile) append(record []byte) {
	if df.err != nil {
		return
	}
	frame := make([]byte, frameBytes, frameBytes+len(record))
	binary.LittleEndian.PutUint32(frame, uint32(len(record)))
	binary.LittleEndian.PutUint32(frame[4:], crc32.Checksum(record, crcTable))
	n, err := df.f.Write(append(frame, record...))
	df.size += int64(n)
	df.fail(err)
}

func (df *deltaFile) fail(err error) {
	if err != nil && df.err == nil {
		df.err = errors.Join(err, df.f.Close(), os.Remove(df.path))
	}
}

// record records a profile that became the last of its source, or with dropped that it did not. The caller holds d.mu.
func (d *Deltas) record(of Subtraction, dropped bool) {
	if d.file == nil || d.file.err != nil || of.next == nil {
		return
	}
	switch last := of.series.last; {
	case d.file.f == nil:
		d.writeOver()
	case last == nil:
		d.file.append(append([]byte{recordForget}, of.series.key[:]...))
	case !dropped && of.Counted == CountedGrowth:
		d.file.append(last.encode(recordChanged, of.series.key, of.prev))
	default:
		d.file.append(last.encode(recordWhole, of.series.key, nil))
	}
	if d.file.size > max(leastSize, growTo*d.file.base) {
		d.writeOver()
	}
}

// writeOver replaces the file by one with the present sources, the oldest first. The caller holds d.mu.
func (d *Deltas) writeOver() {
	df := d.file
	if df.f != nil {
		_ = df.f.Close()
	}
	next := &deltaFile{path: df.path + ".new"}
	if next.f, next.err = os.OpenFile(next.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); next.err == nil {
		_, err := fmt.Fprintf(next.f, "%s%s\n", deltaMagic, bootID())
		next.fail(err)
	}
	for e := d.recent.Back(); e != nil && next.err == nil; e = e.Prev() {
		if s, _ := e.Value.(*deltaSeries); s.kept != nil {
			next.append(s.kept.encode(recordWhole, s.key, nil))
		}
	}
	if next.err == nil {
		next.fail(os.Rename(next.path, df.path))
	}
	if df.f, df.size, df.base, df.err = next.f, next.size, next.size, next.err; df.err != nil {
		_ = os.Remove(df.path) // what it says is over
	}
}

// encode returns a record: the counters of c, or only the counters that differ in since.
func (c *counters) encode(kind byte, key uuid.UUID, since *counters) []byte {
	types := len(c.values) / max(1, len(c.ids))
	b := append([]byte{kind}, key[:]...)
	b = binary.AppendVarint(b, c.time)
	if since != nil {
		b = binary.AppendVarint(b, since.time)
	}
	b = binary.AppendUvarint(b, uint64(types))
	n := 0
	for i, id := range c.ids {
		values := c.values[i*types : (i+1)*types]
		if since != nil {
			for n < len(since.ids) && since.ids[n] < id {
				n++
			}
			if n < len(since.ids) && since.ids[n] == id && slices.Equal(values, since.values[n*types:(n+1)*types]) {
				continue
			}
		}
		b = binary.LittleEndian.AppendUint64(b, id)
		for _, v := range values {
			b = binary.AppendVarint(b, v)
		}
	}
	return b
}

// errRecord reports bytes that are no record.
var errRecord = errors.New("no record")

// restore adds the sources of a file, as far as it is whole. The error comes from reading.
func (d *Deltas) restore(from io.Reader) error {
	in := bufio.NewReaderSize(from, 1<<16)
	head := make([]byte, len(deltaMagic))
	if _, err := io.ReadFull(in, head); err != nil || string(head) != deltaMagic {
		return unlessEnd(err)
	}
	boot, err := in.ReadString('\n')
	if err != nil {
		return unlessEnd(err)
	}
	ended := false
	for {
		record, err := readRecord(in)
		if err != nil {
			if boot = strings.TrimSuffix(boot, "\n"); !ended && (boot == "" || boot != bootID()) {
				d.forgetAll()
			}
			return unlessEnd(err)
		}
		if ended = len(record) == 1 && record[0] == recordEnd; !ended && d.apply(record) != nil {
			d.forgetAll()
			return nil
		}
	}
}

// unlessEnd returns err, but nil for the end of the whole records.
func unlessEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errRecord) {
		return nil
	}
	return err
}

func readRecord(in io.Reader) ([]byte, error) {
	var frame [frameBytes]byte
	if _, err := io.ReadFull(in, frame[:]); err != nil {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint32(frame[:]))
	if length == 0 || length > maxRecord {
		return nil, errRecord
	}
	record, err := io.ReadAll(io.LimitReader(in, length)) // grows with what there is
	if err != nil {
		return nil, err
	}
	if int64(len(record)) < length || crc32.Checksum(record, crcTable) != binary.LittleEndian.Uint32(frame[4:]) {
		return nil, errRecord
	}
	return record, nil
}

// apply makes the counters of a record the last ones of its source.
func (d *Deltas) apply(record []byte) error {
	const keyEnd = 1 + len(uuid.UUID{})
	if len(record) < keyEnd || record[0] == recordEnd || record[0] > recordForget {
		return errRecord
	}
	kind, key := record[0], uuid.UUID(record[1:keyEnd])
	s := d.find(key)
	of := Subtraction{deltas: d, series: s}
	if kind != recordForget {
		c, since, err := decodeCounters(record[keyEnd:], kind == recordChanged)
		switch {
		case err != nil:
			return err
		case kind == recordWhole:
			s.last = c
		case s.last == nil || s.last.time != since || !s.last.merge(c):
			s.last = nil // the record before is missing
		}
	} else {
		s.last = nil
	}
	d.account(of, 0)
	return nil
}

// decodeCounters decodes the counters of a record, and the time of the counters that they changed.
func decodeCounters(b []byte, changed bool) (c *counters, since int64, err error) {
	next := func() (v int64) {
		v, n := binary.Varint(b)
		if n <= 0 {
			err, b = errRecord, nil
			return 0
		}
		b = b[n:]
		return v
	}
	c = &counters{time: next()}
	if changed {
		since = next()
	}
	types, n := binary.Uvarint(b)
	if err != nil || n <= 0 || types > maxTypes {
		return nil, 0, errRecord
	}
	b = b[n:]
	for len(b) > 0 {
		if len(b) < 8+int(types) {
			return nil, 0, errRecord
		}
		id := binary.LittleEndian.Uint64(b)
		if i := len(c.ids); i > 0 && c.ids[i-1] >= id {
			return nil, 0, errRecord
		}
		c.ids, b = append(c.ids, id), b[8:]
		for range types {
			c.values = append(c.values, next())
		}
		if err != nil {
			return nil, 0, err
		}
	}
	c.ids, c.values = slices.Clip(c.ids), slices.Clip(c.values)
	return c, since, nil
}

// merge puts changed counters into c. It reports whether both have equally many types.
func (c *counters) merge(changed *counters) bool {
	types := len(c.values) / max(1, len(c.ids))
	if len(changed.ids) > 0 && len(c.ids) > 0 && len(changed.values)/len(changed.ids) != types {
		return false
	}
	if len(c.ids) == 0 {
		types = len(changed.values) / max(1, len(changed.ids))
	}
	ids, values := make([]uint64, 0, len(c.ids)), make([]int64, 0, len(c.values))
	add := func(from *counters, i int) {
		ids, values = append(ids, from.ids[i]), append(values, from.values[i*types:(i+1)*types]...)
	}
	n := 0
	for i, id := range c.ids {
		for n < len(changed.ids) && changed.ids[n] < id {
			add(changed, n)
			n++
		}
		if n < len(changed.ids) && changed.ids[n] == id {
			add(changed, n)
			n++
		} else {
			add(c, i)
		}
	}
	for ; n < len(changed.ids); n++ {
		add(changed, n)
	}
	c.time, c.ids, c.values = changed.time, slices.Clip(ids), slices.Clip(values)
	return true
}

// forgetAll forgets all sources.
func (d *Deltas) forgetAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for e := d.recent.Front(); e != nil; e = d.recent.Front() {
		d.remove(e)
	}
}
