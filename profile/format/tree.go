package format

import (
	"bytes"
	"encoding/binary"
	"fmt"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/profile"
)

// Trees of Pyroscope's agents are the bytes of a node: the length of its name, its name, its value and the number of its
// children, which follow, each with its own. Numbers are varints. In a tree a node is a function. In a trie its name is
// a part of the text of a stack, with semicolons between functions, that follows those of the nodes above.

// isTree reports whether there are bytes, which all can be a tree.
func isTree(head []byte) bool { return len(head) > 0 }

// isText reports whether head is text.
func isText(head []byte) bool { return len(head) > 0 && bytes.IndexFunc(head, isBinary) < 0 }

// parseTree returns the profile of a tree. Its type is samples in count.
func parseTree(data []byte, h Hints) (*pprof.Profile, error) { return parseNodes(data, h, false) }

// parseTrie is parseTree for a trie.
func parseTrie(data []byte, h Hints) (*pprof.Profile, error) { return parseNodes(data, h, true) }

// parseLines returns the profile of stacks, each of which is a line and counts once.
func parseLines(data []byte, h Hints) (*pprof.Profile, error) {
	b := newBuilder(h, "samples", "count")
	b.rootFirst = true
	err := eachLine(data, h, "lines of stacks", func(line string) error {
		if line == "" {
			return nil
		}
		return b.addStack(line, 1)
	})
	if err != nil {
		return nil, err
	}
	return b.to, nil
}

func parseNodes(data []byte, h Hints, isTrie bool) (*pprof.Profile, error) {
	name := "tree of stacks"
	if isTrie {
		name = "trie of stacks"
	}
	text, err := textOf(data, h.Limits)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t := tree{sampleBuilder: newBuilder(h, "samples", "count"), isTrie: isTrie, rest: text, above: []node{{children: 1}}}
	t.rootFirst = true
	for len(t.above) > 0 {
		if err := t.next(); err != nil {
			return nil, fmt.Errorf("%s, byte %d: %w", name, len(text)-len(t.rest), err)
		}
	}
	if len(t.rest) > 0 {
		return nil, invalid(fmt.Sprintf("%s: %d bytes behind the last node", name, len(t.rest)))
	}
	return t.to, nil
}

// tree makes a profile from the nodes of a tree.
type tree struct {
	*sampleBuilder
	isTrie bool
	rest   []byte
	above  []node // the nodes whose children are not all read

	// The function that the nodes of a trie have begun is the end of text.
	text  []byte
	names int // bytes of all functions of a trie
}

// node is a node above the next one.
type node struct {
	children    uint64 // that are not read
	depth       int    // functions of the stack
	text, begun int    // in a trie: bytes of text, and where its last function begins
}

// next reads a node.
func (t *tree) next() error {
	for n := len(t.above); n > 0 && t.above[n-1].children == 0; n-- {
		t.above = t.above[:n-1]
	}
	if len(t.above) == 0 {
		return nil
	}
	parent := &t.above[len(t.above)-1]
	parent.children--
	name, err := t.name()
	if err != nil {
		return err
	}
	value, err := t.varint()
	if err != nil {
		return err
	}
	children, err := t.varint()
	if err != nil {
		return err
	}
	if int64(value) < 0 {
		return invalid("a value of more than 63 bits")
	}
	if value == 0 && children == 0 {
		return nil
	}
	n := node{children, parent.depth, parent.text, parent.begun}
	t.stack = t.stack[:n.depth]
	if t.isTrie {
		err = t.pushPart(&n, name)
	} else if len(name) > 0 {
		err = t.push(stackFrame{function: string(name)})
	}
	if err != nil {
		return err
	}
	n.depth = len(t.stack)
	if value > 0 {
		if err := t.end(n, int64(value)); err != nil {
			return err
		}
	}
	t.above = append(t.above, n)
	return nil
}

// pushPart adds the functions that end in a part of a stack's text.
func (t *tree) pushPart(n *node, part []byte) error {
	from := n.text // no semicolon is before it
	t.text = append(t.text[:from], part...)
	n.text = len(t.text)
	for {
		end := bytes.IndexByte(t.text[from:], ';')
		if end < 0 {
			return nil
		}
		end += from
		if err := t.pushName(t.text[n.begun:end]); err != nil {
			return err
		}
		from, n.begun = end+1, end+1
	}
}

// pushName adds a function of a trie. The functions of a trie have at most as many bytes as a text may have, because each can
// be nearly as long as the trie.
func (t *tree) pushName(name []byte) error {
	if t.names += len(name); t.names > t.hints.Limits.Bytes {
		return fmt.Errorf("%w: more than %d bytes of functions", profile.ErrTooLarge, t.hints.Limits.Bytes)
	}
	if t.hints.Take != nil {
		if err := t.hints.Take(int64(len(name))); err != nil {
			return err
		}
	}
	return t.push(stackFrame{function: string(name)})
}

// end adds a value to the stack that ends in a node.
func (t *tree) end(n node, value int64) error {
	if n.begun < n.text {
		if err := t.pushName(t.text[n.begun:n.text]); err != nil {
			return err
		}
		defer func() { t.stack = t.stack[:n.depth] }()
	}
	if err := t.expand(); err != nil {
		return err
	}
	return t.count(nil, 0, value)
}

// name reads the name of a node.
func (t *tree) name() ([]byte, error) {
	length, err := t.varint()
	if err != nil {
		return nil, err
	}
	if length > uint64(len(t.rest)) {
		return nil, invalid(fmt.Sprintf("a name of %d bytes, of which there are %d", length, len(t.rest)))
	}
	name := t.rest[:length]
	t.rest = t.rest[length:]
	return name, nil
}

func (t *tree) varint() (uint64, error) {
	v, n := binary.Uvarint(t.rest)
	if n <= 0 {
		return 0, invalid("want a number, not the end or one of more than 64 bits")
	}
	t.rest = t.rest[n:]
	return v, nil
}
