package otlp

import (
	"maps"
	"testing"
)

// TestWithService names a service as Pyroscope's clients do, and leaves the labels of others alone.
func TestWithService(t *testing.T) {
	of := func(pairs ...string) map[string]string {
		labels := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			labels[pairs[i]] = pairs[i+1]
		}
		return labels
	}
	for _, tt := range []struct{ labels, want map[string]string }{
		{of(), of()},
		{of("service.name", "shop", "a", "b"), of("service.name", "shop", "a", "b", "service_name", "shop")},
		{of("service.name", "shop", "service_name", "till"), of("service.name", "shop", "service_name", "till")},
	} {
		before := maps.Clone(tt.labels)
		if got := withService(tt.labels); !maps.Equal(got, tt.want) || !maps.Equal(before, tt.labels) {
			t.Errorf("%v: %v, want %v, of %v", before, got, tt.want, tt.labels)
		}
	}
}
