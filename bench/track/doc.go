// Command track keeps a series of figures over commits. It measures twenty figures in less than five minutes,
// adds a line to track/figures.jsonl, draws the series (track/figures.svg), and names what changed.
//
//	go run ./track
//	go run ./track -add=false
//	go run ./track -draw
//
// A figure is a ratio: this store's cost divided by that of a peer that never changes, measured in the same
// run in processes in turns. The peers are kelindar/column, at the version in go.mod, for rows of the made-up
// fleet, and the eSHT of this module for interval histories. So a series goes on over machines and their load
// much better than one of times. The peers' own costs stand beside the ratios, for a look at the machine.
//
// A figure has changed if its ratio is more than 5 % from the median of the last five lines of the same size. On a
// machine with other work short questions differ by a third from run to run, so that a change is sure only if its ratio
// is outside of those of the last lines, at least three, and so is the ratio of the best runs. The exit code is 0
// without a sure change to the worse, 3 with one, and 1 after an error.
//
// It runs from the folder of the bench module, with GOWORK=off.
package main
