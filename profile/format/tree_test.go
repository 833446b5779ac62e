package format_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/internal/gzipped"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
)

// treeNode is a node of a tree or a trie.
type treeNode struct {
	name     string
	value    uint64
	children []*treeNode
}

func (n *treeNode) encode(to []byte) []byte {
	to = append(binary.AppendUvarint(to, uint64(len(n.name))), n.name...)
	to = binary.AppendUvarint(binary.AppendUvarint(to, n.value), uint64(len(n.children)))
	for _, c := range n.children {
		to = c.encode(to)
	}
	return to
}

// child returns the child with a name, which is made if there is none.
func (n *treeNode) child(name string) *treeNode {
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	n.children = append(n.children, &treeNode{name: name})
	return n.children[len(n.children)-1]
}

// insert adds a text to a trie of bytes, whose nodes are split where texts differ.
func (n *treeNode) insert(text string, value uint64) {
	if text == "" {
		n.value += value
		return
	}
	for _, c := range n.children {
		same := 0
		for same < min(len(c.name), len(text)) && c.name[same] == text[same] {
			same++
		}
		if same == 0 {
			continue
		}
		if same < len(c.name) {
			rest := *c
			rest.name = c.name[same:]
			*c = treeNode{name: c.name[:same], children: []*treeNode{&rest}}
		}
		c.insert(text[same:], value)
		return
	}
	n.children = append(n.children, &treeNode{name: text, value: value})
}

// Bytes of Pyroscope's agents, as their tests have them.
const (
	agentTrie = "\x00\x00\x01\x06foo;ba\x00\x02\x01r\x02\x00\x01z\x03\x00"
	agentTree = "\x00\x00\x01\x03foo\x00\x02\x03bar\x02\x00\x03baz\x03\x00"
)

// TestTree reads trees whose values are known.
func TestTree(t *testing.T) {
	for name, c := range map[string]struct {
		is         format.Name
		text, want string
	}{
		"a tree of an agent":       {format.StackTree, agentTree, "samples/count ; [2] bar foo; [3] baz foo"},
		"a trie of an agent":       {format.StackTrie, agentTrie, "samples/count ; [2] bar foo; [3] baz foo"},
		"a trie, inner values":     {format.StackTrie, "\x00\x00\x02\x03a;b\x05\x02\x01c\x06\x00\x02;d\x07\x00\x01x\x08\x00", "samples/count ; [5] b a; [6] bc a; [7] d b a; [8] x"},
		"a trie, a last semicolon": {format.StackTrie, "\x00\x00\x01\x02a;\x01\x02\x01b\x01\x00\x01c\x02\x00", "samples/count ; [1] a; [1] b a; [2] c a"},
		"a tree, inner values":     {format.StackTree, "\x00\x00\x01\x01a\x05\x02\x01b\x06\x01\x01c\x07\x00\x01d\x08\x00", "samples/count ; [5] a; [6] b a; [7] c b a; [8] d a"},
		"a tree without values":    {format.StackTree, "\x00\x00\x01\x01a\x00\x00", "samples/count "},
		"no tree":                  {format.StackTree, "\x00\x00\x00", "samples/count "},
		"lines":                    {format.StackLines, "foo;bar\nfoo;bar\r\n\nfoo;baz 7\nx", "samples/count ; [2] bar foo; [1] baz 7 foo; [1] x"},
		"groups":                   {format.StackGroups, "foo;bar 2\n foo;baz 3\nx 4", "samples/count ; [2] bar foo; [3] baz foo; [4] x"},
		"folded":                   {format.Folded, "x 4\nx y 5\n", "samples/count ; [4] x; [5] x y"},
	} {
		for form, data := range map[string][]byte{"": []byte(c.text), ", zipped": gzipped.Of(t, []byte(c.text))} {
			p, err := decoded(data, format.Hints{Only: c.is})
			if err != nil || p.Parsed == nil {
				t.Errorf("%s%s: %v", name, form, err)
			} else if got := shown(p.Parsed); got != c.want || p.Parsed.CheckValid() != nil {
				t.Errorf("%s%s: %s\nwant %s", name, form, got, c.want)
			}
		}
	}
}

