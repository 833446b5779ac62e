// Package results summarises repeated measurements and prints reports as JSON.
package results
