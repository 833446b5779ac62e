package format

import (
	"fmt"
	"regexp"

	pprof "github.com/google/pprof/profile"
)

// The lines of a heap profile of jemalloc: the period, the sums of the whole heap and of its threads, and each stack with
// its own. The mappings of the process follow.
var (
	jemallocHead  = regexp.MustCompile(`^heap_v2/(\d+)$`)
	jemallocSum   = regexp.MustCompile(`^\s*t(\*|\d+): (\d+): (\d+) \[(\d+): (\d+)\]$`)
	jemallocStack = regexp.MustCompile(`^@((?: 0x[0-9a-f]+)*)$`)
)

// isJemalloc reports whether head begins as a heap profile of jemalloc.
func isJemalloc(head []byte) bool { return jemallocHead.Match(firstLine(head)) }

// parseJemalloc returns the profile of a heap of jemalloc, of all threads together. It has the types of heaps of Go. Values
// are estimates of all allocations, as in jeprof. Functions are addresses in the mappings of the process.
func parseJemalloc(data []byte, h Hints) (*pprof.Profile, error) {
	j := jemalloc{sampleBuilder: newBuilder(h, heapTypes...)}
	j.to.PeriodType = &pprof.ValueType{Type: "space", Unit: "bytes"}
	if err := eachLine(data, h, "heap of jemalloc", j.add); err != nil {
		return nil, err
	}
	place(j.to)
	return j.to, nil
}

// jemalloc makes a profile from a text.
type jemalloc struct {
	*sampleBuilder
	inStack    bool // the sums of its allocations follow
	inMappings bool
}

// add adds a line.
func (j *jemalloc) add(line string) (err error) {
	if j.to.Period == 0 && line != "" {
		m := jemallocHead.FindStringSubmatch(line)
		if m == nil {
			return invalid(fmt.Sprintf("want heap_v2/ and the bytes between samples, not %.100q", line))
		}
		if j.to.Period, err = number(m[1]); err == nil && j.to.Period == 0 {
			err = invalid("a period of 0")
		}
		return err
	}
	if j.inMappings {
		return addMapping(j.to, line)
	}
	if m := jemallocStack.FindStringSubmatch(line); m != nil {
		return j.begin(m[1])
	}
	m := jemallocSum.FindStringSubmatch(line)
	switch {
	case line == "":
		return nil
	case isMappings(line):
		j.inMappings = true
		return nil
	case m == nil:
		return invalid(fmt.Sprintf("want a stack or its sums, not %.100q", line))
	case m[1] != "*" || !j.inStack:
		return nil // of a thread, or of the whole heap
	}
	j.inStack = false
	return j.end(m[2:])
}

// begin begins a stack.
func (j *jemalloc) begin(addresses string) error {
	j.inStack, j.stack = true, j.stack[:0]
	return j.pushCalls(addresses)
}

// end adds the sums of the stack.
func (j *jemalloc) end(texts []string) error {
	numbers, err := numbersOf(texts)
	if err != nil {
		return err
	}
	estimate, err := heapSample(j.to.Period, numbers)
	if err != nil {
		return err
	}
	s, err := j.sample(nil)
	if err != nil {
		return err
	}
	for i, v := range estimate.Value {
		if err := addTo(&s.Value[i], v); err != nil {
			return err
		}
	}
	return nil
}