// TestTree_Folded compares trees and tries of random stacks with their folded form.
func TestTree_Folded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		tree, trie, folded, lines := &treeNode{}, &treeNode{}, "", ""
		for range 1 + rng.IntN(40) {
			names := make([]string, 1+rng.IntN(6))
			for i := range names {
				names[i] = []string{"a", "ab", "abc", "b", "long name", "é"}[rng.IntN(6)]
			}
			stack, value := strings.Join(names, ";"), uint64(1+rng.IntN(300))
			folded += fmt.Sprintf("%s %d\n", stack, value)
			lines += strings.Repeat(stack+"\n", int(value))
			trie.insert(stack, value)
			n := tree
			for _, name := range names {
				n = n.child(name)
			}
			n.value += value
		}
		want, err := inserted(t, []byte(folded), format.Hints{Only: format.StackGroups})
		if err != nil {
			t.Fatal(err)
		}
		for is, data := range map[format.Name][]byte{format.StackTree: tree.encode(nil), format.StackTrie: trie.encode(nil), format.StackLines: []byte(lines)} {
			if got, err := inserted(t, data, format.Hints{Only: is}); err != nil || !maps.Equal(got, want) {
				t.Fatalf("%s: %v, %v; want %v", is, got, err, want)
			}
		}
	}
}

// wantTaken decodes an input that takes memory of its own, and refuses it when there is none.
func wantTaken(t *testing.T, data []byte, only format.Name, want int64) {
	t.Helper()
	var taken int64
	refused := errors.New("no memory")
	for _, most := range []int64{want, want - 1} {
		taken = 0
		_, err := decoded(data, format.Hints{Only: only, Take: func(bytes int64) error {
			if taken += bytes; taken > most {
				return refused
			}
			return nil
		}})
		if most == want && (err != nil || taken != want) || most < want && !errors.Is(err, refused) {
			t.Errorf("%d bytes were taken of %d, %v", taken, want, err)
		}
	}
}

// TestTree_Take takes memory for stacks, and for functions of a trie, which are not written out.
func TestTree_Take(t *testing.T) {
	wantTaken(t, []byte(agentTree), format.StackTree, 2*2*32)
	wantTaken(t, []byte(agentTrie), format.StackTrie, 2*2*32+int64(len("foo"+"bar"+"baz")))
}

