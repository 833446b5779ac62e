package patch

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	pprof "github.com/google/pprof/profile"
	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"google.golang.org/grpc/status"
)

// answer returns an answer of Query as lines, sorted, or the error. It omits what depends on the order of a
// store's rows, which Parca does not promise: the order of children, and of nodes that were merged the address,
// mapping and file of one of them.
func answer(t *testing.T, s *server, req *querypb.QueryRequest) (lines []string) {
	t.Helper()
	res, err := s.asks().Query(context.Background(), req)
	if err != nil {
		return []string{status.Code(err).String() + " " + err.Error()}
	}
	switch r := res.Report.(type) {
	case *querypb.QueryResponse_Pprof:
		lines = linesOfPprof(t, r.Pprof)
	case *querypb.QueryResponse_Top:
		for _, n := range r.Top.List {
			lines = append(lines, fmt.Sprint(n.Meta.GetFunction().GetName(), " ", n.Cumulative, n.Flat, n.Diff))
		}
	case *querypb.QueryResponse_Callgraph:
		for _, n := range r.Callgraph.Nodes {
			lines = append(lines, fmt.Sprint(n.Meta.GetFunction().GetName(), " ", n.Cumulative, n.Flat))
		}
		for _, e := range r.Callgraph.Edges {
			lines = append(lines, fmt.Sprint("edge ", e.Cumulative))
		}
	case *querypb.QueryResponse_Flamegraph:
		var walk func(nodes []*querypb.FlamegraphNode, path string)
		f := r.Flamegraph
		walk = func(nodes []*querypb.FlamegraphNode, path string) {
			for _, n := range nodes {
				at := path + ";" + nameOf(f, n)
				lines = append(lines, fmt.Sprint(at, " ", n.Cumulative, n.Diff))
				walk(n.Children, at)
			}
		}
		walk(f.Root.GetChildren(), "")
	case *querypb.QueryResponse_FlamegraphArrow:
		lines = linesOfRecord(t, r.FlamegraphArrow.Record, "function_name", "cumulative", "flat", "diff", "depth")
	case *querypb.QueryResponse_TableArrow:
		lines = linesOfRecord(t, r.TableArrow.Record, "function_name", "cumulative", "cumulative_diff", "flat", "flat_diff")
	case *querypb.QueryResponse_Source:
		lines = linesOfRecord(t, r.Source.Record, "filename", "line_number", "cumulative", "flat")
	case *querypb.QueryResponse_ProfileMetadata:
		lines = append(slices.Clone(r.ProfileMetadata.MappingFiles), r.ProfileMetadata.Labels...)
	default:
		t.Fatalf("report %T", r)
	}
	slices.Sort(lines)
	return append(lines, fmt.Sprint("total ", res.Total, " filtered ", res.Filtered))
}

// nameOf returns the function of a node, with its tables' strings.
func nameOf(f *querypb.Flamegraph, n *querypb.FlamegraphNode) string {
	if i := n.Meta.GetLocationIndex(); i > 0 && len(f.Locations[i-1].Lines) > 0 {
		function := f.Function[f.Locations[i-1].Lines[n.Meta.GetLineIndex()].FunctionIndex-1]
		return f.StringTable[function.NameStringIndex]
	}
	return "?"
}

func linesOfPprof(t *testing.T, encoded []byte) (lines []string) {
	t.Helper()
	p, err := pprof.ParseData(encoded)
	if err != nil {
		t.Fatal(err)
	}
	for _, sample := range p.Sample {
		text := fmt.Sprint(sample.Value, sample.Label)
		for _, l := range sample.Location {
			text += " |"
			for _, line := range l.Line {
				text += fmt.Sprintf(" %s:%d", line.Function.Name, line.Line)
			}
		}
		lines = append(lines, text)
	}
	return lines
}

// linesOfRecord returns the rows of an encoded record, of the columns that are given and that it has.
func linesOfRecord(t *testing.T, encoded []byte, names ...string) (lines []string) {
	t.Helper()
	r, err := ipc.NewReader(bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	for r.Next() {
		rec := r.RecordBatch()
		for row := range int(rec.NumRows()) {
			var text []string
			for _, name := range names {
				for _, i := range rec.Schema().FieldIndices(name) {
					text = append(text, rec.Column(i).ValueStr(row))
				}
			}
			lines = append(lines, strings.Join(text, " "))
		}
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return lines
}
