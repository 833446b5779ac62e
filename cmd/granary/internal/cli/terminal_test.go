package cli

import (
	"bytes"
	"os"
	"testing"
)

func TestWidth(t *testing.T) {
	var b bytes.Buffer
	if Width(&b, 0) != TextWidth || Width(&b, 120) != 120 {
		t.Error("a buffer is 80 columns wide unless a width is asked for")
	}
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer tty.Close()
	for columns, want := range map[string]int{"": TextWidth, "132": 132, "7": TextWidth, "x": TextWidth, "9999": MaxWidth} {
		t.Setenv("COLUMNS", columns) // a new terminal has 0 columns
		if got := Width(tty, 0); got != want {
			t.Errorf("COLUMNS=%s: %d, want %d", columns, got, want)
		}
	}
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	if !Colored(tty) || Colored(&b) {
		t.Error("a terminal has colours, a buffer has none")
	}
	t.Setenv("NO_COLOR", "1")
	if Colored(tty) {
		t.Error("colours in spite of NO_COLOR")
	}
}
