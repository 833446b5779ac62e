package profile

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// InsertOptions says what a profile does not say itself.
type InsertOptions struct {
	// Labels are those of the whole profile: job, pod and the like. An empty
	// value is no label.
	Labels map[string]string
	// Time is used for a profile that has none. If it is zero too, the
	// profile's time is 0, which is how pprof says that there is none.
	Time time.Time
}

// Insert adds a profile in a transaction of its own and returns the number of
// rows. When it returns, every new snapshot has them. An error means that
// nothing was inserted; it wraps ErrProfile, ErrTooLarge or an error of
// columnstore.Table.Insert.
//
// The profile is only read. A profile without a value other than zero has no
// rows and is no error.
func (db *DB) Insert(ctx context.Context, p *pprof.Profile, opts InsertOptions) (rows int, err error) {
	tx := db.store.Begin()
	if rows, err = db.InsertTx(ctx, tx, p, opts); err != nil {
		tx.Abort()
		return 0, err
	}
	if _, err := tx.Commit(); err != nil {
		return 0, err
	}
	return rows, nil
}

// InsertTx is Insert in a transaction of the caller's. After an error the
// transaction is as it was before.
func (db *DB) InsertTx(ctx context.Context, tx *columnstore.Tx, p *pprof.Profile, opts InsertOptions) (rows int, err error) {
	if err := db.opts.Limits.check(p); err != nil {
		return 0, err
	}
	b := newBatcher(p, opts, db.opts.KeepZeros)
	note, err := b.kind.note()
	if err != nil {
		return 0, fmt.Errorf("%w: its types: %w", ErrProfile, err)
	}
	if b.batch.Rows > 0 {
		if err := tx.Insert(ctx, db.table, b.batch); err != nil {
			return 0, err
		}
	}
	tx.Note(db.table, note)
	return b.batch.Rows, nil
}

// batcher turns a profile into a batch: sample type by sample type, so that
// rows of a series are neighbours.
type batcher struct {
	profile *pprof.Profile
	kind    Kind
	batch   schema.Batch
	rows    []rowOf
	ids     map[*pprof.Location]uuid.UUID
}

// rowOf names the value that a row is made of.
type rowOf struct{ sample, value int }

func newBatcher(p *pprof.Profile, opts InsertOptions, zeros bool) *batcher {
	b := &batcher{profile: p, kind: kindOf(p), ids: map[*pprof.Location]uuid.UUID{}}
	for value := range p.SampleType {
		for sample, s := range p.Sample {
			if zeros || s.Value[value] != 0 {
				b.rows = append(b.rows, rowOf{sample, value})
			}
		}
	}
	b.batch = schema.Batch{
		Rows:    len(b.rows),
		Columns: make(map[string]encoding.Vector, 16+len(opts.Labels)),
		Records: make(map[uuid.UUID][]byte, len(p.Location)),
	}
	b.addShared(opts)
	b.addTypes()
	b.addStacks()
	b.addLabels()
	return b
}

// addShared sets what all rows have in common.
func (b *batcher) addShared(opts InsertOptions) {
	at := b.profile.TimeNanos
	if at == 0 && !opts.Time.IsZero() {
		at = opts.Time.UnixNano()
	}
	columns := b.batch.Columns
	columns[ColumnTimestamp] = encoding.Int64s(at)
	columns[ColumnDuration] = encoding.Int64s(b.profile.DurationNanos)
	columns[ColumnPeriod] = encoding.Int64s(b.profile.Period)
	for name, value := range opts.Labels {
		columns[ColumnLabels+"."+name] = encoding.Strings(value)
	}
}

func (b *batcher) addTypes() {
	n := len(b.rows)
	types, units, values := make([]string, n), make([]string, n), make([]int64, n)
	for i, r := range b.rows {
		types[i], units[i] = b.kind.Types[r.value].Sample, b.kind.Types[r.value].SampleUnit
		values[i] = b.profile.Sample[r.sample].Value[r.value]
	}
	columns := b.batch.Columns
	columns[ColumnSampleType] = encoding.Strings(types...)
	columns[ColumnSampleUnit] = encoding.Strings(units...)
	columns[ColumnPeriodType] = encoding.Strings(b.kind.Types[0].Period)
	columns[ColumnPeriodUnit] = encoding.Strings(b.kind.Types[0].PeriodUnit)
	columns[ColumnValue] = encoding.Int64s(values...)
}

// addStacks sets the stacks. Rows of one sample share the list.
func (b *batcher) addStacks() {
	stacks := make([][]uuid.UUID, len(b.profile.Sample))
	lists := make([][]uuid.UUID, len(b.rows))
	var records []byte
	for i, r := range b.rows {
		if stacks[r.sample] == nil {
			stack := make([]uuid.UUID, len(b.profile.Sample[r.sample].Location))
			for k, l := range b.profile.Sample[r.sample].Location {
				id, known := b.ids[l]
				if !known {
					start := len(records)
					records, id = appendLocation(records, l, b.program())
					b.ids[l] = id
					b.batch.Records[id] = records[start:len(records):len(records)]
				}
				stack[k] = id
			}
			stacks[r.sample] = stack
		}
		lists[i] = stacks[r.sample]
	}
	b.batch.Columns[ColumnStacktrace] = encoding.UUIDLists(lists...)
}

