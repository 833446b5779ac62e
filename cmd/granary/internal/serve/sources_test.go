package serve

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestSources reads the flag, and refuses what is no map before anything is opened.
func TestSources(t *testing.T) {
	f, cmd := newFlags(), new(cobra.Command)
	f.add(cmd)
	if err := cmd.ParseFlags([]string{"--sources", "/build=/src/{version}", "--sources", "=a=b"}); err != nil {
		t.Fatal(err)
	}
	if len(f.sources) != 2 || f.sources[0].Prefix != "/build" || f.sources[0].Dir != "/src/{version}" || f.sources[1].Prefix != "" || f.sources[1].Dir != "a=b" {
		t.Errorf("%+v", f.sources)
	}
	if got := cmd.Flag("sources").Value.String(); got != "/build=/src/{version},=a=b" {
		t.Errorf("printed as %q", got)
	}
	for _, text := range []string{"", "/src", "/build="} {
		if err := cmd.ParseFlags([]string{"--sources", text}); err == nil || !strings.Contains(err.Error(), "want PREFIX=DIR") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
