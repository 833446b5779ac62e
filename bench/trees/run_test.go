package main

import (
	"strings"
	"testing"
)

// The command measures all trees and history, in memory and on disk, and checks the answers.
func TestRun(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		var out strings.Builder
		if err := run(&out, options{sets: "synth:100:60", dir: dir, repeat: 1, most: 1 << 30}); err != nil {
			t.Fatal(err)
		}
		if rows := strings.Count(out.String(), "synth:100:60"); rows != len(kinds)+1 {
			t.Errorf("%d rows, want %d\n%s", rows, len(kinds)+1, out.String())
		}
	}
}

// A tree that grows without bound is given up, and the table says so.
func TestRun_Stopped(t *testing.T) {
	var out strings.Builder
	if err := run(&out, options{sets: "synth:1000:20", only: "SHT", repeat: 1, most: 1 << 17}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "stopped after") {
		t.Errorf("the tree was not given up\n%s", out.String())
	}
}

func TestRun_Errors(t *testing.T) {
	if err := run(&strings.Builder{}, options{sets: "no-such-file", repeat: 1}); err == nil {
		t.Error("a set that does not exist is no error")
	}
}
