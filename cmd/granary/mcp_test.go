package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// connect connects the client of the SDK to an assistant's server.
func connect(t *testing.T, a *assistant) *mcp.ClientSession {
	t.Helper()
	forServer, forClient := mcp.NewInMemoryTransports()
	server, err := a.server().Connect(t.Context(), forServer, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), forClient, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		_ = server.Wait() // the client has ended it
	})
	return client
}

// callTool calls a tool, and returns its text and whether it is an error.
func callTool(t *testing.T, of *mcp.ClientSession, tool string, args map[string]any) (text string, isError bool) {
	t.Helper()
	r, err := of.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error(), true // the parameters do not have the tool's schema
	}
	for _, c := range r.Content {
		if one, is := c.(*mcp.TextContent); is {
			text += one.Text
		}
	}
	return text, r.IsError
}

// changedStore is a directory with two versions of a program, five runs of each.
func changedStore(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	base, changed := runsOf(t, filepath.Join(dir, "version=1"), 5, 2_500_000), runsOf(t, filepath.Join(dir, "version=2"), 5, 2_700_000)
	db := filepath.Join(dir, "x.db")
	if r := granary(t, "load", "--cumulative", "sum", "--db", db, base, changed); r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	return db
}

// toolCall is a call of a tool, and what its answer has.
type toolCall struct {
	tool string
	args map[string]any
	want string
}

// callTools makes calls, whose answers are JSON with notes behind it.
func callTools(t *testing.T, client *mcp.ClientSession, calls []toolCall) {
	t.Helper()
	for _, c := range calls {
		text, isError := callTool(t, client, c.tool, c.args)
		if isError || !strings.Contains(text, c.want) || !json.Valid([]byte(strings.Split(text, "\ngranary: ")[0])) {
			t.Errorf("%s %v: %s", c.tool, c.args, text)
		}
	}
}

// TestMCP asks each tool: of a directory, and of files.
func TestMCP(t *testing.T) {
	db := changedStore(t)
	for name, a := range map[string]*assistant{
		"directory": {db: []string{"--db=" + db}},
		"files":     {inputs: []string{filepath.Join(filepath.Dir(db), "version=1"), filepath.Join(filepath.Dir(db), "version=2")}},
	} {
		t.Run(name, func(t *testing.T) {
			client := connect(t, a)
			callTools(t, client, []toolCall{
				{"types", nil, `"alloc_space"`},
				{"labels", nil, `"version"`},
				{"labels", map[string]any{"label": "version"}, `"2"`},
				{"top", map[string]any{"type": "alloc_space", "limit": 1}, `"compress"`},
				{"top", map[string]any{"type": "alloc_space", "hide": "compress", "cum": true}, `"handle"`},
				{"callers", map[string]any{"function": "^parse$"}, `"handle"`},
				{"series", map[string]any{"step": "1m", "by": "version"}, `"version"`},
				{"difference", map[string]any{"type": "alloc_space", "base_selector": `{version="1"}`, "selector": `{version="2"}`}, `"parse"`},
			})
			// What changed? parse is first, and is more than chance.
			text, _ := callTool(t, client, "difference", map[string]any{"type": "alloc_space", "base_selector": `{version="1"}`, "selector": `{version="2"}`})
			if first := strings.Index(text, `"name"`); !strings.HasPrefix(text[first:], `"name": "parse"`) || !strings.Contains(text, `"regressed": true`) {
				t.Errorf("%s", text)
			}
		})
	}
}

