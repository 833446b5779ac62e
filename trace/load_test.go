package trace

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/trace/ihs"
)

// TestLoadProgress: each stage begins with 0, and done never exceeds total.
func TestLoadProgress(t *testing.T) {
	var stages []Stage
	r, err := Load(t.Context(), "synth:300:100", LoadOptions{Progress: func(stage Stage, done, total int64) {
		if len(stages) == 0 || stages[len(stages)-1] != stage {
			stages = append(stages, stage)
			if done != 0 {
				t.Errorf("%s begins with %d", stage, done)
			}
		}
		if done < 0 || done > total {
			t.Errorf("%s: %d of %d", stage, done, total)
		}
	}})
	if err != nil || r.Intervals != 300*101-1 {
		t.Fatal(r, err)
	}
	if want := []Stage{Reading, Building}; !slices.Equal(stages, want) {
		t.Errorf("stages %v, want %v", stages, want)
	}
}

// TestLoadErrors: an error names its input (T3), and the context ends the work.
func TestLoadErrors(t *testing.T) {
	for name, want := range map[string]string{
		"-":         "standard input: the file is empty",
		"synth:0:1": `"synth:0:1": want synth:ATTRIBUTES:CHANGES`,
		"none":      "open none.ihs.gz: ",
		"none.csv":  "open none.csv: ",
	} {
		if r, err := Load(t.Context(), name, LoadOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %q", name, r, err, want)
		}
	}
	if _, err := Load(t.Context(), "synth:0:1", LoadOptions{}); !errors.Is(err, ihs.ErrFormat) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"synth:3:3", "-"} {
		opts := LoadOptions{Stdin: strings.NewReader("time,attribute,value\n1,a,1\n")}
		if _, err := Load(ctx, name, opts); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
