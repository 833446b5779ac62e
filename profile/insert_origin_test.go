package profile

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The origin of a profile names its kind, if its types do not tell it.
func TestOriginNamesTheKind(t *testing.T) {
	contentions, heap := "contentions:count delay:nanoseconds", "alloc_objects:count alloc_space:bytes inuse_objects:count inuse_space:bytes"
	for _, tc := range []struct {
		origin, types string
		labels        map[string]string
		want          string
	}{
		{"mutex.pb.gz", contentions, nil, "mutex"},
		{"a/b/block-1.pb.gz", contentions, map[string]string{"job": "a"}, "block"},
		{"http://localhost:6060/debug/pprof/mutex?seconds=5", contentions, nil, "mutex"},
		{"https://mutex/debug/pprof/block", contentions, nil, "block"},
		{"http://mutex/x", contentions, nil, ""},
		{"http://mutex", contentions, nil, ""},
		{"2026-01-02_Mutex.pb", contentions, nil, "mutex"},
		{"delta_block", contentions, nil, "block"},
		{"mutex/1.pb.gz", contentions, nil, "mutex"},
		{`C:\profiles\mutex\block.pb.gz`, contentions, nil, "block"},
		{"mutex/a/1.pb.gz", contentions, nil, ""},
		{"mutex-block.pb.gz", contentions, nil, ""},
		{"mutex/mutex-block.pb.gz", contentions, nil, ""},
		{"mutex-mutex.pb.gz", contentions, nil, "mutex"},
		{"unlocked.pb.gz", contentions, nil, ""},
		{"mutexes.pb.gz", contentions, nil, ""},
		{"", contentions, nil, ""},
		{"/", contentions, nil, ""},
		{"-", contentions, nil, ""},
		{"mutex.pb.gz", contentions, map[string]string{NameLabel: "mine"}, "mine"},
		{"mutex.pb.gz", contentions, map[string]string{NameLabel: ""}, "mutex"},
		{"mutex.pb.gz", heap, nil, ""},
		{"mutex.pb.gz", "samples:count cpu:nanoseconds", nil, ""},
		{"mutex.pb.gz", "delay:nanoseconds contentions:count", nil, ""},
		{"allocs.pb.gz", heap, nil, "allocs"},
		{"heap.pb.gz", heap, nil, ""},
		{"allocs.pb.gz", "alloc_objects:count alloc_space:bytes", nil, ""},
	} {
		db := testDB(t, Options{})
		values := make([]int64, len(strings.Fields(tc.types)))
		values[0] = 1
		given := maps.Clone(tc.labels)
		opts := InsertOptions{Labels: tc.labels, Origin: tc.origin}
		if _, err := db.Insert(ctx, makeProfile(start, tc.types, stack{frames: "f", values: values}), opts); err != nil {
			t.Fatal(err)
		}
		sources, err := db.Series(ctx, view(t, db), Query{})
		if err != nil || len(sources) != 1 || valueOf(sources[0].Labels, NameLabel) != tc.want || valueOf(sources[0].Labels, "job") != tc.labels["job"] {
			t.Errorf("%q of %s and %v: %v, %v; want the name %q", tc.origin, tc.types, tc.labels, sources, err, tc.want)
		}
		if !maps.Equal(given, tc.labels) {
			t.Errorf("%q: the caller's labels became %v", tc.origin, tc.labels)
		}
	}
}

// The differences of profiles of one program and time are those of each kind.
func TestOriginSeparatesDeltas(t *testing.T) {
	db := testDB(t, Options{})
	deltas := NewDeltas(DeltaOptions{})
	for i := 1; i <= 3; i++ {
		for _, kind := range []string{"mutex", "block"} {
			name := filepath.FromSlash(fmt.Sprintf("../testdata/profiles/etcd/%s-%d.pb.gz", kind, i))
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.InsertEncoded(ctx, data, InsertOptions{Labels: map[string]string{"job": "etcd"}, Origin: name, Deltas: deltas}); err != nil {
				t.Fatal(err)
			}
		}
	}
	kinds, err := db.Kinds(ctx, view(t, db), Query{})
	if err != nil || fmt.Sprint(kinds) != "[block (contentions, delay) mutex (contentions, delay)]" {
		t.Errorf("%v, %v", kinds, err)
	}
}
