package parca

import (
	"context"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	metapb "github.com/parca-dev/parca/gen/proto/go/parca/metastore/v1alpha1"
	"github.com/parca-dev/parca/pkg/profile"
	"github.com/parca-dev/parca/pkg/symbolizer"
)

// resolved returns a record with one stack of the given locations. A location without lines gets the lines that
// the symboliser finds. Parca omits the address of a location that came with lines, and so does the record.
func (q *Querier) resolved(ctx context.Context, encoded [][]byte) (arrow.RecordBatch, error) {
	found, err := q.symbolized(ctx, encoded)
	if err != nil {
		return nil, err
	}
	w := profile.NewLocationsWriter(memory.DefaultAllocator)
	defer w.RecordBuilder.Release()
	w.LocationsList.Append(true)
	size := 0
	for i, location := range encoded {
		if size += len(location); size > math.MaxInt32 {
			return nil, ErrTooLarge
		}
		w.Locations.Append(true)
		known, err := profile.DecodeInto(w, location, q.demangler)
		if err != nil {
			return nil, err
		}
		w.Addresses.Append(known.Addr)
		if known.WroteLines {
			continue
		}
		if err := writeLines(w, found[i]); err != nil {
			return nil, err
		}
	}
	stacks := w.RecordBuilder.NewRecordBatch()
	defer stacks.Release()
	columns := []arrow.Array{stacks.Column(0), numbers([]int64{0}), numbers([]int64{0}), nullNumbers(1), nullNumbers(1)}
	return array.NewRecordBatch(profile.ArrowSchema(nil), columns, 1), nil
}

// symbolized asks the symboliser for the locations that have an address in a binary, and no lines. It returns
// them by their indexes, the others as nil. There is one request for each binary.
func (q *Querier) symbolized(ctx context.Context, encoded [][]byte) ([]*profile.Location, error) {
	found := make([]*profile.Location, len(encoded))
	if q.symbols == nil {
		return found, nil
	}
	var requests []symbolizer.SymbolizationRequest
	byBinary := map[string]int{}
	for i, location := range encoded {
		info, lines := profile.DecodeSymbolizationInfo(location)
		if lines > 0 || info.Addr == 0 || len(info.BuildID) == 0 {
			continue
		}
		id := string(info.BuildID)
		found[i] = &profile.Location{Address: info.Addr, Mapping: &metapb.Mapping{
			BuildId: id, File: info.Mapping.File,
			Start: info.Mapping.StartAddr, Limit: info.Mapping.EndAddr, Offset: info.Mapping.Offset,
		}}
		n, ok := byBinary[id]
		if !ok {
			n = len(requests)
			byBinary[id] = n
			requests = append(requests, symbolizer.SymbolizationRequest{
				BuildID: id, Mappings: make([]symbolizer.SymbolizationRequestMappingAddrs, 1),
			})
		}
		all := &requests[n].Mappings[0].Locations // each location names its mapping
		*all = append(*all, found[i])
	}
	for _, request := range requests {
		if err := q.symbols.Symbolize(ctx, request); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// writeLines writes the lines of a location, or null if it is nil or has none.
func writeLines(w profile.LocationsWriter, found *profile.Location) error {
	if found == nil || len(found.Lines) == 0 {
		w.Lines.AppendNull()
		return nil
	}
	w.Lines.Append(true)
	for _, line := range found.Lines {
		w.Line.Append(true)
		w.LineNumber.Append(line.Line)
		w.ColumnNumber.Append(0)
		w.FunctionStartLine.Append(line.Function.GetStartLine())
		if err := w.FunctionName.AppendString(line.Function.GetName()); err != nil {
			return err
		}
		if err := w.FunctionSystemName.AppendString(line.Function.GetSystemName()); err != nil {
			return err
		}
		if err := w.FunctionFilename.AppendString(line.Function.GetFilename()); err != nil {
			return err
		}
	}
	return nil
}
