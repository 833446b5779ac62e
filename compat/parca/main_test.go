package parca_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/go-kit/log"
	pprof "github.com/google/pprof/profile"
	profilestorepb "github.com/parca-dev/parca/gen/proto/go/parca/profilestore/v1alpha1"
	"github.com/parca-dev/parca/pkg/ingester"
	"github.com/parca-dev/parca/pkg/parcacol"
	"github.com/parca-dev/parca/pkg/profile"
	"github.com/parca-dev/parca/pkg/profilestore"
	"github.com/parca-dev/parca/pkg/query"
	"github.com/parca-dev/parca/pkg/symbolizer"
	"github.com/polarsignals/frostdb"
	frostquery "github.com/polarsignals/frostdb/query"
	"github.com/polarsignals/frostdb/query/logicalplan"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/compat/parca"
	"github.com/granarydb/granary/compat/parca/engine"
)

// sharedProfiles is a directory of profiles outside of the repository.
const sharedProfiles = "../../../shared/data/pprof"

// skipShared skips a test without those profiles, or fails it where they are required.
func skipShared(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(sharedProfiles); err == nil {
		return
	}
	const what = "../shared/data/pprof is not there: it holds real profiles and is not part of the repository"
	if os.Getenv("GRANARY_NEED_SHARED") == "1" {
		t.Fatal(what + ", and GRANARY_NEED_SHARED is 1")
	}
	t.Skip(what)
}

// profilesBelow returns the encoded profiles in a directory and below it, by name.
func profilesBelow(t *testing.T, root string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".pb.gz") {
			return err
		}
		if out[name], err = os.ReadFile(name); err == nil {
			out[name], err = withPeriod(out[name])
		}
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%s: %d profiles, error %v", root, len(out), err)
	}
	return out
}

// withPeriod returns an encoded profile with a type of its period: Parca v0.28.0 panics without one.
func withPeriod(encoded []byte) ([]byte, error) {
	p, err := pprof.ParseData(encoded)
	if err != nil || p.PeriodType != nil && p.PeriodType.Type != "" {
		return encoded, err
	}
	p.PeriodType = &pprof.ValueType{Type: "none", Unit: "none"}
	var out bytes.Buffer
	err = p.Write(&out)
	return out.Bytes(), err
}

// stores are one set of samples in FrostDB and in Granary, both written by Parca's ProfileColumnStore.
type stores struct {
	write   *profilestore.ProfileColumnStore
	store   *columnstore.Store
	granary *parca.Table
	frost   *frostdb.Table

	want   query.Querier // Parca's, on FrostDB
	engine query.Querier // Parca's, on FrostDB's engine over Granary
	native query.Querier // Querier
}

// both gives each record to both stores.
type both []ingester.Ingester

func (b both) Ingest(ctx context.Context, rec arrow.RecordBatch) error {
	var errs []error
	for n, i := range b {
		if err := i.Ingest(ctx, rec); err != nil {
			errs = append(errs, fmt.Errorf("store %d: %w", n, err))
		}
	}
	return errors.Join(errs...)
}

func openStores(t testing.TB, opts columnstore.Options) *stores {
	t.Helper()
	store, err := columnstore.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	s := &stores{store: store}
	if s.granary, err = parca.Open(store); err != nil {
		t.Fatal(err)
	}
	frost, err := frostdb.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = frost.Close() })
	db, err := frost.DB(context.Background(), "parca")
	if err != nil {
		t.Fatal(err)
	}
	if s.frost, err = db.Table(parca.TableName, frostdb.NewTableConfig(profile.SchemaDefinition())); err != nil {
		t.Fatal(err)
	}
	schema, err := profile.Schema()
	if err != nil {
		t.Fatal(err)
	}
	logger, tracer := log.NewNopLogger(), noop.NewTracerProvider().Tracer("")
	s.write = profilestore.NewProfileColumnStore(prometheus.NewRegistry(), logger, tracer,
		both{ingester.NewIngester(logger, s.frost), ingester.NewIngester(logger, s.granary)}, schema, memory.DefaultAllocator)
	parcas := func(tables logicalplan.TableProvider) query.Querier {
		over := frostquery.NewEngine(memory.DefaultAllocator, tables)
		return parcacol.NewQuerier(logger, tracer, over, parca.TableName, addresses{}, nil, memory.DefaultAllocator)
	}
	tables, err := engine.NewProvider(store)
	if err != nil {
		t.Fatal(err)
	}
	s.want, s.engine = parcas(db.TableProvider()), parcas(tables)
	s.native = parca.NewQuerier(s.granary, nil, nil)
	return s
}

