// Package script runs the script files of a package's tests. A script is plain text that
// a reader without Go can follow: commands, and below each the output expected of it.
//
//	# A comment.
//	insert
//	10:00 host=a value=3
//	----
//	commit 1
//
// The first word of a command is its verb; arguments follow as key=value, or as a key
// alone. The lines down to ---- are the verb's input. The flag -update rewrites the
// expected output in place.
package script

import (
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

func init() {
	// The flag has one name for all golden files of the project.
	flag.BoolFunc("update", "rewrite the expected output of scripts", func(value string) error {
		return flag.Set("rewrite", value)
	})
}

// Verb runs one command. Its error becomes part of the output, as a line that begins
// with "error: ".
type Verb func(*Command) error

// Command is one command of a script. An argument that no verb asks for, or that does
// not parse, fails the test.
type Command struct {
	Input []string // the lines between the command and ----

	t    *testing.T
	data *datadriven.TestData
	args map[string]string
	out  strings.Builder
}

// Run runs each testdata/script/*.txt in a subtest. The function open is called once a
// script and returns its verbs, which share the script's state.
func Run(t *testing.T, open func(t *testing.T) map[string]Verb) {
	t.Helper()
	files, err := filepath.Glob("testdata/script/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			verbs := open(t)
			datadriven.RunTest(t, file, func(t *testing.T, data *datadriven.TestData) string {
				return run(t, verbs, data)
			})
		})
	}
}

func run(t *testing.T, verbs map[string]Verb, data *datadriven.TestData) string {
	t.Helper()
	verb, ok := verbs[data.Cmd]
	if !ok {
		data.Fatalf(t, "unknown verb %q; the verbs are %q", data.Cmd, slices.Sorted(maps.Keys(verbs)))
	}
	c := &Command{t: t, data: data, args: map[string]string{}}
	if data.Input != "" {
		c.Input = strings.Split(data.Input, "\n")
	}
	for _, arg := range data.CmdArgs {
		if _, twice := c.args[arg.Key]; twice {
			data.Fatalf(t, "argument %s stands twice", arg.Key)
		}
		c.args[arg.Key] = strings.Join(arg.Vals, ",")
	}
	if err := verb(c); err != nil {
		c.Printf("error: %v\n", err)
	}
	if len(c.args) > 0 {
		data.Fatalf(t, "%s has no argument %q", data.Cmd, slices.Sorted(maps.Keys(c.args)))
	}
	return c.out.String()
}

// Printf adds to the output.
func (c *Command) Printf(format string, args ...any) { fmt.Fprintf(&c.out, format, args...) }

// Fatalf fails the test for a mistake in the script, and names the line.
func (c *Command) Fatalf(format string, args ...any) {
	c.t.Helper()
	c.data.Fatalf(c.t, "%s", fmt.Sprintf(format, args...))
}

// Has reports whether the command has the argument, and takes it.
func (c *Command) Has(key string) bool {
	_, ok := c.args[key]
	delete(c.args, key)
	return ok
}

// Text takes an argument; without it, it returns the default.
func (c *Command) Text(key, without string) string {
	if text, ok := c.args[key]; ok {
		delete(c.args, key)
		return text
	}
	return without
}

// Int takes a whole number; without it, it returns the default.
func (c *Command) Int(key string, without int) int {
	c.t.Helper()
	text := c.Text(key, "")
	if text == "" {
		return without
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		c.Fatalf("%s=%s is no whole number", key, text)
	}
	return n
}

// Rest takes the arguments that are left, in the order of the script.
func (c *Command) Rest() (pairs [][2]string) {
	for _, arg := range c.data.CmdArgs {
		if text, ok := c.args[arg.Key]; ok {
			pairs = append(pairs, [2]string{arg.Key, text})
		}
	}
	clear(c.args)
	return pairs
}
