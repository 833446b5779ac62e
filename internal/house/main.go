// Command house measures how the source reads: its lines by room, the arrows between the
// files of a room, and the words of its comments.
//
//	go run ./internal/house lines
//	go run ./internal/house arrows [-list] [package ...]
//	go run ./internal/house words
//
// The figures are a guide, not a bound.
package main

import (
	"errors"
	"fmt"
	"os"
)

const usage = "usage: house lines | arrows [-list] [package ...] | words"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	switch args[0] {
	case "lines":
		return printLines(os.Stdout)
	case "arrows":
		return printArrows(os.Stdout, args[1:])
	case "words":
		return printWords(os.Stdout)
	}
	return errors.New(usage)
}
