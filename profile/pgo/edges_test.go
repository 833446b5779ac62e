package pgo

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	pprof "github.com/google/pprof/profile"
)

// preprofile returns what go tool preprofile, and so the compiler, reads of a profile.
func preprofile(t *testing.T, p *pprof.Profile) (calls []byte, size int) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "default.pgo")
	var data bytes.Buffer
	if err := p.Write(&data); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "tool", "preprofile", "-i", name).Output()
	if err != nil {
		t.Fatalf("go tool preprofile: %v", err)
	}
	return out, data.Len()
}

// random returns a profile of random stacks with recursion, inlined frames, and functions of one name.
func random(rng *rand.Rand) *pprof.Profile {
	p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1}
	for i := range 12 {
		p.Function = append(p.Function, &pprof.Function{ID: uint64(i + 1), Name: string(rune('a' + i%10)), StartLine: int64(1 + 10*(i/3))})
	}
	for i := range 60 {
		l := &pprof.Location{ID: uint64(i + 1), Address: uint64(1 + i/2)}
		for range 1 + rng.IntN(3) {
			f := p.Function[rng.IntN(len(p.Function))]
			l.Line = append(l.Line, pprof.Line{Function: f, Line: f.StartLine + rng.Int64N(3)})
		}
		p.Location = append(p.Location, l)
	}
	for range 200 {
		s := &pprof.Sample{Value: []int64{rng.Int64N(1000)}}
		for range 1 + rng.IntN(8) {
			s.Location = append(s.Location, p.Location[rng.IntN(len(p.Location))])
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// TestEdges_Preprofile compares what the compiler reads of a profile of edges with what it reads of the profiles that were added (P1).
func TestEdges_Preprofile(t *testing.T) {
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var e Edges
		var all []*pprof.Profile
		for range 3 {
			p := random(rng)
			all = append(all, p)
			if err := e.Add(p, 0, 1); err != nil {
				t.Fatal(err)
			}
		}
		merged, err := pprof.Merge(all)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := preprofile(t, merged)
		got, _ := preprofile(t, e.Profile())
		if !bytes.Equal(got, want) {
			t.Errorf("seed %d: the compiler reads\n%.400s\nwant\n%.400s", seed, got, want)
		}
	}
}

// TestEdges_Unnamed sees no call through a place without a function.
func TestEdges_Unnamed(t *testing.T) {
	p := random(rand.New(rand.NewPCG(2, 2)))
	p.Sample = p.Sample[:1]
	p.Location[0].Line = []pprof.Line{{Function: p.Function[0], Line: 1}}
	p.Location[1].Line, p.Location[2].Line = nil, []pprof.Line{{Line: 3}}
	for _, stack := range [][]*pprof.Location{{p.Location[0], p.Location[1]}, {p.Location[2], p.Location[0]}, {p.Location[1], p.Location[2]}} {
		p.Sample[0].Location = stack
		var e Edges
		if err := e.Add(p, 0, 1); err != nil || e.Len() != 0 {
			t.Errorf("%d calls, %v", e.Len(), err)
		}
	}
}

// TestEdges_Scale weighs profiles.
func TestEdges_Scale(t *testing.T) {
	p := random(rand.New(rand.NewPCG(7, 7)))
	var once, twice Edges
	for _, err := range []error{once.Add(p, 0, 2), twice.Add(p, 0, 1.5), twice.Add(p, 0, 0.5), twice.Add(p, 0, 0)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	a, b := once.Profile(), twice.Profile()
	if a.String() != b.String() || len(a.Sample) == 0 || once.Len() < len(a.Sample) {
		t.Errorf("%d calls and %d", len(a.Sample), len(b.Sample))
	}
}

func TestEdges_Lines(t *testing.T) {
	p := random(rand.New(rand.NewPCG(1, 1)))
	for _, f := range p.Function {
		f.StartLine = 0
	}
	var e Edges
	if err := e.Add(p, 0, 1); !errors.Is(err, ErrLines) {
		t.Errorf("%v, want %v", err, ErrLines)
	}
	if err := e.Add(&pprof.Profile{}, 0, 1); err != nil || len(e.Profile().Sample) != 0 {
		t.Errorf("an empty profile: %v", err)
	}
}
