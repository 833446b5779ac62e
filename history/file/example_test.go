package file_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/file"
)

// A file is written in transactions, and read without the rest of it.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	opts := file.Options{Provider: "example 1"}
	err = write(filepath.Join(dir, "cpu.history"), opts)
	if err != nil {
		panic(err)
	}
	r, err := file.Open(filepath.Join(dir, "cpu.history"), opts)
	if err != nil {
		panic(err)
	}
	defer r.Close()
	cpu, err := r.View.Lookup("cpu 0")
	if err != nil {
		panic(err)
	}
	in, err := r.View.At(cpu, 42)
	fmt.Println(in.Start, in.End, in.Value, err)
	// Output: 40 99 "idle" <nil>
}

func write(path string, opts file.Options) error {
	w, err := file.Create(path, opts)
	if err != nil {
		return err
	}
	defer w.Close()
	tx, err := w.History.Begin()
	if err != nil {
		return err
	}
	cpu, err := tx.Attribute("cpu 0")
	if err != nil {
		return err
	}
	if err = tx.Change(0, cpu, history.String("busy")); err == nil {
		err = tx.Change(40, cpu, history.String("idle"))
	}
	if err == nil {
		err = tx.Close(99)
	}
	if err != nil {
		tx.Abort()
		return err
	}
	if _, err = tx.Commit(); err != nil {
		return err
	}
	return w.Sync()
}