// program returns the mapping of the program itself: the first, if there is one.
func (b *batcher) program() *pprof.Mapping {
	if len(b.profile.Mapping) == 0 {
		return nil
	}
	return b.profile.Mapping[0]
}

// addLabels sets the labels of samples.
func (b *batcher) addLabels() {
	for i, r := range b.rows {
		s := b.profile.Sample[r.sample]
		for _, name := range slices.Sorted(maps.Keys(s.Label)) {
			values := s.Label[name]
			if b.addID(i, name, values) {
				continue
			}
			for k, value := range values {
				b.strings(labelColumn(ColumnPprofLabels, name, k))[i] = value
			}
		}
		for _, name := range slices.Sorted(maps.Keys(s.NumLabel)) {
			units := s.NumUnit[name]
			for k, value := range s.NumLabel[name] {
				unit := ""
				if k < len(units) {
					unit = units[k]
				}
				v := b.nullable(numLabelColumn(name, unit, k), encoding.Int64)
				v.Int64s[i], v.Valid[i] = value, true
			}
		}
	}
}

// addID puts a trace or span id into its own column, if it is one: they differ
// row by row, and a dictionary of them would only grow.
func (b *batcher) addID(row int, name string, values []string) bool {
	if len(values) != 1 || name != ColumnTraceID && name != ColumnSpanID {
		return false
	}
	raw, err := hex.DecodeString(values[0])
	if err != nil || hex.EncodeToString(raw) != values[0] {
		return false
	}
	switch {
	case name == ColumnTraceID && len(raw) == 16:
		v := b.nullable(name, encoding.UUID)
		v.UUIDs[row], v.Valid[row] = uuid.UUID(raw), true
	case name == ColumnSpanID && len(raw) == 8:
		v := b.nullable(name, encoding.Uint64)
		v.Uint64s[row], v.Valid[row] = binary.BigEndian.Uint64(raw), true
	default:
		return false
	}
	return true
}

// strings returns the values of a dynamic string column of the batch.
func (b *batcher) strings(column string) []string {
	v, ok := b.batch.Columns[column]
	if !ok {
		v = encoding.Strings(make([]string, len(b.rows))...)
		b.batch.Columns[column] = v
	}
	return v.Strings
}

// nullable returns a column of the batch in which no row has a value yet.
func (b *batcher) nullable(column string, t encoding.Type) encoding.Vector {
	v, ok := b.batch.Columns[column]
	if ok {
		return v
	}
	n := len(b.rows)
	v = encoding.Vector{Type: t, Valid: make([]bool, n)}
	switch t {
	case encoding.Int64:
		v.Int64s = make([]int64, n)
	case encoding.Uint64:
		v.Uint64s = make([]uint64, n)
	case encoding.UUID:
		v.UUIDs = make([]uuid.UUID, n)
	}
	b.batch.Columns[column] = v
	return v
}

// A sample can have several values of one label. The first is in the column
// of the label's name; the others are in columns named name#2, name#3. A name
// that itself ends like that gets a #1, so that it can be told apart.

// maxValues bounds the values of one label in one sample.
const maxValues = 256

// labelColumn returns the concrete column of the k-th value of a label.
func labelColumn(family, name string, k int) string {
	if _, _, numbered := cutNumber(name); k > 0 || numbered {
		return fmt.Sprintf("%s.%s#%d", family, name, k+1)
	}
	return family + "." + name
}

// cutNumber splits what labelColumn numbered into the name and k.
func cutNumber(column string) (name string, k int, numbered bool) {
	i := strings.LastIndexByte(column, '#')
	if i < 0 {
		return column, 0, false
	}
	n, err := strconv.Atoi(column[i+1:])
	if err != nil || n < 1 || n > maxValues || strconv.Itoa(n) != column[i+1:] {
		return column, 0, false
	}
	return column[:i], n - 1, true
}

// numLabelColumn returns the concrete column of the k-th value of a number
// label, which has a unit: name[unit].
func numLabelColumn(name, unit string, k int) string {
	if unit != "" || strings.HasSuffix(name, "]") {
		name += "[" + escapeUnit.Replace(unit) + "]"
	}
	return labelColumn(ColumnPprofNumLabels, name, k)
}

// Units have no brackets in their columns' names, so that the last one opens
// the unit.
var (
	escapeUnit   = strings.NewReplacer("%", "%25", "[", "%5B")
	unescapeUnit = strings.NewReplacer("%25", "%", "%5B", "[")
)

// cutUnit splits the name of a number label's column into name and unit.
func cutUnit(name string) (base, unit string) {
	if !strings.HasSuffix(name, "]") {
		return name, ""
	}
	i := strings.LastIndexByte(name, '[')
	if i < 0 {
		return name, "" // not a name that numLabelColumn makes
	}
	return name[:i], unescapeUnit.Replace(name[i+1 : len(name)-1])
}
