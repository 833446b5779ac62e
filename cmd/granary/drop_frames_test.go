package main

import (
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/internal/effort"
)

// dropPatterns returns patterns of frames to drop and to keep for a profile: some that match
// functions in the middle of its stacks, and some that match many.
func dropPatterns(p *pprof.Profile) [2][2]string {
	middle := "none"
	for _, s := range p.Sample {
		if n := len(s.Location); n > 2 {
			for _, ln := range s.Location[n/2].Line {
				middle += "|" + regexp.QuoteMeta(ln.Function.Name)
			}
		}
		if len(middle) > 2000 {
			break
		}
	}
	return [2][2]string{{`runtime\..*|` + middle, `runtime\.(main|mcall|gc.*)`}, {".*[aeiou]", ""}}
}

// The frames that a profile tells to drop are dropped as by go tool pprof, in all answers.
func TestDropFramesEqualsPprof(t *testing.T) {
	effort.Slow(t)
	eachCorpus(t, func(t *testing.T, files []string) {
		tool, files := newPprofTool(t), fewer(files)
		var changed, functions atomic.Int64
		t.Run("files", func(t *testing.T) {
			for _, name := range files {
				t.Run(filepath.Join(filepath.Base(filepath.Dir(name)), filepath.Base(name)), func(t *testing.T) {
					t.Parallel()
					data, err := os.ReadFile(name)
					if err != nil {
						t.Fatal(err)
					}
					d := droppedFrames{tool: tool, p: mustParse(t, data, name)}
					patterns := dropPatterns(d.p)
					d.use(t, patterns[1])
					d.compareTop(t, nil, nil)
					d.use(t, patterns[0])
					d.compareTop(t, nil, nil)
					focus := frameFlagSets(d.p)[0][0]
					d.compareTop(t, []string{"-" + focus}, []string{"--" + focus})
					d.compareDiff(t)
					d.compareMerge(t)
					if err := d.p.RemoveUninteresting(); err != nil {
						t.Fatal(err)
					}
					if !cmp.Equal(contentOf(d.p), contentOf(mustParse(t, data, name))) {
						changed.Add(1)
					}
					functions.Add(int64(d.functions))
				})
			}
		})
		t.Logf("%d of %d profiles lost frames, %d functions", changed.Load(), len(files), functions.Load())
		if int(changed.Load()) < len(files)/2 {
			t.Error("few profiles lost frames")
		}
	})
}

// droppedFrames is a profile with patterns, and its file.
type droppedFrames struct {
	tool      pprofTool
	p         *pprof.Profile
	file      string
	functions int // compared so far
}

func (d *droppedFrames) use(t *testing.T, patterns [2]string) {
	d.p.DropFrames, d.p.KeepFrames = patterns[0], patterns[1]
	d.file = file(t, "dropped.pb.gz", d.p)
}

// last returns the last sample type.
func (d *droppedFrames) last() *pprof.ValueType { return d.p.SampleType[len(d.p.SampleType)-1] }

func (d *droppedFrames) compareTop(t *testing.T, theirs, ours []string) {
	t.Helper()
	typ := d.last()
	want := d.tool.top(t, d.file, typ.Type, typ.Unit, theirs...)
	got := granaryTop(t, append(ours, "--sample-index", typ.Type, d.file)...)
	if diff := cmp.Diff(want, byName(t, got.Functions)); diff != "" {
		t.Errorf("top %q, drop %.100q: -pprof +granary\n%s", ours, d.p.DropFrames, diff)
	}
	d.functions += len(want)
}

// other returns the file of a profile with the same patterns and other values.
func (d *droppedFrames) other(t *testing.T) string {
	other := d.p.Copy()
	for i, s := range other.Sample {
		s.Value[len(s.Value)-1] += int64(i % 7)
	}
	return file(t, "other.pb.gz", other)
}

func (d *droppedFrames) compareDiff(t *testing.T) {
	t.Helper()
	typ, other := d.last(), d.other(t)
	want := d.tool.top(t, other, typ.Type, typ.Unit, "-diff_base="+d.file)
	if diff := cmp.Diff(want, costs(granaryDiff(t, "--sample-index", typ.Type, d.file, other).Functions)); diff != "" {
		t.Errorf("diff, drop %.100q: -pprof +granary\n%s", d.p.DropFrames, diff)
	}
}

func (d *droppedFrames) compareMerge(t *testing.T) {
	t.Helper()
	other, sum := d.other(t), filepath.Join(t.TempDir(), "sum.pb.gz")
	d.tool.run(t, "-proto", "-symbolize=none", "-output="+sum, d.file, other)
	data, err := os.ReadFile(sum)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(contentOf(mustParse(t, data, sum)).Samples, contentOf(granaryMerge(t, "--sum", d.file, other)).Samples); diff != "" {
		t.Errorf("merge, drop %.100q: -pprof +granary\n%.3000s", d.p.DropFrames, diff)
	}
}

// --all-frames keeps the frames that the patterns would drop.
func TestAllFrames(t *testing.T) {
	p := service()
	want := granaryTop(t, file(t, "all.pb.gz", p))
	p.DropFrames = ".*parse.*|.*compress.*"
	dropped := file(t, "dropped.pb.gz", p)
	if got := granaryTop(t, "--all-frames", dropped); !cmp.Equal(want, got) {
		t.Errorf("--all-frames: %s", cmp.Diff(want, got))
	}
	got := granaryTop(t, dropped)
	if cmp.Equal(want.Functions, got.Functions) || got.Total != want.Total {
		t.Errorf("without it: %+v", got)
	}
}
