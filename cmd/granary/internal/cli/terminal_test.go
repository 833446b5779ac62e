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
	for columns, want := range map[string]int{"": TextWidth, "132": 132, "7": MinWidth, "0": TextWidth, "x": TextWidth, "9999": MaxWidth} {
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

func TestFitName(t *testing.T) {
	const name = "github.com/granarydb/granary/columnstore.(*Table).Insert"
	for _, tc := range []struct {
		name  string
		width int
		want  string
	}{
		{name, 56, name},
		{name, 55, "…granarydb/granary/columnstore.(*Table).Insert"},
		{name, 46, "…granarydb/granary/columnstore.(*Table).Insert"},
		{name, 45, "…granary/columnstore.(*Table).Insert"},
		{name, 30, "…columnstore.(*Table).Insert"},
		{name, 20, "…columnstore.(*Tabl…"},
		{"main.f[go.shape.struct { a/b.C }]", 20, "main.f[go.shape.str…"},
		{"std::vector<a/b>::push_back(int)", 12, "std::vector…"},
		{"näme/ö.f", 8, "näme/ö.f"},
		{"näme/ö.f", 7, "…ö.f"},
		{"", 1, ""},
	} {
		if got := FitName(tc.name, tc.width); got != tc.want {
			t.Errorf("%q in %d: %q, want %q", tc.name, tc.width, got, tc.want)
		}
	}
}
