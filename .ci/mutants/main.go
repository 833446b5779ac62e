// Command mutants makes small changes to a package's code, mutants, and reports the mutants that no test notices.
//
//	go run ./.ci/mutants [flags] PACKAGE [OTHER...]
//
// Short tests of PACKAGE try each mutant, then the tests that -short leaves out, then short tests of the other packages.
// It prints the mutants that live, and exits with 1 if fewer than -least of 100 are killed.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"
)

var (
	sample  = flag.Int("sample", 0, "number of mutants, drawn with the seed; 0: all")
	seed    = flag.Uint64("seed", 1, "seed of the sample")
	least   = flag.Float64("least", 0, "least number of killed mutants of 100")
	slow    = flag.Duration("slow", time.Second, "leave out tests of other packages that take longer")
	verbose = flag.Bool("killed", false, "print killed mutants too, and what killed them")
)

func main() {
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	ok, err := run(flag.Arg(0), flag.Args()[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// run tries the mutants of a package, and reports whether enough of them are killed.
func run(path string, others []string) (ok bool, err error) {
	started := time.Now()
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	mutants, err := compile(path, dir)
	if err != nil {
		return false, err
	}
	suites, err := learn(path, others, dir)
	if err != nil {
		return false, err
	}
	total := len(mutants)
	if *sample > 0 && *sample < total {
		rng := rand.New(rand.NewPCG(*seed, 0))
		rng.Shuffle(total, func(i, k int) { mutants[i], mutants[k] = mutants[k], mutants[i] })
		mutants = mutants[:*sample]
		slices.SortFunc(mutants, func(a, b mutant) int { return a.id - b.id })
	}
	killed, reached := 0, 0
	for _, m := range mutants {
		by, hit := try(suites, m.id)
		if hit {
			reached++
		}
		switch {
		case by != "":
			if killed++; *verbose {
				fmt.Printf("killed by %s: %v\n", by, m)
			}
		case hit:
			fmt.Printf("lives: %v\n", m)
		default:
			fmt.Printf("not reached: %v\n", m)
		}
	}
	share := 100 * float64(killed) / float64(max(1, len(mutants)))
	fmt.Printf("%s: %d of %d mutants, %d reached, %d killed, %.1f of 100, in %v\n",
		path, len(mutants), total, reached, killed, share, time.Since(started).Round(time.Second))
	return share >= *least, nil
}

// String returns the place of a mutant and its change.
func (m mutant) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", filepath.Base(m.at.Filename), m.at.Line, m.at.Column, m.change)
}
