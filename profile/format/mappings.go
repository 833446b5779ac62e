package format

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	pprof "github.com/google/pprof/profile"
)

// codeMapping matches a mapping with code, in the form of /proc/self/maps of Linux.
var codeMapping = regexp.MustCompile(`^([0-9a-f]+)-([0-9a-f]+) [r-][w-]x\S ([0-9a-f]+) \S+ +\d+ *(.*)$`)

// isMappings reports whether the mappings of a process follow a line.
func isMappings(line string) bool {
	return line == "MAPPED_LIBRARIES:" || line == "--- Memory map: ---"
}

// addMapping adds the mapping of a line to p, if it has code.
func addMapping(p *pprof.Profile, line string) error {
	m := codeMapping.FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	made := &pprof.Mapping{ID: uint64(len(p.Mapping) + 1), File: m[4]}
	for i, to := range []*uint64{&made.Start, &made.Limit, &made.Offset} {
		var err error
		if *to, err = hexAddress(m[i+1]); err != nil {
			return err
		}
	}
	p.Mapping = append(p.Mapping, made)
	return nil
}

// hexAddress reads an address in hexadecimal digits.
func hexAddress(text string) (uint64, error) {
	address, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		return 0, invalid(fmt.Sprintf("an address of more than 64 bits: %.100q", text))
	}
	return address, nil
}

// pushCalls pushes the address of each call of a stack, which is before the address of the text, such as 0x1f 0x2e.
func (b *sampleBuilder) pushCalls(stack string) error {
	for text := range strings.FieldsSeq(stack) {
		address, err := hexAddress(text[len("0x"):])
		if err == nil {
			err = b.push(stackFrame{address: address - 1, bare: true})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// place sets the mappings of locations. google/pprof can do it too, but lets lines of an input name texts of others, which
// has no bound.
func place(p *pprof.Profile) {
	byStart := slices.SortedFunc(slices.Values(p.Mapping), func(a, b *pprof.Mapping) int { return cmp.Compare(a.Start, b.Start) })
	for _, l := range p.Location {
		after, _ := slices.BinarySearchFunc(byStart, l.Address, func(m *pprof.Mapping, address uint64) int {
			if m.Start <= address {
				return -1
			}
			return 1
		})
		if after > 0 && l.Address < byStart[after-1].Limit {
			l.Mapping = byStart[after-1]
		}
	}
}
