package push

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/input"
	"github.com/granarydb/granary/internal/opened"
	"github.com/granarydb/granary/profile"
	profiles "github.com/granarydb/granary/profile/format"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/trace"
	"github.com/granarydb/granary/trace/format"
	"github.com/granarydb/granary/trace/golang"
)

// Bounds of a request with files.
const (
	maxFiles    = 64
	maxFileName = 200 // bytes
	maxModified = 20  // digits
)

// Files are the files of a request that were inserted.
type Files struct {
	Names    []string
	HasSides bool     // there are files before and after
	Refused  []string // why others were left out
}

// Fill inserts the files of a request into a database of its own. Without a file that can be read it returns an error.
type Fill func(context.Context, *profile.DB) (Files, error)

// Opens returns a handler of requests with files in a multipart body: the parts file, or before and after. A part modified
// is the time of the next file, in Unix milliseconds, for profiles without a time. Memory is counted as for pushes.
func (s *Pusher) Opens(open func(http.ResponseWriter, *http.Request, Fill) error) http.Handler {
	return s.takes(func(w http.ResponseWriter, r *http.Request) error {
		media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil || !strings.HasPrefix(media, "multipart/") || params["boundary"] == "" {
			return fault.Unsupported("header Content-Type: want multipart/form-data with parts file, or before and after, not %s", fault.Quoted(r.Header.Get("Content-Type")))
		}
		o := opening{s: s, share: shareOf(r.Context()), sides: map[string]bool{}}
		if err := o.read(multipart.NewReader(r.Body, params["boundary"])); err != nil {
			return err
		}
		return open(w, r, o.fill)
	})
}

// sentFile is a file of a request.
type sentFile struct {
	name     string
	side     string // or file
	data     []byte
	modified time.Time
}

// opening is a request with files on its way into a database. It is read whole before, so that a slow client holds up no other.
type opening struct {
	Files
	s     *Pusher
	sent  []sentFile
	db    *profile.DB
	share *share
	seen  input.Labels
	sides map[string]bool
	last  error // of a file
}

// read reads the parts of the body.
func (o *opening) read(m *multipart.Reader) error {
	modified := o.s.Now()
	for {
		part, err := m.NextPart()
		if err == io.EOF { //nolint:errorlint // a wrapped EOF means a truncated body
			return nil
		}
		if err != nil {
			return o.s.unread(err)
		}
		switch name := part.FormName(); name {
		case "modified":
			if modified, err = o.readTime(part); err != nil {
				return err
			}
			continue
		case "file", opened.Before, opened.After:
			data, err := o.s.readAll(part)
			if err != nil {
				return err
			}
			if o.sent = append(o.sent, sentFile{nameOfFile(part.FileName()), name, data, modified}); len(o.sent) > maxFiles {
				return fault.TooLarge("more than %d files in a request", maxFiles)
			}
		default:
			return fault.Invalid("part %s is not taken; file is, or before and after", fault.Quoted(name))
		}
		modified = o.s.Now()
	}
}

// fill inserts the files. One that is no profile and no recording is left out.
func (o *opening) fill(ctx context.Context, db *profile.DB) (Files, error) {
	o.db = db
	for i := range o.sent {
		if err := o.file(ctx, &o.sent[i]); err != nil {
			return o.Files, err
		}
	}
	o.HasSides = o.sides[opened.Before] && o.sides[opened.After]
	switch {
	case len(o.Names) == 0 && o.last == nil:
		return o.Files, fault.Invalid("body: it has no file")
	case len(o.Names) == 0, o.last != nil && o.lacksSide():
		return o.Files, o.last
	case o.lacksSide():
		return o.Files, fault.Invalid("body: a file before needs one after")
	}
	return o.Files, nil
}

// lacksSide reports whether there are files on one of two sides alone.
func (o *opening) lacksSide() bool {
	return o.sides[opened.Before] != o.sides[opened.After]
}

