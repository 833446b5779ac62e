package format_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	library "github.com/google/pprof/profile"

	"github.com/granarydb/granary/internal/gzipped"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
)

// jemallocText returns a heap profile of jemalloc with stacks, each with its sums, such as "0x11 0x21: 3: 30 [4: 40]".
func jemallocText(stacks ...string) string {
	text := "heap_v2/524288\n  t*: 9: 900 [9: 900]\n  t0: 9: 900 [9: 900]\n"
	for _, s := range stacks {
		addresses, sums, _ := strings.Cut(s, ": ")
		text += fmt.Sprintf("@ %s\n  t*: %s\n  t0: 1: 1 [1: 1]\n", addresses, sums)
	}
	return text + "\nMAPPED_LIBRARIES:\n" + jemallocMaps
}

const jemallocMaps = "00000000-00000010 r--p 00000000 08:01 1    /b/prog\n00000010-00000020 r-xp 00001000 08:01 1    /b/prog\n7f00-7fff r-xp 00002000 08:01 2 /lib/a b.so (deleted)\n8000-8fff rw-p 00002000 08:01 2\nffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n"

// TestJemalloc compares heaps with what the library of go tool pprof reads from the same numbers in the form of tcmalloc.
func TestJemalloc(t *testing.T) {
	stacks := []string{"0x12 0x7f01: 3: 1572864 [4: 2000000]", "0x12: 1: 80 [1: 80]", ": 7: 70 [9: 90]", "0x9999 0x12: 1: 9000000 [2: 18000000]", "0x13: 0: 0 [5: 50]"}
	legacy := "heap profile: 9: 900 [9: 901] @ heap_v2/524288\n"
	for _, s := range stacks {
		addresses, sums, _ := strings.Cut(s, ": ")
		legacy += strings.TrimRight(fmt.Sprintf("%s @ %s", sums, addresses), " ") + "\n"
	}
	want, err := library.ParseData([]byte(legacy + "\nMAPPED_LIBRARIES:\n" + jemallocMaps))
	if err != nil {
		t.Fatal(err)
	}
	text := jemallocText(stacks...)
	for form, data := range map[string][]byte{"plain": []byte(text), "zipped": gzipped.Of(t, []byte(text)), "of Windows": []byte(strings.ReplaceAll(text, "\n", "\r\n"))} {
		p, err := decoded(data, format.Hints{})
		if err == nil {
			err = p.Parsed.CheckValid()
		}
		if err == nil {
			err = asPprof(p.Parsed, want)
		}
		if err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		for i, s := range p.Parsed.Sample {
			places := func(of *library.Sample) (all []string) {
				for _, l := range of.Location {
					text := fmt.Sprintf("%#x", l.Address)
					if l.Mapping != nil && l.Mapping.Limit != math.MaxUint64 { // that the library makes up
						text += fmt.Sprintf(" in %#x %#x %#x", l.Mapping.Start, l.Mapping.Limit, l.Mapping.Offset)
					}
					all = append(all, text)
				}
				return all
			}
			if got, want := places(s), places(want.Sample[i]); !slices.Equal(got, want) {
				t.Errorf("%s, sample %d: %v, want %v", form, i, got, want)
			}
		}
		if files := p.Parsed.Mapping; len(files) != 3 || files[1].File != "/lib/a b.so (deleted)" {
			t.Errorf("%s: %d mappings, %v", form, len(files), files)
		}
	}
}

// TestJemalloc_Sums adds up what is allocated at one stack, and leaves out threads.
func TestJemalloc_Sums(t *testing.T) {
	text := strings.Replace(jemallocText("0x12: 1: 10 [2: 20]", "0x12: 3: 30 [4: 40]"), "heap_v2/524288", "heap_v2/1", 1)
	p, err := decoded([]byte(text), format.Hints{})
	const want = "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes ; [6 60 4 40] 0x11@/b/prog"
	if err != nil || shown(p.Parsed) != want || p.Parsed.Period != 1 {
		t.Errorf("%v, %s\nwant %s", err, shown(p.Parsed), want)
	}
}

