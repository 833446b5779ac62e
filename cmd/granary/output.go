package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/granarydb/granary/internal/input"
)

// spareProfiles refuses an output that would replace one of the profiles to read.
func spareProfiles(output string, args []string) error {
	return spare(output, func(yield func(string) bool) {
		for _, arg := range args {
			for name, err := range input.Names(arg) {
				if err == nil && !yield(name) { // an error is told when it is read
					return
				}
			}
		}
	})
}

// spareHistory refuses an output that would replace the history to read.
func spareHistory(output, input string) error {
	set := strings.TrimSuffix(input, intervalsSuffix)
	return spare(output, func(yield func(string) bool) {
		_ = yield(input) && yield(set+intervalsSuffix) && yield(set+attributesSuffix)
	})
}

// spare refuses an output that is one of the inputs, by whatever name.
func spare(output string, inputs func(yield func(string) bool)) error {
	out, err := os.Stat(output)
	if err != nil || !out.Mode().IsRegular() {
		return nil
	}
	for name := range inputs {
		if in, err := os.Stat(name); err == nil && os.SameFile(in, out) {
			return usageError{fmt.Errorf("-o %s: that is the input", output)}
		}
	}
	return nil
}
