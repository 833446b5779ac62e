package format_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
)

// TestPerfScript reads samples whose values are known.
func TestPerfScript(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"stacks": {
			"# ========\n# captured on: x\n\nbusy 7  1.5:   10101010 cpu-clock:ppp: \n\t 961a3 _int_free+0x83 (/lib/libc.so.6)\n\t 1220 fib+0x17 (/b)\n\n" +
				"busy 7  1.6:   10101010 cpu-clock:ppp: \n\t 961a3 _int_free+0x83 (/lib/libc.so.6)\n\t 1220 fib+0x17 (/b)\n",
			"samples/count cpu/nanoseconds ; [2 20202020] map[comm:[busy]] map[tid:[7]] _int_free@/lib/libc.so.6 fib@/b",
		},
		"a process, a processor, a name with spaces": {
			"my prog :1 5/6 [003]     1.5:      2 cycles:u: \n  ffffffff8104f45a native_write_msr ([kernel.kallsyms])\n",
			"samples/count cycles/count ; [1 2] map[comm:[my prog :1]] map[pid:[5] tid:[6]] native_write_msr@[kernel.kallsyms]",
		},
		"no stacks": {
			"            perf  1 [000] 1.5:     10 cycles:P:  ffffffff8104f45a f+0x1 ([kernel])\n         swapper     0 [000] 1.6:     20 cycles:P:  1 g (/b)\n",
			"samples/count cycles/count ; [1 10] map[comm:[perf]] map[tid:[1]] f@[kernel]; [1 20] map[comm:[swapper]] map[tid:[0]] g@/b",
		},
		"several events": {
			"a 1 1.5: 10 cycles: \n\t1 f (/b)\n\na 1 1.5: 3 instructions:ppp: \n\t1 f (/b)\n\na 1 1.5: 4 task-clock: \n\t1 f (/b)\n\na 1 1.5: 5 cpu-clock: \n\t2 g (/b)\n",
			"samples/count cycles/count instructions/count cpu/nanoseconds ; [3 10 3 4] map[comm:[a]] map[tid:[1]] f@/b; [1 0 0 5] map[comm:[a]] map[tid:[1]] g@/b",
		},
		"no periods": {"a 1 1.5: cpu-clock: \n\t1 f (/b)\n", "samples/count ; [1] map[comm:[a]] map[tid:[1]] f@/b"},
		"a tracepoint": {
			"a 1 [000] 1.5: sched:sched_switch: prev_comm=a prev_pid=1 ==> next_comm=b: c\n\t1 schedule ([kernel])\n\na 1 [000] 1.5: sched:sched_wakeup: b\n",
			"samples/count ; [1] map[comm:[a]] map[tid:[1]] schedule@[kernel]; [1] map[comm:[a]] map[tid:[1]]",
		},
		"functions": {
			"a 1 1.5: 1 x: \n\t1 foo(int, char const*)+0x1f (/b (deleted))\n\t2 bar(int) const (/b b)\n\t3 std::operator+ <x>(a (*)(b))+0xa2 (/b)\n\t4 inner (inlined)\n\t4 outer+0x1\n\t5 +[Cls sel] (/b)\n",
			"samples/count x/count ; [1 1] map[comm:[a]] map[tid:[1]] foo(int, char const*)@/b bar(int) const@/b b std::operator+ <x>(a (*)(b))@/b inner outer +[Cls sel]@/b",
		},
		"unknown": {
			"a 1 1.5: 1 x: \n\t1 [unknown] (/b)\n\t 0 [unknown] ([unknown])\n\t2 (/b)\n\t3 [unknown]\n",
			"samples/count x/count ; [1 1] map[comm:[a]] map[tid:[1]] 0x1@/b [unknown] 0x2@/b [unknown]",
		},
		"source code": {"a 1 1.5: 1 x: \n\t1 f+0x1 (/b)\n  main file.c:12\n\t2 g (/b)\n", "samples/count x/count ; [1 1] map[comm:[a]] map[tid:[1]] f@/b g@/b"},
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

// TestPerfScript_Real reads the samples of a C++ program. Their numbers are counted without this package too.
func TestPerfScript_Real(t *testing.T) {
	data, err := os.ReadFile("../../../shared/data/clients/perf-script.txt")
	if err != nil {
		t.Skip("there is no folder with files of other profilers beside this repository: ", err)
	}
	p, err := decoded(data, format.Hints{})
	if err != nil {
		t.Fatal(err)
	}
	samples, cpu, ofFib := int64(0), int64(0), int64(0)
	for _, s := range p.Parsed.Sample {
		samples, cpu = samples+s.Value[0], cpu+s.Value[1]
		if lines := s.Location[0].Line; len(lines) > 0 && lines[0].Function.Name == "fib" {
			ofFib += s.Value[0]
		}
	}
	leaves := regexp.MustCompile(`cpu-clock:ppp: \n\t +[0-9a-f]+ fib\+`).FindAll(data, -1)
	if samples != 89 || cpu != 89*10_101_010 || ofFib != int64(len(leaves)) || ofFib == 0 {
		t.Errorf("%d samples, %d ns, %d of fib, want %d", samples, cpu, ofFib, len(leaves))
	}
	if stacks, err := inserted(t, data, format.Hints{Only: format.PerfScript}); err != nil || len(stacks) < 2 {
		t.Errorf("%v, %v", stacks, err)
	}
}

const perfText = "a 1/2 [000] 1.5: 7 cycles:u: \n\t1f f+0x1 (/b)\n\t2 [unknown] (/b)\n\na 1/2 [000] 1.5: 7 cycles:u: \n\t1 g (inlined)\n\n"

// TestPerfScript_Hostile refuses texts that are wrong or too large, and says where.
func TestPerfScript_Hostile(t *testing.T) {
	const head, frame = "a 1 1.5: 1 x: \n", "\t1 f (/b)\n"
	is, large := profile.ErrProfile, profile.ErrTooLarge
	events := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("a 1 1.5: 1 e" + strings.Repeat("x", i) + ": \n" + frame + "\n")
		}
		return b.String()
	}
	wantHostile(t, format.PerfScript, "perf", map[string]hostile{
		"a word":                   {head + frame + "word\n", is, `line 3: want an address, a function and a file in parentheses, not "word"`},
		"a word behind a stack":    {head + frame + "\nword\n", is, `line 4: want a sample, not "word"`},
		"a frame behind a stack":   {head + frame + "\n" + frame, is, "line 4: want a sample"},
		"no address":               {head + "\tg (/b)\n", is, "line 2: want an address"},
		"an address alone":         {head + "\t1\n", is, "line 2: want an address"},
		"an address, long":         {head + "\t1ffffffffffffffff f (/b)\n", is, "line 2: an address of more than 64 bits"},
		"an address in capitals":   {head + "\tFF f (/b)\n", is, "line 2: "},
		"a period, long":           {"a 1 1.5: 99999999999999999999 x: \n", is, "line 1: want a number of 64 bits"},
		"a thread, long":           {"a 99999999999999999999 1.5: 1 x: \n", is, "line 1: want a number of 64 bits"},
		"a process, long":          {"a 99999999999999999999/1 1.5: 1 x: \n", is, "line 1: want a number of 64 bits"},
		"a sum":                    {strings.Repeat("a 1 1.5: 9000000000000000000 x: \n"+frame+"\n", 2), is, "line 6: a sum of more than 64 bits"},
		"a sum at the end":         {strings.Repeat("a 1 1.5: 9000000000000000000 x: \n"+frame, 2), is, "a sum of more than 64 bits"},
		"deep":                     {head + strings.Repeat(frame, 5), large, "line 6: "},
		"many":                     {head + frame + head + "\t2 f (/b)\n" + head + "\t3 f (/b)\n" + head + "\t4 f (/b)\n\n", large, "line 9: "},
		"many threads":             {"a 1 1.5: x: 1 f (/b)\na 2 1.5: x: 1 f (/b)\na 3 1.5: x: 1 f (/b)\na 4 1.5: x: 1 f (/b)\n", large, "line 4: "},
		"many events":              {events(33), large, "line 97: profile is too large: more than 32 events"},
		"large":                    {head + strings.Repeat("# \n", 50_000), large, "more than 100000 bytes"},
		"an event called samples":  {"a 1 1.5: 1 samples: \n" + frame, nil, ""},
		"equal samples":            {strings.Repeat(head+frame+"\n", 100), nil, ""},
		"comments":                 {head + "# x\n" + frame, nil, ""},
		"no frames":                {head, nil, ""},
		"no newline":               {head + "\t1 f (/b)", nil, ""},
		"a negative thread":        {"a -1 1.5: 1 x: \n", nil, ""},
		"a file with parentheses":  {head + "\t1 f (/b (c) d)\n", nil, ""},
		"no file":                  {head + "\t1 f\n", nil, ""},
		"an empty file":            {head + "\t1 f ()\n", nil, ""},
		"an offset alone":          {head + "\t1 +0x1 (/b)\n", nil, ""},
		"parentheses alone":        {head + "\t1 ()\n\t2 )\n\t3 (\n", nil, ""},
		"an event of colons":       {"a 1 1.5: 1 a:b:::: \n", nil, ""},
		"a name with NUL":          {"a\x001 1 1.5: 1 x: \n\t1 f\x00 (/b)\n", nil, ""},
		"a line behind a head":     {"a 1 1.5: 1 x: not a frame (at all)\n", nil, ""},
		"names beyond UTF-8":       {"\xff 1 1.5: 1 \xfe: \n\t1 \xfd (\xfc)\n", nil, ""},
		"a time without a decimal": {"a 1 15: 1 x: \n" + frame, is, "not in the format perf-script"},
	})
	wantCut(t, format.PerfScript, perfText)
}

// FuzzPerfScript decodes any bytes.
func FuzzPerfScript(f *testing.F) {
	fuzz(f, format.PerfScript, perfText, "# x\nmy prog 1 [003] 1.5: sched:x: text: more\n  ff f(a) (/b (deleted))\n  c.c:12\n", " a 1 1.5: 2 task-clock:  1 f (/b)\n")
}
