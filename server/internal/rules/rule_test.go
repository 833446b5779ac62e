package rules

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for name, text := range map[string]string{
		"YAML": "interval: 15s\nrules:\n- name: shop_cpu_seconds_total\n  type: cpu\n  selector: '{service_name=\"shop\"}'\n  function: ^main\\.\n  by: [pod, k8s.node]\n  help: CPU of the shop.\n",
		"JSON": `{"interval":"15s","rules":[{"name":"shop_cpu_seconds_total","type":"cpu","selector":"{service_name=\"shop\"}","function":"^main\\.","by":["pod","k8s.node"],"help":"CPU of the shop."}]}`,
	} {
		l, err := Parse([]byte(text), 1)
		if err != nil || l.Interval != 15*time.Second || len(l.Rules) != 1 {
			t.Fatalf("%s: %v %+v", name, err, l)
		}
		if r := l.Rules[0]; r.Name != "shop_cpu_seconds_total" || r.isGauge || r.labels[1] != "k8s_node" || r.sum.Function == nil || r.Tenant != "anonymous" || r.sum.Selector.String() == "" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for _, text := range []string{"", "rules: []", "# nothing\n"} {
		if l, err := Parse([]byte(text), 0); err != nil || len(l.Rules) != 0 || l.Interval != time.Minute {
			t.Errorf("%q: %v %+v", text, err, l)
		}
	}
}

func TestParse_Errors(t *testing.T) {
	rule := func(fields string) string { return "rules:\n- name: x_total\n  type: cpu\n  " + fields + "\n" }
	for text, want := range map[string]string{
		"rules: 3":                                           "line 1",
		"rule:\n- name: x":                                   "field rule not found",
		rule("selektor: x"):                                  "line 4: field selektor not found",
		"rules: [":                                           "line 1",
		"a: &a [x]\nrules: *b":                               "unknown anchor",
		"rules: []\n---\nrules: []":                          "one document",
		"interval: 7s":                                       "divisor of an hour",
		"interval: 1ms":                                      "divisor of an hour",
		"interval: soon":                                     "divisor of an hour",
		"rules:\n- type: cpu":                                "name is missing",
		"rules:\n- name: a-b\n  type: cpu":                   "letters, digits",
		"rules:\n- name: 1x\n  type: cpu":                    "without a digit first",
		"rules:\n- name: é_total\n  type: cpu":               "letters, digits",
		"rules:\n- name: granary_x_total\n  type: cpu":       "server's own",
		"rules:\n- name: x_total":                            "type is missing",
		"rules:\n- name: x\n  type: cpu":                     "ends in _total",
		"rules:\n- name: x_total\n  type: inuse_space:bytes": "does not end in _total",
		"rules:\n- name: x_total\n  type: inuse-space":       "does not end in _total",
		"rules:\n- name: x_total\n  type: process_cpu:cpu:nanoseconds:cpu:nanoseconds": "__name__",
		rule("selector: '{'"):                          "invalid selector",
		rule("selector: '{__type__=\"cpu\"}'"):         "chosen by type",
		rule("function: '('"):                          "function: error parsing",
		rule("function: '(a{1000}){900}'"):             "function:",
		rule("function: " + strings.Repeat("x", 1001)): "at most 1000",
		rule("by: [a.b, a_b]"):                         "twice",
		rule("by: [trace_id]"):                         "each request",
		rule("by: [__name__]"):                         "label of Prometheus",
		rule("by: [tenant]"):                           "label of Prometheus",
		rule("by: ['']"):                               "no name of a label",
		rule("by: [a,b,c,d,e,f,g,h,i]"):                "at most 8",
		rule("tenant: a/b"):                            "tenant",
		rule("by: [a]\n- name: x_total\n  type: cpu"):  "twice",
		rule("by: [a]\n- name: a_total\n  type: cpu\n- name: b_total\n  type: cpu\n- name: c_total\n  type: cpu"): "4 rules, at most 3",
		strings.Repeat("#", MaxBytes+1): "at most",
	} {
		if _, err := Parse([]byte(text), 3); !errors.Is(err, ErrRule) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.100q: %v, want %q", text, err, want)
		}
	}
}

// FuzzParse: no text panics or takes long, and what is accepted is bounded.
func FuzzParse(f *testing.F) {
	f.Add("rules:\n- name: x_total\n  type: cpu\n  by: [a]\n  function: a.*b")
	f.Add(`{"interval":"1m","rules":[{"name":"x","type":"goroutine"}]}`)
	f.Add("a: &a [*a,*a]\nrules: *a")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Parse([]byte(text), 10)
		if err != nil && !errors.Is(err, ErrRule) {
			t.Errorf("%v", err)
		}
		if err == nil && (len(l.Rules) > 10 || l.Interval < time.Second) {
			t.Errorf("%+v", l)
		}
	})
}
