package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/replay"
	"github.com/granarydb/granary/internal/effort"
)

// TestExportDemo compares the rows of the demo with the profiles that its fleet sends.
func TestExportDemo(t *testing.T) {
	effort.Slow(t)
	f, err := newFleet(time.Now(), 1)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{}
	for step := range f.steps {
		for i := range f.pods {
			for k, kind := range f.pods[i].kinds {
				p, err := pprof.ParseData(f.appendProfile(nil, scrape{step, &f.pods[i]}, k))
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range p.Sample {
					for i, v := range s.Value {
						if v != 0 {
							want[p.SampleType[i].Type+"\n"+replay.Folder("", kind.labels)+"\n"+functionNames(s)] += v
						}
					}
				}
			}
		}
	}
	for _, flags := range exports[:2] {
		var out bytes.Buffer
		if err := exportRows(t.Context(), nil, &out, slices.Concat(flags, []string{"-o", "-", "--demo", "10s"})...); err != nil {
			t.Fatal(err)
		}
		got := map[string]int64{}
		for _, r := range readExport(t, flags, out.Bytes(), "") {
			labels := map[string]string{}
			for name, value := range r {
				if label, ok := strings.CutPrefix(name, "labels."); ok {
					labels[label] = value
				}
			}
			var v int64
			fmt.Sscan(r["value"], &v)
			got[r["sample_type"]+"\n"+replay.Folder("", labels)+"\n"+r["stacktrace"]] += v
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v: %d sums, want %d: -want +got\n%.2000s", flags, len(got), len(want), diff)
		}
	}
}

// TestSaveFleet compares the files of granary demo --profiles with the profiles that the fleet
// sends, and their folders with the labels.
func TestSaveFleet(t *testing.T) {
	effort.Slow(t)
	dir := filepath.Join(t.TempDir(), "fleet")
	out := t.TempDir()
	r := runDemo(t, "--span", "10s", "--profiles", dir, "-o", out)
	if r.code != cli.ExitOK {
		t.Fatal(r.stderr)
	}
	f, err := newFleet(time.Now(), 1)
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for i := range f.pods {
		for k, kind := range f.pods[i].kinds {
			name := replay.Folder(dir, kind.labels)
			for _, label := range []string{"job=" + kind.labels["job"], "pod=" + f.pods[i].name, "__name__=" + kind.labels["__name__"]} {
				if !strings.Contains(name+"/", "/"+label+"/") {
					t.Errorf("%s does not say %s", name, label)
				}
			}
			data, err := os.ReadFile(filepath.Join(name, "00000.pb.gz"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := pprof.ParseData(data)
			if err != nil {
				t.Fatal(err)
			}
			want, err := pprof.ParseData(f.appendProfile(nil, scrape{0, &f.pods[i]}, k))
			if err != nil {
				t.Fatal(err)
			}
			got.TimeNanos, want.TimeNanos = 0, 0
			if got.String() != want.String() {
				t.Errorf("%s is not what the pod sends", name)
			}
			files++
		}
	}
	if found := profilesBelow(t, dir); len(found) != files {
		t.Errorf("%d files, want %d", len(found), files)
	}
	blocked := write(t, "file", nil)
	if r := runDemo(t, "--span", "10s", "--profiles", filepath.Join(blocked, "x"), "-o", out); r.code != cli.ExitFailed || r.stdout != "" {
		t.Errorf("a folder that cannot be made: %+v", r)
	}
	if r := granary(t, "demo", "--span", "1s"); r.code != cli.ExitUsage || !strings.Contains(r.stderr, `--span "1s": want a duration from 10s to 1d`) {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code := run(ctx, []string{"demo", "--span", "10s", "--profiles", dir, "-o", out}, io.Discard, io.Discard); code != cli.ExitInterrupted {
		t.Errorf("a cancelled demo exits with %d", code)
	}
}

// runDemo runs the demo, which always shows its progress.
func runDemo(t *testing.T, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), append([]string{"demo"}, args...), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}
