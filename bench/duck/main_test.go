package main

import "testing"

func TestRun_Errors(t *testing.T) {
	if err := run("nothing", "fleet", 1, true); err == nil {
		t.Error("an unknown store was measured")
	}
}
