package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
func spareHistory(output, name string) error {
	set := setName(name)
	return spare(output, func(yield func(string) bool) {
		_ = yield(name) && yield(set+intervalsSuffix) && yield(set+attributesSuffix)
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

// otherForms is endings of names that say that a file is not SVG as text.
var otherForms = []string{
	".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".svgz", ".pdf", ".ps", ".eps",
	".html", ".htm", ".json", ".csv", ".txt", ".gz", ".pb", ".pprof", ".arrow", ".arrows", ".parquet",
}

// isSVG refuses the name of a picture that says another form: who opens it would be told that
// it is broken.
func isSVG(output string) error {
	if ending := filepath.Ext(output); slices.Contains(otherForms, strings.ToLower(ending)) {
		return usageError{fmt.Errorf("-o %s: this writes SVG, not %s: name it .svg", output, ending)}
	}
	return nil
}
