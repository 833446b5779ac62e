package trace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/internal/ihs"
)

// TestLoadProgress: each stage begins with 0, and done never exceeds total. CSV is read before it becomes a history.
func TestLoadProgress(t *testing.T) {
	csv := filepath.Join(t.TempDir(), "a.csv")
	rows := "time,attribute,value\n" + strings.Repeat("5,a,1\n", 20_000)
	if err := os.WriteFile(csv, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]Stage{"synth:300:100": {Building}, csv: {Reading, Building}} {
		var stages []Stage
		_, err := Load(t.Context(), name, LoadOptions{Progress: func(stage Stage, done, total int64) {
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
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(stages, want) {
			t.Errorf("%s: stages %v, want %v", name, stages, want)
		}
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
