package parca_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/go-kit/log"
	metapb "github.com/parca-dev/parca/gen/proto/go/parca/metastore/v1alpha1"
	"github.com/parca-dev/parca/pkg/parcacol"
	"github.com/parca-dev/parca/pkg/profile"
	"github.com/parca-dev/parca/pkg/query"
	"github.com/parca-dev/parca/pkg/symbolizer"
	frostquery "github.com/polarsignals/frostdb/query"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/compat/parca"
	"github.com/granarydb/granary/compat/parca/engine"
)

// binaries is a symboliser that knows the binary b1, and names functions by their mapping and address.
type binaries struct{ requests int }

// Symbolize implements symbolizer.SymbolizationClient.
func (b *binaries) Symbolize(_ context.Context, req symbolizer.SymbolizationRequest) error {
	b.requests++
	if req.BuildID != "b1" {
		return nil
	}
	for _, m := range req.Mappings {
		for _, l := range m.Locations {
			for i := range l.Address % 3 {
				name := fmt.Sprintf("found_%s_%x+%x", l.Mapping.File, l.Address, l.Mapping.Start)
				l.Lines = append(l.Lines, profile.LocationLine{Line: int64(i), Function: &metapb.Function{
					Name: name, SystemName: "_" + name, Filename: "found.go", StartLine: 7,
				}})
			}
		}
	}
	return nil
}

// upper is a demangler.
type upper struct{}

// Demangle implements profile.Demangler.
func (upper) Demangle(name []byte) string { return strings.ToUpper(string(name)) }

// TestSymbols: a querier asks the symboliser for the same locations as Parca's own, once for each binary, and
// writes the same lines. Names from the symboliser are not demangled again.
func TestSymbols(t *testing.T) {
	s := openStores(t, columnstore.Options{Now: clock})
	r := rand.New(rand.NewPCG(8, 8))
	for range 10 {
		s.insert(t, randomProfile(r), "__name__", "p")
	}
	tables, err := engine.NewProvider(s.store)
	if err != nil {
		t.Fatal(err)
	}
	ofParca, ofGranary := &binaries{}, &binaries{}
	over := frostquery.NewEngine(memory.DefaultAllocator, tables)
	text := func(q query.Querier) []string {
		p, err := q.QueryMerge(context.Background(), "p:cpu:nanoseconds:cpu:nanoseconds:delta", farFrom, farTo, nil, false, "")
		if err != nil {
			t.Fatal(err)
		}
		defer release(p)
		return textOfProfile(t, p)
	}
	want := text(parcacol.NewQuerier(log.NewNopLogger(), noop.NewTracerProvider().Tracer(""), over, parca.TableName, ofParca, upper{}, memory.DefaultAllocator))
	got := text(parca.NewQuerier(s.granary, ofGranary, upper{}))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %s\nwant %s", short(got), short(want))
	}
	if ofGranary.requests != 3 {
		t.Errorf("%d requests for 3 binaries", ofGranary.requests)
	}
	all := strings.Join(got, "\n")
	if !strings.Contains(all, "found_/bin/1_") || !strings.Contains(all, "MAIN.F3") || strings.Contains(all, "FOUND") {
		t.Errorf("names are missing or demangled twice in %s", short(got))
	}
}
