package pprof

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// Limits for a profile's patterns, because anyone can write them. The longest known pattern, for
// allocators in C++, has 737 bytes and 613 instructions. It takes 100 to 1,000 steps for a name, about 1
// us.
const (
	// maxPattern bounds a pattern's bytes. 4 KiB take up to 200 MB to compile.
	maxPattern = 4 << 10
	// maxInstructions bounds a compiled pattern.
	maxInstructions = 64 << 10
	// maxSteps bounds the work of all matches for a profile to about a second.
	maxSteps = 1 << 26
)

// framePattern is a regular expression that counts its steps, because package regexp does not: with 3,000
// instructions a megabyte of names can take it a minute. It simulates the expression's automaton: a set
// of threads, each at an instruction, moves from character to character. It is not safe for concurrent
// use.
type framePattern struct {
	prog      *syntax.Prog
	anchored  bool    // a match begins at the start of the text
	now, next threads // working memory
	stack     []uint32
}

// compileFrames compiles a pattern for whole names. It returns nil for an invalid pattern.
func compileFrames(text string) (*framePattern, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("%w: a pattern of frames to drop or to keep has %d bytes, at most %d", ErrTooLarge, len(text), maxPattern)
	}
	parsed, err := syntax.Parse("^("+text+")$", syntax.Perl) // as in google/pprof, and not (?:...)
	if err != nil {
		return nil, nil
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, nil
	}
	n := len(prog.Inst)
	if n > maxInstructions {
		return nil, fmt.Errorf("%w: a pattern of frames to drop or to keep has %d instructions, at most %d", ErrTooLarge, n, maxInstructions)
	}
	return &framePattern{
		prog: prog, anchored: prog.StartCond()&syntax.EmptyBeginText != 0, now: newThreads(n), next: newThreads(n),
	}, nil
}

// size returns the approximate bytes that p keeps.
func (p *framePattern) size() int {
	if p == nil {
		return 0
	}
	return 64 * len(p.prog.Inst)
}

// matches reports whether the pattern matches text. It subtracts its steps from left, and returns false
// when none are left.
func (p *framePattern) matches(text string, left *int) bool {
	p.now.clear()
	after, size := runeAt(text, 0)
	context := syntax.EmptyOpContext(-1, after)
	for at := 0; ; {
		if (at == 0 || !p.anchored) && p.add(&p.now, uint32(p.prog.Start), context, left) {
			return true
		}
		if at == len(text) || p.anchored && len(p.now.list) == 0 || *left < 0 {
			return false
		}
		r := after
		at += size
		after, size = runeAt(text, at)
		context = syntax.EmptyOpContext(r, after)
		p.next.clear()
		*left -= len(p.now.list)
		for _, pc := range p.now.list {
			if inst := &p.prog.Inst[pc]; consumes(inst, r) && p.add(&p.next, inst.Out, context, left) {
				return true
			}
		}
		p.now, p.next = p.next, p.now
	}
}

// runeAt returns the character at an index, or -1 at the end.
func runeAt(text string, at int) (r rune, size int) {
	if at == len(text) {
		return -1, 0
	}
	return utf8.DecodeRuneInString(text[at:])
}

// add adds the instructions that a thread at pc reaches without a character. It reports whether the
// pattern's end is among them.
func (p *framePattern) add(to *threads, pc uint32, context syntax.EmptyOp, left *int) bool {
	p.stack = append(p.stack[:0], pc)
	for len(p.stack) > 0 {
		pc := p.stack[len(p.stack)-1]
		p.stack = p.stack[:len(p.stack)-1]
		if *left--; *left < 0 {
			return false
		}
		if !to.add(pc) {
			continue
		}
		switch inst := &p.prog.Inst[pc]; inst.Op {
		case syntax.InstMatch:
			return true
		case syntax.InstAlt, syntax.InstAltMatch:
			p.stack = append(p.stack, inst.Arg, inst.Out)
		case syntax.InstCapture, syntax.InstNop:
			p.stack = append(p.stack, inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^context == 0 {
				p.stack = append(p.stack, inst.Out)
			}
		}
	}
	return false
}

// consumes reports whether an instruction takes a character.
func consumes(inst *syntax.Inst, r rune) bool {
	switch inst.Op {
	case syntax.InstRune, syntax.InstRune1:
		return inst.MatchRune(r)
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return r != '\n'
	}
	return false
}

// threads is a set of instructions.
type threads struct {
	list  []uint32
	place []uint32 // index in list, by instruction; undefined if list lacks the instruction
}

func newThreads(instructions int) threads {
	return threads{make([]uint32, 0, instructions), make([]uint32, instructions)}
}

func (t *threads) clear() { t.list = t.list[:0] }

// add adds an instruction, and reports whether it is new.
func (t *threads) add(pc uint32) bool {
	if at := t.place[pc]; int(at) < len(t.list) && t.list[at] == pc {
		return false
	}
	t.place[pc] = uint32(len(t.list))
	t.list = append(t.list, pc)
	return true
}

// plainName returns the name of a function as frame patterns match it: without its arguments and the dot
// of PowerPC's entry points. The parentheses of C++'s anonymous namespaces and call operators belong to
// the name.
func plainName(name string) string {
	const anonymous, operator = "(anonymous namespace)", "operator"
	name = strings.TrimPrefix(name, ".")
	for at := 0; ; {
		open := strings.IndexByte(name[at:], '(')
		if open < 0 {
			return name
		}
		at += open
		switch before, from := name[:at], name[at:]; {
		case strings.HasPrefix(from, anonymous):
			at += len(anonymous)
		case strings.HasPrefix(from, "()") && strings.HasSuffix(before, operator):
			at += len("()")
		default:
			return before
		}
	}
}
