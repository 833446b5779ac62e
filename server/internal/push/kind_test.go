package push

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/web"
)

// TestTypesOf reads the types of all test profiles, and of each prefix of one.
func TestTypesOf(t *testing.T) {
	names, err := filepath.Glob("../../../testdata/profiles/*/*.pb.gz")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d profiles: %v", len(names), err)
	}
	push, most := &share{grant: web.NewRoom("pushes", 1<<30, 0).Grant()}, profile.Limits{}.WithDefaults().Bytes
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := pprof.ParseData(data)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := push.inflate(data, most)
		if err != nil {
			t.Fatal(err)
		}
		types, period := typesOf(plain)
		var want []string
		for _, typ := range p.SampleType {
			want = append(want, typ.Type)
		}
		if !slices.Equal(types, want) || period != p.PeriodType.Type {
			t.Errorf("%s: types %v of %s, want %v of %s", name, types, period, want, p.PeriodType.Type)
		}
	}
}

// FuzzTypesOf reads types from bytes that are no profile.
func FuzzTypesOf(f *testing.F) {
	push, most := &share{grant: web.NewRoom("pushes", 1<<30, 0).Grant()}, profile.Limits{}.WithDefaults().Bytes
	data, err := os.ReadFile("../../../testdata/profiles/etcd/cpu-1.pb.gz")
	if err != nil {
		f.Fatal(err)
	}
	plain, err := push.inflate(data, most)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	f.Add(bytes.Repeat([]byte{0x0a, 0x00}, 100))
	f.Fuzz(func(t *testing.T, data []byte) {
		types, period := typesOf(data)
		if len(types) > maxKindTypes || len(period) > maxKindName {
			t.Fatalf("%d types", len(types))
		}
		if p, err := pprof.ParseUncompressed(data); err == nil && p.CheckValid() == nil && len(p.SampleType) < maxKindTypes {
			for i, typ := range p.SampleType {
				if types[i] != typ.Type && len(typ.Type) <= maxKindName {
					t.Fatalf("type %d is %q, want %q", i, types[i], typ.Type)
				}
			}
		}
	})
}

func TestKindOf(t *testing.T) {
	for _, tt := range []struct {
		types        []string
		period, hint string
		want         string
	}{
		{[]string{"samples", "cpu"}, "cpu", "", "process_cpu"},
		{[]string{"samples"}, "cpu", "", "process_cpu"},
		{[]string{"samples"}, "", "", "process_cpu"},
		{[]string{"samples", "time"}, "", "", "time"},
		{[]string{"inuse-objects", "inuse-space"}, "", "", "memory"},
		{[]string{"wall", "sample"}, "wall", "", "wall"},
		{[]string{"goroutines"}, "goroutine", "", "goroutines"},
		{[]string{"off_cpu"}, "", "", "off_cpu"},
		{[]string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"}, "space", "", "memory"},
		{[]string{"goroutine"}, "goroutine", "", "goroutine"},
		{[]string{"contentions", "delay"}, "contentions", "mutex", "mutex"},
		{[]string{"contentions", "delay"}, "contentions", "", ""},
		{[]string{"sample", "wall"}, "wall", "mutex", "wall"},
		{nil, "cpu", "", ""},
	} {
		if got := kindOf(tt.types, tt.period, tt.hint); got != tt.want {
			t.Errorf("%v of %q with hint %q: %q, want %q", tt.types, tt.period, tt.hint, got, tt.want)
		}
	}
}
