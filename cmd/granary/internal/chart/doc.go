// Package chart draws values over time in a terminal: it chooses the step between points, draws the lines and
// the axes, and marks the lines for a legend. The library asciigraph draws the characters.
package chart
