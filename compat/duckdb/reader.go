//go:build cgo

package duckdb

import (
	"github.com/apache/arrow/go/v14/arrow"
	"github.com/duckdb/duckdb-go/v2/mapping"
)

// reader copies a scan's records to one of DuckDB's threads, a chunk at a time:
//
//	record      32,768 rows            chunk      2,048 rows
//	int64       ----------------       flat       ----                copied
//	dictionary  index ----------       dictionary ----                copied
//	            values --              shared     -- and a null       once a record
type reader struct {
	rec    arrow.Record
	row    int              // first row not yet returned
	values []mapping.Vector // for each column in rec, its dictionary's values
}

// fill puts the next rows into a chunk. An empty chunk is the end.
func (r *reader) fill(s *scan, chunk mapping.DataChunk) error {
	if r.rec == nil || r.row == int(r.rec.NumRows()) {
		r.close()
		rec, err := s.next()
		if rec == nil {
			mapping.DataChunkSetSize(chunk, 0)
			return err
		}
		r.rec, r.values = rec, make([]mapping.Vector, rec.NumCols())
	}
	n := min(int(mapping.VectorSize()), int(r.rec.NumRows())-r.row)
	for i := range r.values {
		r.copy(mapping.DataChunkGetVector(chunk, mapping.IdxT(i)), i, n)
	}
	mapping.DataChunkSetSize(chunk, mapping.IdxT(n))
	r.row += n
	return nil
}

// copy puts a column's next n rows into a vector.
func (r *reader) copy(out mapping.Vector, i, n int) {
	data := r.rec.Column(i).Data()
	if data.DataType().ID() != arrow.DICTIONARY {
		copyValues(out, data, r.row, n)
		return
	}
	if r.values[i].Ptr == nil {
		typ := mapping.VectorGetColumnType(out)
		defer mapping.DestroyLogicalType(&typ)
		r.values[i] = newValues(typ, data.Dictionary())
	}
	slice(out, r.values[i], data, r.row, n)
}

// close releases the record.
func (r *reader) close() {
	if r.rec == nil {
		return
	}
	for i := range r.values {
		mapping.DestroyVector(&r.values[i])
	}
	r.rec.Release()
	*r = reader{}
}
