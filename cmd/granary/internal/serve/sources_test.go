package serve

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/server"
)

// TestSources reads the flag, and refuses what is no map before anything is opened.
func TestSources(t *testing.T) {
	f, cmd := newFlags(), new(cobra.Command)
	f.add(cmd)
	if err := cmd.ParseFlags([]string{"--sources", "/build=/src/{version}", "--sources", "=a=b", "--sources", "x=/mod/shop@v1", "--sources", "/g=git:/srv/a@b.git@v{version}"}); err != nil {
		t.Fatal(err)
	}
	if len(f.sources) != 4 || f.sources[2] != (server.SourceDir{Prefix: "x", Dir: "/mod/shop@v1"}) || f.sources[3] != (server.SourceDir{Prefix: "/g", Dir: "/srv/a@b.git", Revision: "v{version}"}) || f.sources[0].Prefix != "/build" || f.sources[0].Dir != "/src/{version}" || f.sources[1].Prefix != "" || f.sources[1].Dir != "a=b" {
		t.Errorf("%+v", f.sources)
	}
	if got := cmd.Flag("sources").Value.String(); got != "/build=/src/{version},=a=b,x=/mod/shop@v1,/g=git:/srv/a@b.git@v{version}" {
		t.Errorf("printed as %q", got)
	}
	for _, text := range []string{"", "/src", "/build=", "/g=git:", "/g=git:/srv/a", "/g=git:@v1", "/g=git:/srv/a@"} {
		if err := cmd.ParseFlags([]string{"--sources", text}); err == nil || !strings.Contains(err.Error(), "want PREFIX=") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
