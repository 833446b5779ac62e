package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

func TestMergeFolded(t *testing.T) {
	input := file(t, "in.pb.gz", service())
	const want = "gc 90000000\nmain 10000000\nmain;handle;compress 600000000\nmain;handle;parse 250000000\nmain;handle;parse;parse 50000000\n"
	out := filepath.Join(t.TempDir(), "x.folded")
	for _, args := range [][]string{{"-o", "-", "--format", "folded"}, {"-o", out}} {
		r := granary(t, append(append([]string{"merge"}, args...), input)...)
		if r.code != cli.ExitOK {
			t.Fatalf("%+v", r)
		}
		got := r.stdout
		if args[1] == out {
			data, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			got = string(data)
		}
		if got != want {
			t.Errorf("%q:\n%s", args, got)
		}
	}
	if r := granary(t, "merge", "-o", "-", "--format", "folded", "--sample-index", "samples", input); !strings.HasPrefix(r.stdout, "gc 9\n") {
		t.Errorf("%+v", r)
	}
	for _, of := range []string{out, "folder"} { // folded stacks are an input again, by name and in a folder
		if of == "folder" {
			of = filepath.Dir(out)
		}
		if r := granary(t, "merge", "-o", "-", "--format", "folded", of); r.code != cli.ExitOK || r.stdout != want {
			t.Errorf("%s: %+v", of, r)
		}
		if got := granaryTop(t, of); got.Total != 1e9 || got.Functions[0].Name != "compress" {
			t.Errorf("%s: %+v", of, got)
		}
	}
	odd := file(t, "odd.pb.gz", newProfile("n:count", sample{"a;b c\x1b", []int64{1}, nil}))
	if r := granary(t, "merge", "-o", "-", "--format", "folded", odd); r.stdout != "c\ufffd;a:b 1\n" {
		t.Errorf("%q", r.stdout)
	}
}

func TestMergeSpeedscope(t *testing.T) {
	input := file(t, "in.pb.gz", service())
	for _, tc := range []struct {
		flags []string
		names string
	}{{nil, "samples none 100 cpu nanoseconds 1000000000 "}, {[]string{"--sample-index", "cpu"}, "cpu nanoseconds 1000000000 "}} {
		r := granary(t, append(append([]string{"merge", "-o", "-", "--format", "speedscope"}, tc.flags...), input)...)
		var got struct {
			Schema   string `json:"$schema"`
			Shared   struct{ Frames []struct{ Name string } }
			Active   int `json:"activeProfileIndex"`
			Profiles []struct {
				Type, Name, Unit string
				End              int64 `json:"endValue"`
				Samples          [][]int
				Weights          []int64
			}
		}
		if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || r.code != cli.ExitOK {
			t.Fatalf("%v, %+v", err, r)
		}
		names := ""
		for _, p := range got.Profiles {
			sum := int64(0)
			for i, w := range p.Weights {
				sum += w
				for _, frame := range p.Samples[i] {
					if frame < 0 || frame >= len(got.Shared.Frames) {
						t.Fatalf("frame %d of %d", frame, len(got.Shared.Frames))
					}
				}
			}
			end, err := json.Marshal(p.End)
			if err != nil || sum != p.End || len(p.Samples) != 5 || p.Type != "sampled" {
				t.Errorf("%+v", p)
			}
			names += p.Name + " " + p.Unit + " " + string(end) + " "
		}
		if names != tc.names || !strings.Contains(r.stdout, `"activeProfileIndex":`) || got.Profiles[got.Active].Name != "cpu" || len(got.Shared.Frames) != 5 || got.Schema == "" {
			t.Errorf("%q: %s, %+v", tc.flags, names, got.Shared)
		}
	}
	// A file of speedscope is an input again, with the same types, stacks and values.
	out := filepath.Join(t.TempDir(), "x.speedscope.json")
	if r := granary(t, "merge", "-o", out, input); r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	for _, args := range [][]string{{"--format", "folded"}, {"--format", "folded", "--sample-index", "samples"}, {"--format", "speedscope"}} {
		args = append([]string{"merge", "-o", "-"}, args...)
		want := granary(t, append(args, input)...)
		for _, of := range []string{out, filepath.Dir(out)} {
			if got := granary(t, append(args, of)...); got.code != cli.ExitOK || got.stdout != want.stdout || got.stdout == "" {
				t.Errorf("%q: %+v\nwant %s", args, got, want.stdout)
			}
		}
	}
	for name, want := range map[string]string{"a.speedscope.json": formatSpeedscope, "b.collapsed": formatFolded, "c.pb.gz": formatPprof, "-": formatPprof} {
		if got := mergeFormat("", name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	none := file(t, "none.pb.gz", newProfile("cpu:nanoseconds"))
	if r := granary(t, "merge", "-o", "-", "--format", "speedscope", none); r.code != cli.ExitOK || r.stderr != "granary: there are no samples\n" || !strings.Contains(r.stdout, `"profiles":[]`) {
		t.Errorf("%+v", r)
	}
}
