package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
	"unsafe"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// onTerminal runs the program on a terminal of a number of columns and returns its output.
func onTerminal(t *testing.T, columns int, args ...string) string {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer ours.Close()
	var number, unlocked uint32
	for request, at := range map[uintptr]*uint32{syscall.TIOCGPTN: &number, syscall.TIOCSPTLCK: &unlocked} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, ours.Fd(), request, uintptr(unsafe.Pointer(at))); errno != 0 {
			t.Skip(errno)
		}
	}
	theirs, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Setenv("COLUMNS", fmt.Sprint(columns)) // a new terminal has 0 columns
	t.Setenv("NO_COLOR", "1")
	const end = "end of the test"
	done := make(chan string)
	go func() {
		var text strings.Builder
		buf := make([]byte, 4096)
		for !strings.HasSuffix(text.String(), end+"\r\n") {
			n, err := ours.Read(buf)
			if text.Write(buf[:n]); err != nil {
				break
			}
		}
		done <- text.String()
	}()
	if code := run(context.Background(), args, theirs, theirs); code != cli.ExitOK {
		t.Errorf("granary %q: exit code %d", args, code)
	}
	fmt.Fprintln(theirs, end)
	text := <-done
	theirs.Close()
	return strings.ReplaceAll(strings.TrimSuffix(text, end+"\r\n"), "\r", "")
}

// On a terminal, tables are as wide as the terminal. Elsewhere names are complete.
func TestTablesOnTerminal(t *testing.T) {
	const long = "github.com/granarydb/granary/columnstore.(*Table).InsertMany"
	p := newProfile("cpu:nanoseconds", sample{long + " main", []int64{5e8}, map[string][]string{"thread": {strings.Repeat("long-", 30) + "end"}}})
	a, b := file(t, "a.pb.gz", p), file(t, "b.pb.gz", later())
	for _, args := range [][]string{{"top", a}, {"diff", a, b}, {"peek", ".", a}, {"labels", a}, {"labels", "--name", "thread", a}, {"series", "--by", "thread", a}} {
		for columns, name := range map[int]string{80: "…columnstore.(*Table).Inser", 72: "…columnstore.(*Tab", 200: long} {
			text := onTerminal(t, columns, args...)
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns {
					t.Errorf("%q on %d columns: a line of %d: %s", args, columns, n, line)
				}
			}
			if isTable := args[0] == "top" || args[0] == "diff"; isTable && !strings.Contains(text, name) {
				t.Errorf("%q on %d columns: there is no %s:\n%s", args, columns, name, text)
			}
			if columns == 200 && args[0] == "labels" && !strings.Contains(text, "-long-end") {
				t.Errorf("%q on %d columns: the value is cut:\n%s", args, columns, text)
			}
		}
	}
	if r := granary(t, "top", a); !strings.Contains(r.stdout, long) {
		t.Errorf("cut without a terminal: %s", r.stdout)
	}
}

// TestNarrowTerminal: below 80 columns a chart is as wide as the terminal, down to the least width.
// No command fails on a terminal that is narrower than its table.
func TestNarrowTerminal(t *testing.T) {
	input := scrapes(t, 30)
	for columns, most := range map[int]int{60: 60, 39: 39, 25: 25, 10: cli.MinWidth} {
		widest := 0
		for line := range strings.Lines(onTerminal(t, columns, "series", "--sum", input)) {
			if strings.ContainsAny(line, "┤┼└") {
				widest = max(widest, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
			}
		}
		if widest > most || widest < most/2 {
			t.Errorf("on %d columns the chart has %d", columns, widest)
		}
		for _, args := range [][]string{{"top", input}, {"diff", input, input}, {"peek", ".", input}, {"labels", input}, {"labels", "--name", "file", input}, {"series", "--by", "file", input}} {
			onTerminal(t, columns, args...)
		}
	}
}
