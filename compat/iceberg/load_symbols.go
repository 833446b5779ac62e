package iceberg

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/profile"
	codec "github.com/granarydb/granary/profile/pprof"
)

// symbolLocation is a location in the table of locations.
type symbolLocation struct {
	loadedLocation
	names  []string // its functions, leaf first
	isBare bool     // it has no line: one unit can lack symbols that another has
}

// Bounds: lines in a location, locations in a stack, and all of both, where a line counts as lineParts
// locations.
const (
	mostLines       = 1 << 12
	mostDepth       = 1 << 16
	mostSymbolParts = 1 << 28
	lineParts       = 64
)

// count counts parts of symbols, about 4 bytes each. The error is ErrRows.
func (in *loading) count(parts int) error {
	if in.parts += parts; in.parts > mostSymbolParts {
		return fmt.Errorf("%w: symbols of these days take over %d MiB: choose less of them", ErrRows, mostSymbolParts*4>>20)
	}
	return nil
}

// readSymbols takes the stacks and locations of the requested days. Symbols are committed before their
// samples, so a state of the samples that was read before has all of its symbols there.
func (in *loading) readSymbols(ctx context.Context, of [sides]*table.Table) error {
	if of[0] == nil {
		return nil
	}
	places := &symbolReader{in: in, known: map[string]uint32{}}
	if err := in.side(ctx, of[sideLocations], places.add); err != nil {
		return err
	}
	if err := places.end(); err != nil {
		return err
	}
	in.stacks = map[int64][]uint32{}
	return in.side(ctx, of[sideStacks], places.addStacks)
}

// side passes the records of a table of symbols to add.
func (in *loading) side(ctx context.Context, t *table.Table, add func(rec arrow.RecordBatch) error) error {
	from := min(nextDay(in.opts.From)-day, in.opts.From) // the first day begins before the least time, which wraps
	scan := t.Scan(table.WithRowFilter(between(from, in.opts.To)), table.WithMaxConcurrency(1), table.WithArrowBatchSize(recordRows))
	_, records, err := scan.ToArrowRecords(ctx)
	if err != nil {
		return err
	}
	return eachRecord(records, func(rec arrow.RecordBatch) error {
		in.progress() // so that the caller sees that it goes on
		return add(rec)
	})
}

