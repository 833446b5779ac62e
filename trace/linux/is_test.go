package linux

import "testing"

// TestIs tells the forms by their first bytes, and from others.
func TestIs(t *testing.T) {
	for text, want := range map[string]string{
		goodLTTng: "lttng",
		"[1457113582.794565804] sched_waking: { cpu_id = 0 }, { }\n":                        "lttng",
		"[2016-03-04 17:46:22.794565804] (+0.1) host:proc x:y: { cpu_id = 0 }, { }\n":       "lttng",
		"[17:46:22.794565804] (+0.1) host lttng_ust_tracef:event: { stream_id = 0 }, { }\n": "",
		"[{\"ph\": \"X\"}]\n":                          "",
		"[2026-01-01 10:00:00.000] INFO: {\"a\": 1}\n": "",
		goodPerf:             "ftrace",
		"# tracer: nop\n#\n": "ftrace",
		"  bash-1 [000] 1.5: kmalloc: call_site=ffff\n":                  "ftrace",
		"  bash-1 [000] d..1 1.5: kmalloc: call_site=ff\n":               "ftrace",
		"cpus=4\n  bash-1 [000] 1.5: x: y\n":                             "ftrace",
		"bash 1 [000] 1.5: sched:sched_stat_wait: comm=a\n\n" + goodPerf: "ftrace",
		"bash 1 [000] 1.5: 250000 cpu-clock:u:\n\t55d0 main+0x14 (a)\n":  "",
		"bash 1 1.5: 250000 cpu-clock:u:\n\t55d0 main+0x14 (a)\n":        "",
		"a;b;c 10\n":                    "",
		"time,attribute,value\n1,a,b\n": "",
		"go 1.22 trace\x00\x00\x00":     "",
		"":                              "",
		"[":                             "",
		"[0] [1] [2]":                   "",
	} {
		is := map[string]bool{"lttng": IsLTTng([]byte(text)), "ftrace": IsFtrace([]byte(text))}
		for form, is := range is {
			if is != (form == want) {
				t.Errorf("%.60q is of the form %s: %v", text, form, is)
			}
		}
	}
}
