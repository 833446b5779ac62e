// Package report summarises repeated measurements and prints reports as JSON.
package report
