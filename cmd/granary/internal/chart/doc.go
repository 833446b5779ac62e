// Package chart draws values over time in a terminal: it chooses the step from one point to the
// next, draws the lines and the axes, and marks the lines for a legend. Library asciigraph draws
// the characters.
package chart
