package querier

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strconv"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/export"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// getArrow handles GET /arrow: rows as an Arrow stream, written as they are read. With the parameter
// after, it returns the rows that are in no unit up to that id.
func (q *querier) getArrow(w http.ResponseWriter, r *http.Request) error {
	store, err := q.Source.Store(source.Rows)
	if err != nil {
		return err
	}
	p, err := q.Read.Parameters(r.URL.RawQuery, "form", "stacks", "after")
	if err != nil {
		return err
	}
	opts := columnstore.ScanOptions{Elements: profile.FunctionNames}
	switch form := p.Rest.Get("form"); form {
	case "", columnstore.Dictionary.String():
	case columnstore.Plain.String():
		opts.Form = columnstore.Plain
	case columnstore.Native.String():
		opts.Form = columnstore.Native
	default:
		return fault.Invalid("parameter form: want dictionary, plain or native, not %s", fault.Quoted(form))
	}
	switch stacks := p.Rest.Get("stacks"); stacks {
	case "", "names":
	case "ids":
		opts.Elements = nil
	default:
		return fault.Invalid("parameter stacks: want names or ids, not %s", fault.Quoted(stacks))
	}
	hasAfter := p.Rest.Has("after")
	after, err := strconv.ParseUint(p.Rest.Get("after"), 10, 64)
	if hasAfter && err != nil {
		return fault.Invalid("parameter after: want the id of a unit, or 0, not %s", fault.Quoted(p.Rest.Get("after")))
	}
	out := web.NewLimitedWriter(w, q.ResultBytes)
	return q.Gate.InTime(r.Context(), func(ctx context.Context) error {
		return store.At(ctx, func(v *source.At) error {
			if err := q.Read.Bounds(&p, func() (int64, error) { return v.Newest(ctx) }); err != nil {
				return err
			}
			_, types, err := chosen(ctx, v, &p)
			if err != nil {
				return err
			}
			opts.Where = v.DB.Resolve(v.Snap, p.Query).Expr(types...)
			if hasAfter {
				if opts.Buckets, err = unitsAfter(v, after); err != nil {
					return err
				}
			}
			w.Header().Set("Content-Type", "application/vnd.apache.arrow.stream")
			return out.End(stream(ctx, out, v, opts))
		})
	})
}

// unitsAfter returns the ids of the units after `after`, and 0 for rows in no unit. The error reports
// missing units, because an answer would lack rows that may exist nowhere else.
func unitsAfter(v *source.At, after uint64) ([]uint64, error) {
	units, last, err := v.DB.Table().Units(v.Snap)
	if err != nil {
		return nil, err
	}
	if after > last {
		return nil, fault.Invalid("parameter after: unit %d was never here, the newest is %d", after, last)
	}
	ids := []uint64{0}
	for _, u := range units {
		if u.ID > after {
			ids = append(ids, u.ID)
		}
	}
	if gone := last - after - uint64(len(ids)-1); gone > 0 {
		return nil, fault.Gone("%d of the units %d to %d are here no more: ask again after a newer one", gone, after+1, last)
	}
	return ids, nil
}

// stream writes a scan's rows, record by record.
func stream(ctx context.Context, out *web.LimitedWriter, v *source.At, opts columnstore.ScanOptions) error {
	schema, err := v.DB.Table().RecordSchema(v.Snap, opts)
	if err != nil {
		return err
	}
	buffer := bufio.NewWriterSize(out, 64<<10)
	rows := export.NewArrowWriter(buffer, schema, nil)
	for rec, err := range v.DB.Table().Scan(ctx, v.Snap, opts) {
		if err == nil {
			err = rows.Write(rec)
			rec.Release()
		}
		if err != nil {
			buffer.Reset(io.Discard) // a partial stream must not get a valid end
			_ = rows.Close()         // the first error is returned
			return err
		}
	}
	if err := rows.Close(); err != nil {
		return err
	}
	return buffer.Flush()
}
