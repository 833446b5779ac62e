package main

import "testing"

// TestMeasure measures each format. A table of stacks takes fewer bytes than the stacks in the rows.
func TestMeasure(t *testing.T) {
	size := map[string]float64{}
	for name, measure := range measured {
		r, err := measure(t.TempDir(), 20_000)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for key, value := range r.Figures {
			if value <= 0 {
				t.Errorf("%s: %s is %v", name, key, value)
			}
		}
		if r.Module == "" {
			t.Errorf("%s has no module", name)
		}
		size[name] = r.Figures["file_bytes_per_row"]
		t.Logf("%s: %+v", name, r)
	}
	for name, bytes := range size {
		if with, ok := size[name+"-stacks"]; ok && (with == 0 || with >= bytes) {
			t.Errorf("%s: %v bytes a row, %v with a table of stacks", name, bytes, with)
		}
	}
}

func TestRun_Errors(t *testing.T) {
	if err := run("nothing", 1); err == nil {
		t.Error("an unknown format was measured")
	}
	if err := run("parquet", 0); err == nil {
		t.Error("no rows were measured")
	}
}
