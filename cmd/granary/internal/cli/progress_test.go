package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Short work shows no bar, long work a full one, and failed work no full bar.
func TestLateProgress(t *testing.T) {
	for _, tc := range []struct {
		name       string
		terminal   bool
		waited     time.Duration
		done       int64
		want, last string
	}{
		{"short", false, 0, 10, "", ""},
		{"long", false, time.Minute, 10, "exporting: 100%\nexporting: 100%\n", ""},
		{"failed", false, time.Minute, 5, "exporting:  50%\n", ""},
		{"failed on a terminal", true, time.Minute, 5, "", "\n"},
	} {
		var out bytes.Buffer
		p := NewLateProgress(&out, "exporting")
		p.terminal = tc.terminal
		p.start = p.start.Add(-tc.waited)
		p.Show(tc.done, 10)
		p.End()
		if got := out.String(); (tc.want != "" || tc.last == "") && got != tc.want || !strings.HasSuffix(got, tc.last) {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
}