// addresses is a symboliser that finds nothing: Parca's querier wants one.
type addresses struct{}

// Symbolize implements symbolizer.SymbolizationClient.
func (addresses) Symbolize(context.Context, symbolizer.SymbolizationRequest) error { return nil }

// insert writes profiles of one set of labels, given as name and value by turns.
func (s *stores) insert(t testing.TB, encoded []byte, labels ...string) {
	t.Helper()
	_, err := s.write.WriteRaw(context.Background(), &profilestorepb.WriteRawRequest{Series: []*profilestorepb.RawProfileSeries{series(encoded, labels...)}})
	if err != nil {
		t.Fatal(labels, err)
	}
}

// series returns one profile with labels, given as name and value by turns.
func series(encoded []byte, labels ...string) *profilestorepb.RawProfileSeries {
	out := &profilestorepb.RawProfileSeries{
		Labels:  &profilestorepb.LabelSet{},
		Samples: []*profilestorepb.RawSample{{RawProfile: encoded}},
	}
	for i := 0; i < len(labels); i += 2 {
		out.Labels.Labels = append(out.Labels.Labels, &profilestorepb.Label{Name: labels[i], Value: labels[i+1]})
	}
	return out
}

// textOfProfile returns the rows of a profile with all that they have, sorted. Rows without a label and
// those with the empty one are alike.
func textOfProfile(t testing.TB, p profile.Profile) []string {
	t.Helper()
	out := []string{}
	r, err := profile.NewReader(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range r.RecordReaders {
		for row := range int(rec.Record.NumRows()) {
			out = append(out, textOfRow(rec, row))
		}
	}
	slices.Sort(out)
	return out
}

func textOfRow(r *profile.RecordReader, row int) string {
	var labels []string
	for i, field := range r.LabelFields {
		if c := r.LabelColumns[i]; c.Col.IsValid(row) && len(c.Dict.Value(int(c.Col.Value(row)))) > 0 {
			labels = append(labels, fmt.Sprintf("%s=%q", field.Name, c.Dict.Value(int(c.Col.Value(row)))))
		}
	}
	slices.Sort(labels)
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d {%s}", r.Value.Value(row), r.Diff.Value(row), strings.Join(labels, " "))
	if r.Timestamp.IsValid(row) {
		fmt.Fprintf(&b, " at %d", r.Timestamp.Value(row))
	}
	if r.Period.IsValid(row) {
		fmt.Fprintf(&b, " period %d", r.Period.Value(row))
	}
	if r.Locations.IsNull(row) {
		return b.String() + " none"
	}
	start, end := r.Locations.ValueOffsets(row)
	for i := int(start); i < int(end); i++ {
		fmt.Fprintf(&b, " | %x", r.Address.Value(i))
		if r.MappingStart.IsValid(i) {
			fmt.Fprintf(&b, " %x-%x+%x %s %s", r.MappingStart.Value(i), r.MappingLimit.Value(i), r.MappingOffset.Value(i),
				r.MappingFileDict.Value(int(r.MappingFileIndices.Value(i))), r.MappingBuildIDDict.Value(int(r.MappingBuildIDIndices.Value(i))))
		}
		if r.Lines.IsNull(i) {
			continue
		}
		first, last := r.Lines.ValueOffsets(i)
		for j := int(first); j < int(last); j++ {
			fmt.Fprintf(&b, " ; %d:%d", r.LineNumber.Value(j), r.LineColumn.Value(j))
			if r.LineFunctionNameIndices.IsValid(j) {
				fmt.Fprintf(&b, " %s %s %s %d", r.LineFunctionNameDict.Value(int(r.LineFunctionNameIndices.Value(j))),
					r.LineFunctionSystemNameDict.Value(int(r.LineFunctionSystemNameIndices.Value(j))),
					r.LineFunctionFilenameDict.Value(int(r.LineFunctionFilenameIndices.Value(j))), r.LineFunctionStartLine.Value(j))
			}
		}
	}
	return b.String()
}

// far are times around all profiles.
var farFrom, farTo = time.Unix(1, 0), time.Unix(4e9, 0)
