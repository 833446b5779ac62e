package format_test

import (
	"bytes"
	"context"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"

	library "github.com/google/pprof/profile"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
)

// TestDebug2 reads the stacks of goroutines whose values are known.
func TestDebug2(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"states": {
			"goroutine 1 [running]:\nmain.main()\n\t/a b/x.go:5 +0x1d\n\n" +
				"goroutine 7 [chan receive (nil chan), 5 minutes, locked to thread]:\nmain.(*T).f[...](0xc0?, {0x1, 0x2}, ...)\n\tx.go:6\nmain.g({0x1, 0x2})\n\tx.go:7 +0x1\ncreated by main.main in goroutine 1\n\tx.go:8 +0x2\n\n" +
				"goroutine 8 [chan receive (nil chan), 5 minutes]:\nmain.(*T).f[...](...)\n\tx.go:6\nmain.g(...)\n\tx.go:7 +0x1\ncreated by main.main in goroutine 1\n\tx.go:8 +0x2\n",
			"goroutine/count ; [1] map[state:[running]] main.main:5; [1] map[created_by:[main.main] state:[chan receive (nil chan)] wait_minutes:[5]] main.(*T).f[...]:6 main.g:7" +
				"; [1] map[created_by:[main.main] state:[chan receive (nil chan)] wait_minutes:[5]] main.(*T).f[...]:6 main.g:7",
		},
		"equal ones": {strings.Repeat("goroutine 1 [select]:\nmain.f()\n\tx.go:5\n\n", 3), "goroutine/count ; [3] map[state:[select]] main.f:5"},
		"labels": {
			"goroutine 1 gp=0xc00 m=nil [select, synctest bubble 4 labels:{\"a\": \"x y\", \"b\": \"\\\"\\n\"}]:\nmain.f()\n\tx.go:5 +0x1 fp=0x1 sp=0x2 pc=0x3\n",
			"goroutine/count ; [1] map[a:[x y] b:[\"\n] state:[select]] main.f:5",
		},
		"not all": {
			"goroutine 1 [select]:\nmain.f()\n\tx.go:5\n...additional frames elided...\ncreated by main.g\n\tx.go:6\n\ngoroutine 2 [running]:\n\tgoroutine running on other thread; stack unavailable\ncreated by main.g\n\tx.go:6\n\ngoroutine 3 [idle]:\nnon-Go function\n\tx.c:5 pc=0x1\n...12 frames elided...\n",
			"goroutine/count ; [1] map[created_by:[main.g] state:[select]] main.f:5; [1] map[created_by:[main.g] state:[running]]; [1] map[state:[idle]] non-Go function:5",
		},
	} {
		for form, text := range map[string]string{"": c.text, ", of Windows": strings.ReplaceAll(c.text, "\n", "\r\n")} {
			p, err := decoded([]byte(text), format.Hints{})
			if err != nil || p.Parsed == nil {
				t.Errorf("%s%s: %v", name, form, err)
			} else if got := shown(p.Parsed); got != c.want || p.Parsed.CheckValid() != nil {
				t.Errorf("%s%s: %s\nwant %s", name, form, got, c.want)
			}
		}
	}
}

// sumsOf returns the sums of a profile's first values by stack, of stacks with a function.
func sumsOf(p *library.Profile, function string) map[string]int64 {
	sums := map[string]int64{}
	for _, s := range p.Sample {
		var names []string
		for _, l := range s.Location {
			for _, line := range l.Line {
				names = append(names, line.Function.Name)
			}
		}
		if slices.Contains(names, function) {
			sums[strings.Join(names, ";")] += s.Value[0]
		}
	}
	return sums
}

// TestDebug2_Runtime reads the goroutines of this program: the stacks are those of debug=1, and the states what they wait for.
func TestDebug2_Runtime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var begun, ended sync.WaitGroup
	const all = 7
	begun.Add(all)
	for range all {
		ended.Go(func() { waiting(ctx, &begun) })
	}
	begun.Wait()
	parsed := func(debug int) *library.Profile {
		var b bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&b, debug); err != nil {
			t.Fatal(err)
		}
		p, err := decoded(b.Bytes(), format.Hints{})
		if err != nil || p.Parsed == nil {
			t.Fatalf("%v\n%s", err, b.Bytes())
		}
		return p.Parsed
	}
	const function = "github.com/granarydb/granary/profile/format_test.waiting"
	var got, want map[string]int64
	for range 1000 { // until all wait
		if got, want = sumsOf(parsed(2), function), sumsOf(parsed(1), function); len(got) == 1 && len(want) == 1 {
			break
		}
	}
	p := parsed(2)
	cancel()
	ended.Wait()
	for stack, n := range want {
		if len(want) != 1 || n != all || got[stack] != n || len(got) != 1 {
			t.Errorf("%v with debug=2, want %v", got, want)
		}
	}
	for _, s := range p.Sample {
		if label := s.Label["state"]; len(label) != 1 {
			t.Errorf("labels %v", s.Label)
		}
		if len(sumsOf(&library.Profile{Sample: []*library.Sample{s}}, function)) == 1 && (s.Label["state"][0] != "chan receive" || s.Label["created_by"][0] != "sync.(*WaitGroup).Go") {
			t.Errorf("labels %v", s.Label)
		}
	}
}