// TestTree_Hostile refuses trees that are wrong or too large, and says where.
func TestTree_Hostile(t *testing.T) {
	is, large := profile.ErrProfile, profile.ErrTooLarge
	chain := func(n int, name, value string) string {
		return strings.Repeat(string(binary.AppendUvarint(nil, uint64(len(name))))+name+value+"\x01", n) + "\x00\x00\x00"
	}
	most := "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
	common := map[string]hostile{
		"a name, cut":            {"\x05ab", is, "byte 1: a name of 5 bytes, of which there are 2"},
		"a name, long":           {most + "ab", is, "byte 10: a name of 18446744073709551615 bytes"},
		"a length, cut":          {"\xff", is, "byte 0: want a number"},
		"a length, long":         {"\xff" + most, is, "byte 0: want a number"},
		"no value":               {"\x01a", is, "byte 2: want a number"},
		"a value, cut":           {"\x01a\x80", is, "byte 2: want a number"},
		"a value, large":         {"\x01a" + most + "\x00", is, "byte 13: a value of more than 63 bits"},
		"no children":            {"\x01a\x01", is, "byte 3: want a number"},
		"children, less":         {"\x01a\x01\x02\x01b\x01\x00", is, "byte 8: want a number"},
		"children, many":         {"\x01a\x01" + most, is, "byte 13: want a number"},
		"a second root":          {"\x01a\x01\x00\x01b\x01\x00", is, "4 bytes behind the last node"},
		"bytes behind":           {"\x00\x00\x00x", is, "1 bytes behind the last node"},
		"many":                   {"\x00\x00\x04\x01a\x01\x00\x01b\x01\x00\x01c\x01\x00\x01d\x01\x00", large, "byte 19: profile is too large: more than 3 samples"},
		"a sum":                  {"\x00\x00\x02\x01a\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00\x01a\x01\x00", is, "a sum of more than 64 bits"},
		"large":                  {strings.Repeat("\x00", 100_001), large, "more than 100000 bytes"},
		"nothing":                {"", is, "not in the format"},
		"names beyond UTF-8":     {"\x01\xff\x01\x01\x03\xfe;\xfd\x01\x00", nil, ""},
		"nodes without values":   {"\x00\x00\x03\x01a\x00\x00\x01b\x00\x00\x01c\x00\x00", nil, ""},
		"a root with a value":    {"\x00\x07\x00", nil, ""},
		"a root with a name":     {"\x01a\x07\x00", nil, ""},
		"a node without a name":  {"\x00\x00\x01\x00\x01\x01\x01a\x01\x00", nil, ""},
		"equal nodes":            {"\x00\x00\x05" + strings.Repeat("\x01a\x01\x00", 5), nil, ""},
		"a long number":          {"\x81\x00a\x01\x00", nil, ""},
		"a name of semicolons":   {"\x03;;;\x01\x00", nil, ""},
		"nodes above, all empty": {chain(1000, "", "\x01"), nil, ""},
	}
	tries := map[string]hostile{
		"deep":                     {chain(5, "a;", "\x00"), large, "more than 4 functions"},
		"deep in a name":           {"\x0aa;a;a;a;a;\x01\x00", large, "byte 13: profile is too large: a stack of more than 4 functions"},
		"deep at the end":          {"\x09a;a;a;a;a\x01\x00", large, "more than 4 functions"},
		"a long name, in parts":    {"\x00\x00\x01\xd0\x86\x03" + strings.Repeat("a", 50_000) + "\x01\x03\x01b\x00\x01\x01c\x01\x00\x01d\x01\x00\x01e\x01\x00", large, "more than 100000 bytes of functions"},
		"a long name, not counted": {"\x00\x00\x01\xd0\x86\x03" + strings.Repeat("a", 50_000) + "\x00" + "\xd0\x0f" + strings.Repeat("\x01b\x00\x00", 2000), nil, ""},
		"names of parts":           {chain(3, "a", "\x01"), nil, ""},
	}
	trees := map[string]hostile{
		"deep":              {chain(5, "a", "\x00"), large, "more than 4 functions"},
		"deep, no values":   {strings.Repeat("\x01a\x00\x01", 5) + "\x01a\x00\x00", large, "byte 20: profile is too large: a stack of more than 4 functions"},
		"a chain":           {chain(3, "a", "\x01"), nil, ""},
		"a name with bytes": {"\x04a;\x00b\x01\x00", nil, ""},
		"a deep empty end":  {strings.Repeat("\x01a\x00\x01", 4) + "\x01a\x00\x00", nil, ""},
	}
	maps.Copy(tries, common)
	maps.Copy(trees, common)
	wantHostile(t, format.StackTrie, "tri", tries)
	wantHostile(t, format.StackTree, "tree", trees)
	wantCut(t, format.StackTrie, agentTrie)
	wantCut(t, format.StackTree, agentTree)
}

// TestTree_Names lists the formats that a sender can name.
func TestTree_Names(t *testing.T) {
	names := format.Names()
	for _, want := range []string{"pprof", "folded", "debug1", "debug2", "perf-script", "speedscope", "jemalloc", "groups", "lines", "trie", "tree"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s in %v", want, names)
		}
	}
	if slices.Sort(names); len(slices.Compact(names)) != len(names) {
		t.Error(names)
	}
}

// FuzzTree decodes any bytes.
func FuzzTree(f *testing.F) {
	fuzz(f, format.StackTree, agentTree, "\x01a\x05\x02\x01b\x06\x01\x01c\x07\x00\x01d\x08\x00")
}

// FuzzTrie decodes any bytes.
func FuzzTrie(f *testing.F) {
	fuzz(f, format.StackTrie, agentTrie, "\x00\x00\x02\x03a;b\x05\x02\x01c\x06\x00\x02;d\x07\x00\x01x\x08\x00")
}

// FuzzLines decodes any bytes.
func FuzzLines(f *testing.F) { fuzz(f, format.StackLines, "foo;bar\nfoo;bar\r\n\nx") }
