// Package render draws pictures: flame graphs of profiles and time graphs of interval histories, each as
// a standalone SVG file, or a time graph as an HTML page.
//
//	profile.FlameNode -> FlameGraph -> SVG
//	history.View      -> TimeGraph  -> SVG
//	                  -> TimePage   -> HTML
//
// A picture refers to nothing outside itself. The same input gives the same bytes. A picture is built in
// memory and written with a single Write; an earlier error therefore writes nothing. Other packages compute
// the data: package profile builds a flame graph's tree, package history samples a time graph's columns, and
// package history/summary divides columns between states.
package render