const debug2Text = "goroutine 1 [select, 2 minutes, locked to thread labels:{\"a\": \"b\"}]:\nmain.f(0x1)\n\t/x.go:5 +0x1d\ncreated by main.g in goroutine 7\n\tx.go:9\n\ngoroutine 2 [running]:\n\tgoroutine running on other thread; stack unavailable\n\n"

// TestDebug2_Hostile refuses texts that are wrong or too large, and says where.
func TestDebug2_Hostile(t *testing.T) {
	const head, frame = "goroutine 1 [running]:\n", "main.f()\n\tx.go:5\n"
	is, large := profile.ErrProfile, profile.ErrTooLarge
	wantHostile(t, format.Debug2, "goroutine", map[string]hostile{
		"no file":                   {head + "main.f()\n", is, `at the end: the stack ends without the file of "main.f()"`},
		"no file before a blank":    {head + "main.f()\n\n", is, "line 3: the stack ends without the file"},
		"no file before another":    {head + "main.f()\n" + head, is, "line 3: the stack ends without the file"},
		"two functions":             {head + "main.f()\nmain.g()\n", is, `line 3: want the file of "main.f()", not "main.g()"`},
		"a file first":              {head + "\tx.go:5\n", is, "line 2: want a function and then its file"},
		"two files":                 {head + frame + "\tx.go:5\n", is, "line 4: want a function and then its file"},
		"a file without a line":     {head + "main.f()\n\tx.go\n", is, "line 3: want a function and then its file"},
		"a line, long":              {head + "main.f()\n\tx.go:99999999999999999999\n", is, "line 3: want a number of 64 bits"},
		"a line, negative":          {head + "main.f()\n\tx.go:-5\n", is, "line 3: want a function and then its file"},
		"a word":                    {head + frame + "\nword\n", is, `line 5: want the first line of a goroutine, not "word"`},
		"a second head without end": {head + frame + "\ngoroutine 2 [running]\n", is, "line 5: want the first line of a goroutine"},
		"a head without a number":   {head + frame + "\ngoroutine x [running]:\n", is, "line 5: want the first line of a goroutine"},
		"a panic behind":            {head + frame + "\nexit status 2\n", is, "line 5: want the first line of a goroutine"},
		"registers":                 {head + frame + "\nrax    0x0\n", is, "line 5: want the first line of a goroutine"},
		"creator without a file":    {head + "created by main.f\n\n", is, "line 3: the stack ends without the file"},
		"labels, cut":               {"goroutine 1 [x labels:{\"a\": \"b\"]:\n\n", is, "line 2: want labels"},
		"labels, no value":          {"goroutine 1 [x labels:{\"a\"}]:\n\n", is, "line 2: want labels"},
		"labels, no brace":          {"goroutine 1 [x labels:a]:\n\n", is, "line 2: want labels"},
		"labels, a comma":           {"goroutine 1 [x labels:{\"a\": \"b\",}]:\n\n", is, "line 2: want labels"},
		"deep":                      {head + strings.Repeat(frame, 5), large, "line 11: "},
		"many":                      {head + "\n" + head + frame + "\ngoroutine 1 [x]:\n\ngoroutine 1 [y]:\n\n", large, "line 10: "},
		"many, at the end":          {head + "\n" + head + frame + "\ngoroutine 1 [x]:\n\ngoroutine 1 [y]:\n", large, "at the end: "},
		"large":                     {head + strings.Repeat("\n", 100_000), large, "more than 100000 bytes"},
		"not a dump":                {"goroutines\n", is, "not in the format debug2"},
		"equal ones":                {strings.Repeat(head+frame+"\n", 100), nil, ""},
		"no blank lines":            {strings.Repeat(head+frame, 100), nil, ""},
		"no stack":                  {head, nil, ""},
		"no state":                  {"goroutine 1 []:\n", nil, ""},
		"states of commas":          {"goroutine 1 [, , ,  minutes, x minutes, labels]:\n", nil, ""},
		"a parenthesis":             {head + "(\n\tx.go:5\n)\n\tx.go:5\n()\n\tx.go:5\nf)(\n\tx.go:5\n", nil, ""},
		"no newline":                {head + "main.f()\n\tx.go:5", nil, ""},
		"a file of colons":          {head + "main.f()\n\t::::5\n", nil, ""},
		"names beyond UTF-8":        {"goroutine 1 [\xff]:\n\xfe()\n\t\xfd:1\ncreated by \xfc\n\tx:1\n", nil, ""},
		"two creators":              {head + "created by a\n\tx:1\ncreated by b\n\tx:1\n", nil, ""},
	})
	wantCut(t, format.Debug2, debug2Text)
}

// FuzzDebug2 decodes any bytes.
func FuzzDebug2(f *testing.F) {
	fuzz(f, format.Debug2, debug2Text, "goroutine 1 gp=0x1 m=0 mp=0x2 [x]:\nmain.(*T).f(...)\n\tx.go:1\n...5 frames elided...\n")
}
