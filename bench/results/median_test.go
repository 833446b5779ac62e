package results

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSpreadOf(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   Spread
	}{
		{[]float64{7}, Spread{7, 7, 7}},
		{[]float64{3, 1, 2}, Spread{2, 1, 3}},
		{[]float64{4, 1, 3, 2}, Spread{3, 1, 4}},
	} {
		if diff := cmp.Diff(c.want, SpreadOf(c.values)); diff != "" {
			t.Errorf("%v: (-want +got)\n%s", c.values, diff)
		}
	}
}

func TestLatenciesOf(t *testing.T) {
	var us []float64
	for i := range 200 {
		us = append(us, float64(200-i))
	}
	want := Latencies{Count: 200, P50: 101, P99: 199, Max: 200}
	if diff := cmp.Diff(want, LatenciesOf(us)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(Latencies{}, LatenciesOf(nil)); diff != "" {
		t.Errorf("no time: (-want +got)\n%s", diff)
	}
}
