package push

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/granarydb/granary/server/internal/fault"
)

func TestParseAppName(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"api":                                {"service_name": "api"},
		" api {} ":                           {"service_name": "api"},
		"shop.api{region=eu west, zone=a=b}": {"service_name": "shop.api", "region": "eu west", "zone": "a=b"},
		"api{service_name=shop}":             {"service_name": "shop", "app_name": "api"},
		"api{service_name=s,app_name=a}":     {"service_name": "s", "app_name": "a"},
		"api{a=}":                            {"service_name": "api", "a": ""},
		"":                                   nil, "{a=b}": nil, "api{": nil, "api{a=b": nil, "api{a=b}c": nil, "api{a}": nil, "api{=b}": nil,
		"api{a=1,a=2}": nil, "api{a=1,}": nil,
	} {
		got, err := parseAppName(text)
		if (want == nil) != (err != nil) || !maps.Equal(got, want) || err != nil && !errors.Is(err, fault.ErrRequest) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}

// FuzzParseAppName parses names that were put together again.
func FuzzParseAppName(f *testing.F) {
	f.Add("shop.api{region=eu,zone=a}")
	f.Add("api{service_name=s}")
	f.Add("{,=}{")
	f.Fuzz(func(t *testing.T, text string) {
		labels, err := parseAppName(text)
		if err != nil {
			if !errors.Is(err, fault.ErrRequest) || labels != nil {
				t.Fatalf("%v: %v", labels, err)
			}
			return
		}
		again := "x{"
		for name, value := range labels {
			if name == "" || strings.ContainsAny(name, "=,}") || strings.ContainsAny(value, ",}") && name != serviceLabel && name != appLabel {
				t.Fatalf("label %q = %q", name, value)
			}
			if strings.ContainsAny(value, ",}") {
				return // the name of an application can have them
			}
			again += name + "=" + value + ","
		}
		got, err := parseAppName(strings.TrimSuffix(again, ",") + "}")
		if labels[appLabel] == "" && err == nil {
			delete(got, appLabel)
			delete(labels, appLabel)
		}
		if err != nil || !maps.Equal(got, labels) {
			t.Fatalf("%v came back as %v: %v", labels, got, err)
		}
	})
}

// TestPushedLabels gives each profile a service, as Pyroscope's clients expect, and leaves the labels of the push alone.
func TestPushedLabels(t *testing.T) {
	of := func(pairs ...string) map[string]string {
		labels := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			labels[pairs[i]] = pairs[i+1]
		}
		return labels
	}
	s := &Pusher{Options: Options{DropLabels: []string{"pod"}, Limits: Limits{Labels: 3, LabelName: 100, LabelValue: 100}}}
	for _, tt := range []struct{ labels, want map[string]string }{
		{of(), of("service_name", "unknown_service")},
		{of("service_name", "", "pod", "1", "__delta__", "false"), of("service_name", "unknown_service")},
		{of("service.name", "shop", "a", "b", "c", "d"), of("service.name", "shop", "a", "b", "c", "d", "service_name", "shop")},
		{of("service.name", "shop", "service_name", "till"), of("service.name", "shop", "service_name", "till")},
		{of("app_name", "shop"), of("app_name", "shop", "service_name", "shop")},
	} {
		before := maps.Clone(tt.labels)
		if got, err := s.pushedLabels(tt.labels); err != nil || !maps.Equal(got, tt.want) || !maps.Equal(before, tt.labels) {
			t.Errorf("%v: %v, %v, want %v, of %v", before, got, err, tt.want, tt.labels)
		}
	}
}
