package pprof

import (
	"fmt"
	"slices"
	"strings"
)

// Pruner drops the frames that a profile's drop_frames and keep_frames select, such as an allocator's frames
// below the allocating function. It keeps up to four pairs of compiled patterns. The zero Pruner is ready to
// use. A Pruner is not safe for concurrent use.
type Pruner struct {
	known []*framePatterns // in the order of their first use
	names []verdict        // indexed by string in the profile
	cuts  []cut            // indexed by location
}

// framePatterns are a profile's patterns.
type framePatterns struct {
	dropText, keepText string
	drop, keep         *framePattern
}

// size returns the approximate number of bytes that p keeps.
func (p *framePatterns) size() int { return p.drop.size() + p.keep.size() + 2*maxPattern }

// compile sets the patterns. Nothing is dropped if a pattern is invalid, as in go tool pprof.
func (p *framePatterns) compile(drop, keep string) error {
	var of [2]*framePattern
	for i, text := range []string{drop, keep} {
		if text == "" {
			continue
		}
		var err error
		if of[i], err = compileFrames(text); err != nil {
			return err
		}
		if of[i] == nil {
			of = [2]*framePattern{}
			break
		}
	}
	*p = framePatterns{strings.Clone(drop), strings.Clone(keep), of[0], of[1]}
	return nil
}

// drops reports whether a function called name is dropped.
func (p *framePatterns) drops(name string, left *int) bool {
	name = plainName(name)
	return p.drop.matches(name, left) && (p.keep == nil || !p.keep.matches(name, left))
}

// verdict is the result of the patterns for a name.
type verdict uint8

const (
	notAsked verdict = iota
	dropped
	kept
)

// cut is the set of frames that a location removes from its stacks.
type cut uint8

const (
	cutNothing cut = iota
	cutBelow       // the locations that it calls, and some of its lines
	cutAll         // the location too
)

// Size returns the approximate number of bytes that p keeps.
func (p *Pruner) Size() int {
	size := cap(p.names) + cap(p.cuts)
	for _, k := range p.known {
		size += k.size()
	}
	return size
}

// Prune drops frames of a profile as go tool pprof does.
//
// A line matches if drop_frames matches the whole name of its function, without arguments, and
// keep_frames does not. A location loses the matching line nearest to the root and all lines that are
// inlined into it. A stack loses all locations below the first location with a matching line, as seen
// from the root, and that location too if it has no line left. The search begins at the first location
// from the root without a matching line.
//
// If a pattern is not a regular expression, nothing is dropped. The error wraps ErrTooLarge if the patterns are
// longer than 4 KiB, or take too many steps. The profile is then unchanged.
func (p *Pruner) Prune(f *Flat) error {
	if f.DropFrames == "" {
		return nil
	}
	patterns, err := p.find(f.DropFrames, f.KeepFrames)
	if err != nil || patterns == nil {
		return err
	}
	if err := p.ask(f, patterns); err != nil {
		return err
	}
	p.cutLines(f)
	p.cutStacks(f)
	return nil
}

// find returns compiled patterns, or nil if they drop nothing.
func (p *Pruner) find(drop, keep string) (*framePatterns, error) {
	const most = 4 // more than one, because profiles of different kinds can alternate
	i := slices.IndexFunc(p.known, func(k *framePatterns) bool { return k.dropText == drop && k.keepText == keep })
	if i < 0 {
		made := new(framePatterns)
		if err := made.compile(drop, keep); err != nil {
			return nil, err
		}
		if len(p.known) == most {
			p.known = slices.Delete(p.known, 0, 1)
		}
		p.known = append(p.known, made)
		i = len(p.known) - 1
	}
	if p.known[i].drop == nil {
		return nil, nil
	}
	return p.known[i], nil
}

// ask finds the verdicts for the names of all lines.
func (p *Pruner) ask(f *Flat, patterns *framePatterns) error {
	p.names = append(p.names[:0], make([]verdict, len(f.Strings))...)
	left := maxSteps
	for i := range f.Lines {
		name := f.Functions[f.Lines[i].Function].Name
		if p.names[name] != notAsked {
			continue
		}
		p.names[name] = kept
		if text := f.Strings[name]; text != "" && patterns.drops(text, &left) {
			p.names[name] = dropped
		}
		if left < 0 {
			return fmt.Errorf("%w: the patterns of frames to drop or to keep take more than %d steps", ErrTooLarge, maxSteps)
		}
	}
	return nil
}

// cutLines finds the cuts of locations, and removes their dropped lines.
func (p *Pruner) cutLines(f *Flat) {
	p.cuts = append(p.cuts[:0], make([]cut, len(f.Locations))...)
	left, from := 0, 0 // end of the lines that stay so far, and first line of the location
	for i := range f.Locations {
		to := int(f.Locations[i].Lines)
		first := to // first line that stays
		for first > from && p.names[f.Functions[f.Lines[first-1].Function].Name] != dropped {
			first--
		}
		switch first {
		case from:
		case to:
			p.cuts[i] = cutAll
			first = from // keep its lines, because some stacks keep the location
		default:
			p.cuts[i] = cutBelow
		}
		left += copy(f.Lines[left:], f.Lines[first:to])
		from = to
		f.Locations[i].Lines = uint32(left)
	}
	f.Lines = f.Lines[:left]
}

// cutStacks removes dropped locations from stacks.
func (p *Pruner) cutStacks(f *Flat) {
	left, from := 0, 0
	for i := range f.Samples {
		to := int(f.Samples[i].Stack)
		left += copy(f.Stack[left:], p.cutStack(f.Stack[from:to]))
		from = to
		f.Samples[i].Stack = uint32(left)
	}
	f.Stack = f.Stack[:left]
}

// cutStack returns the remaining locations in a stack.
func (p *Pruner) cutStack(stack []uint32) []uint32 {
	top := len(stack) // end of the locations below the first location that stays
	for top > 0 && p.cuts[stack[top-1]] != cutNothing {
		top--
	}
	for i := top - 1; i >= 0; i-- {
		switch p.cuts[stack[i]] {
		case cutAll:
			return stack[i+1:]
		case cutBelow:
			return stack[i:]
		}
	}
	return stack
}