// eachRecord passes records to do, and releases them.
func eachRecord(records iter.Seq2[arrow.RecordBatch, error], do func(rec arrow.RecordBatch) error) error {
	for rec, err := range records {
		if err != nil {
			return err
		}
		err = do(rec)
		rec.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// symbolReader assembles locations from rows. The rows of one location are adjacent in each file; several
// files can have it.
type symbolReader struct {
	in    *loading
	known map[string]uint32 // locations by text: their places in in.places
	id    string            // the current location; empty for none
	at    codec.LocationRecord
	isCut bool // the current location lacks a line, which comes elsewhere, or never
}

func (r *symbolReader) add(rec arrow.RecordBatch) error {
	c := recordColumns{rec: rec}
	ids, inlined := column[*array.String](&c, columnLocation), c.numbers(columnInlined)
	text := map[string]func(row int) (string, bool){}
	for _, name := range []string{columnFunction, columnSystemName, columnSourceFile, columnBinary, columnBuildID} {
		text[name] = c.texts(name)
	}
	number := map[string]func(row int) int64{}
	for _, name := range []string{columnStartLine, columnLine, columnLineColumn, columnAddress, columnMappingStart, columnMappingLimit, columnMappingOffset, columnFlags} {
		number[name] = c.numbers(name)
	}
	if c.err != nil {
		return c.err
	}
	for row := range int(rec.NumRows()) {
		if id := ids.Value(row); id != r.id || inlined(row) <= 0 { // a new file can begin with another's last location
			if err := r.end(); err != nil {
				return err
			}
			r.begin(strings.Clone(id), row, text, number)
		}
		if inlined(row) < 0 {
			continue
		}
		if inlined(row) != int64(len(r.at.Lines)) {
			r.isCut = true
			continue
		}
		if len(r.at.Lines) == mostLines {
			return fmt.Errorf("%w: location %.100q has more than %d lines", ErrRecord, r.id, mostLines)
		}
		if err := r.in.count(lineParts); err != nil {
			return err
		}
		line := codec.RecordLine{StartLine: number[columnStartLine](row), Line: number[columnLine](row), Column: number[columnLineColumn](row)}
		function, has := text[columnFunction](row)
		if line.NoFunction = !has; has {
			line.Function = function
			line.SystemName, _ = text[columnSystemName](row)
			line.File, _ = text[columnSourceFile](row)
		}
		r.at.Lines = append(r.at.Lines, line)
	}
	return nil
}

// begin begins a location. Texts belong to the record, and live as long as it does.
func (r *symbolReader) begin(id string, row int, text map[string]func(int) (string, bool), number map[string]func(int) int64) {
	flags := number[columnFlags](row)
	r.id, r.isCut, r.at = id, false, codec.LocationRecord{Address: uint64(number[columnAddress](row)), Folded: flags&flagFolded != 0}
	if flags&flagMapping == 0 {
		return
	}
	has := func(bit int64) bool { return flags>>mappingShift&bit != 0 }
	m := &pprof.Mapping{
		Start: uint64(number[columnMappingStart](row)), Limit: uint64(number[columnMappingLimit](row)), Offset: uint64(number[columnMappingOffset](row)),
		HasFunctions: has(codec.HasFunctions), HasFilenames: has(codec.HasFilenames), HasLineNumbers: has(codec.HasLineNumbers), HasInlineFrames: has(codec.HasInlineFrames),
	}
	m.File, _ = text[columnBinary](row)
	m.BuildID, _ = text[columnBuildID](row)
	r.at.Mapping, r.at.Program = m, has(codec.IsProgram)
}

// end ends the current location.
func (r *symbolReader) end() error {
	known, isKnown := r.known[r.id]
	if r.id == "" || r.isCut || isKnown && (!r.in.places[known].isBare || len(r.at.Lines) == 0) {
		return nil
	}
	l, err := encoded(&r.at)
	if err != nil {
		return fmt.Errorf("location %.100q: %w", r.id, err)
	}
	place := symbolLocation{l, profile.FunctionNames(nil, l.id, l.record), len(r.at.Lines) == 0}
	if isKnown {
		r.in.places[known] = place
		return nil
	}
	r.known[r.id] = uint32(len(r.in.places))
	r.in.places = append(r.in.places, place)
	return r.in.count(lineParts)
}

// addStacks takes stacks. A stack with a location that the table lacks is left out, because its rows have
// names.
func (r *symbolReader) addStacks(rec arrow.RecordBatch) error {
	c := recordColumns{rec: rec}
	ids, lists := c.numbers(columnStackID), column[*array.List](&c, columnLocations)
	if c.err != nil {
		return c.err
	}
	texts, ok := lists.ListValues().(*array.String)
	if !ok {
		c.fail(columnLocations, lists)
		return c.err
	}
rows:
	for row := range int(rec.NumRows()) {
		if _, known := r.in.stacks[ids(row)]; known {
			continue
		}
		from, to := lists.ValueOffsets(row)
		if to-from > mostDepth {
			return fmt.Errorf("%w: a stack of %d locations", ErrRecord, to-from)
		}
		if err := r.in.count(1 + int(to-from)); err != nil {
			return err
		}
		places := make([]uint32, 0, to-from)
		for i := from; i < to; i++ {
			at, known := r.known[texts.Value(int(i))]
			if !known {
				continue rows
			}
			places = append(places, at)
		}
		r.in.stacks[ids(row)] = places
	}
	return nil
}

// located returns the locations of a row's stack, if they are known. Two stacks can have one id, so
// locations with other names are not this row's.
func (in *loading) located(r *rowReader, row int) (places []uint32, ok bool) {
	if in.stacks == nil || r.stackID == nil {
		return nil, false
	}
	places, ok = in.stacks[r.stackID(row)]
	from, to := r.stacks.ValueOffsets(row)
	for _, at := range places {
		for _, name := range in.places[at].names {
			if from == to || r.functions.Value(int(from)) != name {
				return nil, false
			}
			from++
		}
	}
	return places, ok && from == to
}

// between returns a condition that all rows with times in a range meet, and some others.
func between(from, to int64) iceberg.BooleanExpression {
	at := iceberg.Reference(columnTime)
	return iceberg.NewAnd(iceberg.GreaterThanEqual(at, iceberg.Timestamp(floorMicros(from))), iceberg.LessThanEqual(at, iceberg.Timestamp(floorMicros(to))))
}
