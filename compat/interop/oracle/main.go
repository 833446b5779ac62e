package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

func main() {
	wide := flag.Bool("wide", false, "write profiles with 10,000 labels to DIR")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: oracle [-wide] DIR")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *wide); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func run(dir string, wide bool) error {
	if wide {
		return writeWide(dir)
	}
	a, err := read(dir)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(a)
}