// TestJemalloc_Hostile refuses texts that are wrong or too large, and says where.
func TestJemalloc_Hostile(t *testing.T) {
	const head, sums = "heap_v2/524288\n", "  t*: 1: 10 [2: 20]\n"
	is, large := profile.ErrProfile, profile.ErrTooLarge
	wantHostile(t, format.Jemalloc, "jemalloc", map[string]hostile{
		"a period of 0":            {"heap_v2/0\n", is, "line 1: a period of 0"},
		"a period, long":           {"heap_v2/99999999999999999999\n", is, "line 1: want a number of 64 bits"},
		"no period":                {"heap_v2/\n", is, "not in the format jemalloc"},
		"a word":                   {head + "@ 0x1\nword\n", is, `line 3: want a stack or its sums, not "word"`},
		"an address":               {head + "@ 0x1ffffffffffffffff\n", is, "line 2: an address of more than 64 bits"},
		"an address, no hex":       {head + "@ 12\n", is, "line 2: want a stack"},
		"a stack without a space":  {head + "@0x1\n", is, "line 2: want a stack"},
		"a number, long":           {head + "@ 0x1\n  t*: 1: 99999999999999999999 [2: 20]\n", is, "line 3: want a number of 64 bits"},
		"a number, negative":       {head + "@ 0x1\n  t*: -1: 10 [2: 20]\n", is, "line 3: want a stack"},
		"a number, missing":        {head + "@ 0x1\n  t*: 1: 10 [2]\n", is, "line 3: want a stack"},
		"a thread of letters":      {head + "@ 0x1\n  tx: 1: 10 [2: 20]\n", is, "line 3: want a stack"},
		"bytes of nothing":         {head + "@ 0x1\n  t*: 0: 10 [0: 0]\n", is, "line 3: 10 bytes of no object"},
		"allocated of nothing":     {head + "@ 0x1\n  t*: 0: 0 [0: 20]\n", is, "line 3: 20 bytes of no object"},
		"an estimate":              {head + "@ 0x1\n  t*: 9000000000000000000: 9000000000000000000 [0: 0]\n", is, "line 3: a value of more than 64 bits"},
		"a sum":                    {"heap_v2/1\n" + strings.Repeat("@ 0x1\n  t*: 9000000000000000000: 1 [0: 0]\n", 2), is, "line 5: a sum of more than 64 bits"},
		"a second head":            {head + head, is, "line 2: want a stack"},
		"a mapping, long":          {head + "MAPPED_LIBRARIES:\n1ffffffffffffffff-2 r-xp 0 0:0 0 x\n", is, "line 3: an address of more than 64 bits"},
		"deep":                     {head + "@" + strings.Repeat(" 0x1", 5) + "\n", large, "line 2: profile is too large: a stack of more than 4"},
		"many":                     {head + "@ 0x1\n" + sums + "@ 0x2\n" + sums + "@ 0x3\n" + sums + "@ 0x4\n" + sums, large, "line 9: profile is too large: more than 3 samples"},
		"large":                    {head + strings.Repeat("\n", 100_000), large, "more than 100000 bytes"},
		"no stacks":                {head, nil, ""},
		"no newline":               {"heap_v2/1", nil, ""},
		"an empty stack":           {head + "@\n" + sums, nil, ""},
		"an address of 0":          {head + "@ 0x0\n" + sums, nil, ""},
		"a stack without sums":     {head + "@ 0x1\n@ 0x2\n", nil, ""},
		"sums twice":               {head + "@ 0x1\n" + sums + sums, nil, ""},
		"sums without a stack":     {head + sums, nil, ""},
		"equal stacks":             {head + strings.Repeat("@ 0x1\n"+sums, 100), nil, ""},
		"mappings that overlap":    {head + "@ 0x15\n" + sums + "MAPPED_LIBRARIES:\n10-20 r-xp 0 0:0 0 a\n12-30 r-xp 0 0:0 0 b\n10-11 r-xp 0 0:0 0 c\n", nil, ""},
		"a mapping back to front":  {head + "@ 0x15\n" + sums + "MAPPED_LIBRARIES:\n20-10 r-xp 0 0:0 0 a\n", nil, ""},
		"mappings that are none":   {head + "MAPPED_LIBRARIES:\na=b\nc=$a$a\nword\n@ 0x1\n", nil, ""},
		"files beyond UTF-8":       {head + "@ 0x15\n" + sums + "MAPPED_LIBRARIES:\n10-20 r-xp 0 0:0 0 \xff\n", nil, ""},
		"no objects but allocated": {head + "@ 0x1\n  t*: 0: 0 [2: 0]\n", nil, ""},
	})
	wantCut(t, format.Jemalloc, jemallocText("0x12: 1: 10 [2: 20]"))
}

// FuzzJemalloc decodes any bytes.
func FuzzJemalloc(f *testing.F) {
	fuzz(f, format.Jemalloc, jemallocText("0x12 0x7f01: 3: 1572864 [4: 2000000]", "0x12: 1: 80 [1: 80]"))
}
