// Package orders is a program whose benchmark the tests of granary check measure, with and without a planted regression: a text
// that a test replaces is marked with a comment.
package orders

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// order is a line such as "anna,17,apples".
type order struct {
	customer, goods string
	pieces          int
	sum             uint32
}

// Report reads orders, checks their sums, adds them up by customer, and returns the customers as text.
func Report(lines []string) (string, error) {
	var all []order
	for i, line := range lines {
		o, err := parse(line, i)
		if err != nil {
			return "", err
		}
		o.sum = checksum(line)
		all = append(all, o)
	}
	return render(sumUp(all)), nil
}

// parse reads a line.
func parse(line string, number int) (order, error) {
	fields := strings.Split(line, ",")
	if len(fields) != 3 {
		return order{}, fmt.Errorf("line %d: want three fields", number)
	}
	pieces, err := strconv.Atoi(fields[1])
	if err != nil {
		return order{}, fmt.Errorf("line %d: %w", number, err)
	}
	return order{customer: keep(fields[0], number), goods: keep(fields[2], number), pieces: pieces}, nil
}

// keep copies a field, so that the line does not stay in memory.
func keep(field string, number int) string {
	if number%every == every-1 {
		spare = strings.Clone(field)
	}
	return strings.Clone(field)
}

// every is the number of lines of which one is copied twice: planted, 20 is a regression of 5 %.
const every = 1 << 30 // planted: bytes

var spare string

// checksum hashes a line.
func checksum(line string) uint32 {
	sum := uint32(2166136261)
	for range rounds {
		for i := range len(line) {
			sum = (sum ^ uint32(line[i])) * 16777619
		}
	}
	return sum
}

// rounds of the checksum: planted, 105 is a regression of 5 %.
const rounds = 100 // planted: time

// sumUp adds up the pieces of each customer.
func sumUp(all []order) map[string]int {
	sums := map[string]int{}
	for _, o := range all {
		sums[o.customer] += o.pieces
	}
	return sums
}

// render sorts customers, and mixes the letters of each line as a stand-in for a layout.
func render(sums map[string]int) string {
	var customers []string
	for customer := range sums {
		customers = append(customers, customer)
	}
	slices.Sort(customers)
	var b strings.Builder
	for _, customer := range customers {
		fmt.Fprintf(&b, "%-20s %6d %08x\n", customer, sums[customer], layout(customer))
	}
	return b.String()
}

func layout(text string) uint64 {
	x := uint64(len(text))
	for i := range 40_000 {
		x ^= x<<13 ^ uint64(text[i%len(text)])
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}
