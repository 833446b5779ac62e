package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/export"
	"github.com/granarydb/granary/profile"
)

// handler makes a handler of a function that returns its error.
func (s *Server) handler(f func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := f(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

// types returns the types of a question: the one that it names, or none for all.
func (s *Server) types(ctx context.Context, snap *columnstore.Snapshot, name string) ([]profile.Type, error) {
	if name == "" {
		return nil, nil
	}
	t, err := s.db.FindType(ctx, snap, name)
	if err != nil {
		return nil, fmt.Errorf("parameter type: %w", err)
	}
	return []profile.Type{t}, nil
}

// pprof answers with a merged profile, gzipped, as go tool pprof fetches it: GET /pprof. Parameters
// seconds and debug, which tools add to every URL of a profile, are ignored.
func (s *Server) pprof(w http.ResponseWriter, r *http.Request) error {
	p, err := s.parseParameters(r.URL.RawQuery, "seconds", "debug")
	if err != nil {
		return err
	}
	var whole bytes.Buffer // so that an answer beyond the limit is an error, and not cut
	err = s.query(r.Context(), func(ctx context.Context, snap *columnstore.Snapshot) error {
		types, err := s.types(ctx, snap, p.typ)
		if err != nil {
			return err
		}
		merged, err := s.db.Profile(ctx, snap, p.query, types...)
		if err == nil {
			err = s.tellKinds(ctx, snap, p.query, types...)
		}
		if err != nil {
			return err
		}
		merged.Comments = s.comments
		return merged.Write(&limitedWriter{w: &whole, most: s.limits.ResultBytes})
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="profile.pb.gz"`)
	_, _ = w.Write(whole.Bytes()) // an error is that the client has gone
	return nil
}

// arrow answers with rows as an Arrow stream, as it reads them: GET /arrow. With after these are the rows that
// are in no unit up to one.
func (s *Server) arrow(w http.ResponseWriter, r *http.Request) error {
	p, err := s.parseParameters(r.URL.RawQuery, "form", "stacks", "after")
	if err != nil {
		return err
	}
	opts := columnstore.ScanOptions{Elements: profile.FunctionNames}
	switch form := p.rest.Get("form"); form {
	case "", columnstore.Dictionary.String():
	case columnstore.Plain.String():
		opts.Form = columnstore.Plain
	case columnstore.Native.String():
		opts.Form = columnstore.Native
	default:
		return invalid("parameter form: want dictionary, plain or native, not %s", quoted(form))
	}
	switch stacks := p.rest.Get("stacks"); stacks {
	case "", "names":
	case "ids":
		opts.Elements = nil
	default:
		return invalid("parameter stacks: want names or ids, not %s", quoted(stacks))
	}
	hasAfter := p.rest.Has("after")
	after, err := strconv.ParseUint(p.rest.Get("after"), 10, 64)
	if hasAfter && err != nil {
		return invalid("parameter after: want the id of a unit, or 0, not %s", quoted(p.rest.Get("after")))
	}
	out := &limitedWriter{w: w, most: s.limits.ResultBytes}
	return s.query(r.Context(), func(ctx context.Context, snap *columnstore.Snapshot) error {
		types, err := s.types(ctx, snap, p.typ)
		if err != nil {
			return err
		}
		opts.Where = p.query.Expr(types...)
		if hasAfter {
			if opts.Buckets, err = s.unitsAfter(snap, after); err != nil {
				return err
			}
		}
		w.Header().Set("Content-Type", "application/vnd.apache.arrow.stream")
		return out.end(s.stream(ctx, out, snap, opts))
	})
}

// unitsAfter returns the ids of the units behind one, and 0 for the rows of none. It is an error if the store does not have
// all of them: an answer would be without rows that no other place is known to have.
func (s *Server) unitsAfter(snap *columnstore.Snapshot, after uint64) ([]uint64, error) {
	units, last, err := s.db.Table().Units(snap)
	if err != nil {
		return nil, err
	}
	if after > last {
		return nil, invalid("parameter after: unit %d was never here, the newest is %d", after, last)
	}
	ids := []uint64{0}
	for _, u := range units {
		if u.ID > after {
			ids = append(ids, u.ID)
		}
	}
	if gone := last - after - uint64(len(ids)-1); gone > 0 {
		return nil, &goneError{fmt.Sprintf("%d of the units %d to %d are here no more: ask again after a newer one", gone, after+1, last)}
	}
	return ids, nil
}

// stream writes the rows of a scan, record by record.
func (s *Server) stream(ctx context.Context, out *limitedWriter, snap *columnstore.Snapshot, opts columnstore.ScanOptions) error {
	schema, err := s.db.Table().RecordSchema(snap, opts)
	if err != nil {
		return err
	}
	buffer := bufio.NewWriterSize(out, 64<<10)
	rows := export.NewArrowWriter(buffer, schema, nil)
	for rec, err := range s.db.Table().Scan(ctx, snap, opts) {
		if err == nil {
			err = rows.Write(rec)
			rec.Release()
		}
		if err != nil {
			buffer.Reset(io.Discard) // a partial table must not get a valid end
			_ = rows.Close()         // the first error is reported
			return err
		}
	}
	if err := rows.Close(); err != nil {
		return err
	}
	return buffer.Flush()
}

// limitedWriter is an answer of a limited size.
type limitedWriter struct {
	w    io.Writer
	most int64
	n    int64
	err  error // beyond the limit
}

// Write implements io.Writer.
func (l *limitedWriter) Write(b []byte) (int, error) {
	if l.n+int64(len(b)) > l.most {
		if l.err == nil {
			l.err = tooCostly("an answer of more than %d bytes", l.most)
		}
		return 0, l.err
	}
	l.n += int64(len(b))
	return l.w.Write(b)
}

// end returns the error of an answer. After a part was sent it is none that another attempt with a new
// snapshot could mend.
func (l *limitedWriter) end(err error) error {
	if l.err != nil {
		return l.err
	}
	if err != nil && l.n > 0 {
		return fmt.Errorf("amid the answer: %v", err) //nolint:errorlint // see above
	}
	return err
}