// readTime reads a part with a time.
func (o *opening) readTime(part io.Reader) (time.Time, error) {
	text, err := o.s.readAll(io.LimitReader(part, maxModified+1))
	if err != nil {
		return time.Time{}, err
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if at := time.UnixMilli(n); err == nil && at.Year() >= 1980 && at.Year() < 2262 {
		return at, nil
	}
	return time.Time{}, fault.Invalid("part modified: want Unix milliseconds, not %s", fault.Quoted(string(text)))
}

// file inserts a file. An error of the file alone leaves it out.
func (o *opening) file(ctx context.Context, f *sentFile) error {
	defer func(used int64) { o.share.used = used }(o.share.used) // what the share holds by then is free for the next file
	labels := map[string]string{"file": o.seen.Of(f.name)}
	if f.side != "file" {
		labels[opened.SideLabel] = f.side
	}
	err := o.insert(ctx, f, profile.InsertOptions{Labels: labels, Origin: f.name, Time: f.modified, Retime: true})
	if err == nil {
		o.Names = append(o.Names, labels["file"])
		o.sides[f.side] = true
		return nil
	}
	err = fault.At(labels["file"], err)
	_, isPartial := errors.AsType[*partialError](err)
	if isPartial || o.share.err != nil || ctx.Err() != nil || fault.CauseOf(err).Status >= http.StatusInternalServerError {
		return err
	}
	o.last = err
	o.Refused = append(o.Refused, fault.Text(err))
	return nil
}

// partialError is the error of a recording whose first states were inserted.
type partialError struct{ error }

// Unwrap returns the error.
func (e *partialError) Unwrap() error { return e.error }

// nameOfFile returns the last part of a file's name, of bounded size.
func nameOfFile(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	if name == "." || name == "/" {
		name = "file"
	}
	return strings.ToValidUTF8(name[:min(len(name), maxFileName)], "\ufffd")
}

// insert inserts the profiles of a file, or the states.
func (o *opening) insert(ctx context.Context, file *sentFile, opts profile.InsertOptions) error {
	plain, err := o.share.inflate(file.data, o.s.Limits.Profile.Bytes)
	if err != nil {
		return err
	}
	f, is := format.Of(plain[:min(len(plain), format.PeekBytes)])
	isGo := profiles.Of(plain) == profiles.GoTrace
	if !isGo && (!is || f.HasProfiles) {
		return o.profiles(ctx, plain, opts)
	}
	factor := int64(parsedFactor)
	if isGo && !golang.IsWhole(plain) {
		factor = traceFactor
	}
	if err := o.share.take(factor * int64(len(plain))); err != nil {
		return err
	}
	h := newOpenedHistory(o.db.Store(), file.name)
	defer h.abort()
	if isGo {
		err = o.goTrace(ctx, plain, h, opts)
	} else {
		_, err = f.Import(ctx, bytes.NewReader(plain), h.target())
	}
	if err == nil || errors.Is(err, columnstore.ErrMemory) || ctx.Err() != nil {
		return err
	}
	if err = fault.Invalid("%w", err); h.history != nil {
		err = &partialError{err}
	}
	return err
}

// profiles inserts the profiles of a file.
func (o *opening) profiles(ctx context.Context, plain []byte, opts profile.InsertOptions) error {
	in := &insertion{s: o.s, push: &push{}, share: o.share}
	tx := o.db.Store().Begin()
	defer tx.Abort() // after a commit it does nothing
	for one, err := range in.read(&pushed{Decoded: profiles.Decoded{Encoded: plain}}) {
		if err != nil {
			return err
		}
		if _, err := one.InsertTx(ctx, o.db, tx, opts); err != nil {
			return err
		}
	}
	_, err := tx.Commit()
	return err
}

// goTrace inserts the states and the CPU samples of a Go execution trace.
func (o *opening) goTrace(ctx context.Context, plain []byte, h *openedHistory, opts profile.InsertOptions) error {
	samples := func(some []golang.Sampled) error {
		if len(some) == 0 {
			return nil
		}
		p := profiles.OfGoSamples(some, true)
		_, err := p.InsertTx(ctx, o.db, h.tx, opts)
		return err
	}
	_, err := golang.ImportWith(ctx, bytes.NewReader(plain), h.target(), golang.ImportOptions{Begun: opts.Time.UnixNano(), Samples: samples})
	return err
}

// openedHistory takes the states of a file.
type openedHistory struct {
	store   *columnstore.Store
	name    string
	history *columnstore.History // nil before the first transaction
	tx      *columnstore.Tx
}

// newOpenedHistory returns a history that is named after its file, with a number if the name is taken.
func newOpenedHistory(store *columnstore.Store, file string) *openedHistory {
	if profile.CheckOwnName(file) != nil {
		file = "states"
	}
	h := &openedHistory{store: store, name: file}
	for n := 2; store.History(h.name) != nil; n++ {
		h.name = file + " (" + strconv.Itoa(n) + ")"
	}
	return h
}

// target returns the history as what an import writes.
func (h *openedHistory) target() trace.Target {
	return trace.Target{Begin: h.begin, Commit: func() error { _, err := h.tx.Commit(); return err }}
}

// begin begins a transaction. The first one makes the history.
func (h *openedHistory) begin(start int64) (w *history.Writer, err error) {
	if h.history == nil {
		if h.history, err = h.store.CreateHistory(h.name, columnstore.HistoryOptions{Start: start}); err != nil {
			return nil, err
		}
	}
	h.tx = h.store.Begin()
	return h.tx.History(h.history)
}

// abort ends the transaction that an error left.
func (h *openedHistory) abort() {
	if h.tx != nil {
		h.tx.Abort()
	}
}