// TestMCP_Errors: an answer that cannot be given is an error that the assistant reads, and no parameter becomes a flag or a file.
func TestMCP_Errors(t *testing.T) {
	db := changedStore(t)
	client := connect(t, &assistant{db: []string{"--db=" + db}})
	other := file(t, "other.pb.gz", service())
	for _, tc := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"top", map[string]any{"type": "heap"}, "heap"},
		{"top", map[string]any{"selector": "{"}, "selector"},
		{"top", map[string]any{"from": "yesterday"}, "want a time"},
		{"top", map[string]any{"focus": "("}, "regular expression"},
		{"top", map[string]any{"type": strings.Repeat("x", maxArgSize)}, "more than 4096"},
		{"top", map[string]any{"output": "x"}, "output"},
		{"top", map[string]any{"type": "--db=" + other}, "--db="},
		{"callers", map[string]any{}, "function"},
		{"difference", map[string]any{}, "name a base"},
		{"difference", map[string]any{"base_selector": `{version="9"}`}, "no samples"},
		{"states", map[string]any{"history": other}, "there is no history"},
	} {
		if text, isError := callTool(t, client, tc.tool, tc.args); !isError || !strings.Contains(text, tc.want) || strings.Contains(text, "Try '") {
			t.Errorf("%s %v: %v: %s", tc.tool, tc.args, isError, text)
		}
	}
}

// TestMCP_Operands: a function that looks like a flag is a pattern.
func TestMCP_Operands(t *testing.T) {
	text, isError := callTool(t, connect(t, &assistant{db: []string{"--db=" + changedStore(t)}}), "callers", map[string]any{"function": "--json=false"})
	if isError || !strings.Contains(text, "no function matches --json=false") {
		t.Errorf("%v: %s", isError, text)
	}
}

// TestMCP_Bounds: answers have a bound on rows and bytes.
func TestMCP_Bounds(t *testing.T) {
	var samples []sample
	for i := range 2000 {
		samples = append(samples, sample{fmt.Sprintf("f%d%s", i, strings.Repeat("x", 1000)), []int64{int64(i + 1)}, nil})
	}
	client := connect(t, &assistant{inputs: []string{file(t, "many.pb.gz", newProfile("cpu:nanoseconds", samples...))}})
	for limit, want := range map[int]int{0: basicRows, 5: 5, -3: basicRows} {
		text, isError := callTool(t, client, "top", map[string]any{"limit": limit})
		if n := strings.Count(text, `"name"`); isError || n != want {
			t.Errorf("limit %d: %d rows, want %d: %.200s", limit, n, want, text)
		}
	}
	if text, isError := callTool(t, client, "top", map[string]any{"limit": 1_000_000}); !isError || !strings.Contains(text, "choose a smaller limit") {
		t.Errorf("%v: %.200s", isError, text)
	}
}

// TestMCP_Tools: every tool says that it only reads.
func TestMCP_Tools(t *testing.T) {
	list, err := connect(t, &assistant{db: []string{"--db=x"}}).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		if names = append(names, tool.Name); tool.Annotations == nil || !tool.Annotations.ReadOnlyHint || tool.Description == "" {
			t.Errorf("%+v", tool)
		}
	}
	slices.Sort(names)
	if want := []string{"callers", "difference", "labels", "series", "states", "top", "types"}; !slices.Equal(names, want) {
		t.Errorf("%v", names)
	}
}

// TestMCP_Command: the command answers on standard input and output, and ends with its input.
func TestMCP_Command(t *testing.T) {
	cmd := newRoot()
	var errs strings.Builder
	in, ask := io.Pipe()
	answer, out := io.Pipe()
	cmd.SetIn(in)
	ended := make(chan int)
	name := file(t, "in.pb.gz", service())
	go func() { ended <- cli.Run(context.Background(), cmd, []string{"mcp", name}, out, &errs) }()
	if _, err := io.WriteString(ask, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(answer).ReadString('\n')
	if err != nil || !strings.Contains(line, `"granary"`) {
		t.Errorf("%v: %s", err, line)
	}
	_ = ask.Close()
	if code := <-ended; code != cli.ExitOK || errs.Len() > 0 {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	for _, args := range [][]string{{"mcp"}, {"mcp", "--db", "x", "y"}, {"mcp", "-"}, {"mcp", "http://localhost:1"}} {
		if r := granary(t, args...); r.code != cli.ExitUsage {
			t.Errorf("%q: %+v", args, r)
		}
	}
}
