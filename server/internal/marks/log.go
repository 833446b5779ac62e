// Package marks keeps annotations: texts at times, such as deployments, that a page draws on its axes. They are in memory, and in a
// file if there is one: a line of JSON for each annotation and for each removal, appended and synced.
package marks

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/replace"
)

// Bounds on annotations. Above them the oldest go.
const (
	MostText  = 1000              // bytes of a text
	MostEach  = 10_000            // of a tenant
	Most      = 50_000            // of all tenants, because each tenant's name costs nothing
	mostAge   = 400 * 24 * 3600e9 // nanoseconds: a year, and the same month of the year before
	mostLine  = 64 << 10          // bytes of a line of the file
	spareFile = 100               // lines that may be of nothing any more before the file is written anew
)

// Mark is an annotation.
type Mark struct {
	ID     string            `json:"id"`
	Tenant string            `json:"tenant,omitempty"`
	Time   time.Time         `json:"time"`
	Until  time.Time         `json:"until,omitzero"` // of a range
	Text   string            `json:"text,omitempty"`
	Labels map[string]string `json:"labels,omitempty"` // whom it is about; none is everyone
	Gone   bool              `json:"gone,omitempty"`   // of a line: the annotation with this id was removed
}

// end returns the last instant of a mark.
func (m *Mark) end() time.Time {
	if m.Until.IsZero() {
		return m.Time
	}
	return m.Until
}

// Log has annotations. It is safe for concurrent use.
type Log struct {
	path string // "": memory alone
	now  func() time.Time

	mu    sync.Mutex
	all   map[string][]Mark // by tenant, by time
	count int
	lines int // of the file
	last  uint64
}

// Open reads the file at path, or begins it with the first annotation. An empty path keeps annotations in memory. A line that is no
// annotation, as the last one after a crash, is left out.
func Open(path string, now func() time.Time) (*Log, error) {
	l := &Log{path: path, now: now, all: map[string][]Mark{}}
	if path == "" {
		return l, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return l, nil
	} else if err != nil {
		return nil, fmt.Errorf("annotations: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	in := bufio.NewReaderSize(f, mostLine)
	for isLong := false; ; {
		line, err := in.ReadSlice('\n')
		wasLong := isLong
		isLong = errors.Is(err, bufio.ErrBufferFull)
		if !isLong && !wasLong {
			l.read(line)
		}
		if err != nil && !isLong {
			if errors.Is(err, io.EOF) {
				return l, nil
			}
			return nil, fmt.Errorf("annotations: %w", err)
		}
	}
}

// read applies a line of the file.
func (l *Log) read(line []byte) {
	var m Mark
	if l.lines++; json.Unmarshal(line, &m) != nil || m.ID == "" || !m.Gone && m.Time.IsZero() {
		return
	}
	if n, err := strconv.ParseUint(m.ID, 36, 64); err == nil {
		l.last = max(l.last, n)
	}
	if m.Gone {
		l.drop(m.Tenant, func(o *Mark) bool { return o.ID == m.ID })
		return
	}
	l.insert(m)
}

// Add adds an annotation and returns it with its id. Errors are of the disk; nothing is added then.
func (l *Log) Add(m Mark) (Mark, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = max(l.last+1, uint64(l.now().UnixMilli())) // unique also after a restart that lost the file
	m.ID = strconv.FormatUint(l.last, 36)
	if err := l.write(&m); err != nil {
		return Mark{}, err
	}
	l.insert(m)
	return m, nil
}

// Remove removes a tenant's annotation. It returns false if there is none with the id.
func (l *Log) Remove(tenant, id string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	isIt := func(m *Mark) bool { return m.ID == id }
	if !slices.ContainsFunc(l.all[tenant], func(m Mark) bool { return isIt(&m) }) {
		return false, nil
	}
	if err := l.write(&Mark{ID: id, Tenant: tenant, Gone: true}); err != nil {
		return false, err
	}
	l.drop(tenant, isIt)
	return true, nil
}

// Range returns a tenant's annotations between two times, the newest `most` of them, by time, and the number of all. A zero time is
// no bound. fits chooses by labels.
func (l *Log) Range(tenant string, from, to time.Time, most int, fits func(labels map[string]string) bool) (found []Mark, all int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.all[tenant] {
		if (from.IsZero() || !m.end().Before(from)) && (to.IsZero() || m.Time.Before(to)) && fits(m.Labels) {
			m.Tenant = ""
			found = append(found, m)
		}
	}
	return found[max(0, len(found)-most):], len(found)
}

// insert puts a mark at its place, and drops the oldest beyond the bounds. The caller holds mu, or is alone.
func (l *Log) insert(m Mark) {
	list := l.all[m.Tenant]
	at, _ := slices.BinarySearchFunc(list, m, func(a, b Mark) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.ID, b.ID)) })
	l.all[m.Tenant] = slices.Insert(list, at, m)
	l.count++
	oldest := l.now().Add(-mostAge)
	for list = l.all[m.Tenant]; len(list) > MostEach || l.count > Most && len(list) > 0 || len(list) > 0 && list[0].end().Before(oldest); l.count-- {
		list = slices.Delete(list, 0, 1)
	}
	l.all[m.Tenant] = list
}

// drop drops the marks of a tenant that f chooses.
func (l *Log) drop(tenant string, f func(*Mark) bool) {
	before := len(l.all[tenant])
	l.all[tenant] = slices.DeleteFunc(l.all[tenant], func(m Mark) bool { return f(&m) })
	l.count -= before - len(l.all[tenant])
	if len(l.all[tenant]) == 0 {
		delete(l.all, tenant)
	}
}

// write appends a line to the file, which it first writes anew if most of its lines are of nothing any more.
func (l *Log) write(m *Mark) (err error) {
	if l.path == "" {
		return nil
	}
	if l.lines > 2*l.count+spareFile {
		if err := l.rewrite(); err != nil {
			return fmt.Errorf("annotations: %w", err)
		}
	}
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(appendLine(f, m), f.Sync(), f.Close())
	}
	if err != nil {
		return fmt.Errorf("annotations: %w", err)
	}
	l.lines++
	return nil
}

// appendLine writes a line. The newline before it ends a line that a crash has cut.
func appendLine(w io.Writer, m *Mark) error {
	line, err := json.Marshal(m)
	if err == nil {
		_, err = w.Write(append(append([]byte{'\n'}, line...), '\n'))
	}
	return err
}

// rewrite replaces the file by one with what is there now.
func (l *Log) rewrite() error {
	err := replace.File(l.path, func(w io.Writer) error {
		for _, list := range l.all {
			for i := range list {
				if err := appendLine(w, &list[i]); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil {
		l.lines = l.count
	}
	return err
}

// Check returns an error for a mark that a client may not add.
func (m *Mark) Check(mostLabels, mostName, mostValue int) error {
	switch {
	case m.Text == "":
		return fault.Invalid("text is missing: what happened then")
	case len(m.Text) > MostText:
		return fault.TooLarge("a text of %d bytes, at most %d", len(m.Text), MostText)
	case !m.Until.IsZero() && m.Until.Before(m.Time):
		return fault.Invalid("until is before time")
	case len(m.Labels) > mostLabels:
		return fault.TooLarge("%d labels, at most %d", len(m.Labels), mostLabels)
	}
	for name, value := range m.Labels {
		if name == "" || len(name) > mostName || len(value) > mostValue {
			return fault.Invalid("label %s: want a name of 1 to %d bytes, and a value of %d at most", fault.Quoted(name), mostName, mostValue)
		}
	}
	return nil
}
