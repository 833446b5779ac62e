// Package formats writes trees as JSON.
package formats
