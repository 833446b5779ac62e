package linux

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/trace"
)

// Lines that a hostile text has at its begin, so that it is of a form.
const (
	goodLTTng = `[00:00:01.000000000] (+?.?????????) host sched_waking: { cpu_id = 0 }, { comm = "a", tid = 1, prio = 20, target_cpu = 0 }` + "\n"
	goodPerf  = "  a 1 [000] 1.000000000: sched:sched_waking: comm=a pid=1 prio=120 target_cpu=000\n"
)

// lttngLine and perfLine return a line of an event.
func lttngLine(event, fields string) string {
	return fmt.Sprintf("[00:00:02.000000000] (+0.1) host %s: { cpu_id = 1 }, { %s }\n", event, fields)
}

func perfLine(event, fields string) string {
	return fmt.Sprintf("  b 2 [001] 2.000000000: %s: %s\n", event, fields)
}

// TestImport_Hostile reads texts that no tracer wrote. Each is refused with the line and what is wrong there, or is
// read up to the fault.
func TestImport_Hostile(t *testing.T) {
	const huge = "99999999999999999999999"
	mega := strings.Repeat("x", 1<<20)
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":                     {"", "the text has none"},
		"only comments":               {"# tracer: nop\n#\n\n", "the text has none"},
		"NULs":                        {"\x00\x00\x00\x00\n", "line 1: not an event"},
		"no end of the time":          {goodLTTng + "[00:00:02.0\n", "line 2: not an event of the Linux kernel: no end of the time"},
		"no braces":                   {goodLTTng + "[00:00:02.0] (+0.1) host sched_switch\n", "line 2: not an event of the Linux kernel: no event with fields"},
		"braces that do not close":    {goodLTTng + "[00:00:02.0] (+0.1) host sched_waking: { cpu_id = 1 }, { comm = \"a\", tid = 1\n", "line 2: not an event of the Linux kernel: the value of \"tid\" does not end"},
		"quotes that do not close":    {goodLTTng + lttngLine("sched_waking", `comm = "a, tid = 1, prio = 20, target_cpu = 0`), "the value of \"comm\" does not end"},
		"brackets that do not close":  {goodLTTng + lttngLine("sched_waking", `comm = "a", vtids = [ [ [ [, tid = 1`), "does not end"},
		"text behind the braces":      {goodLTTng + "[00:00:02.0] host sched_waking: { cpu_id = 1 } and more\n", "text behind the last brace"},
		"no field":                    {goodLTTng + lttngLine("sched_waking", `comm = "a", prio = 20, target_cpu = 0`), "no field pid or tid"},
		"no CPU":                      {goodLTTng + "[00:00:02.0] host sched_waking: { }, { tid = 1, prio = 1, target_cpu = 1 }\n", "no field cpu_id"},
		"CPU 4294967295":              {goodLTTng + "[00:00:02.0] host sched_waking: { cpu_id = 4294967295 }, { tid = 1, prio = 1, target_cpu = 1 }\n", "line 2: not an event of the Linux kernel: cpu_id 4294967295 is not from 0 to 8191"},
		"CPU -1":                      {goodLTTng + "[00:00:02.0] host sched_waking: { cpu_id = -1 }, { tid = 1, prio = 1, target_cpu = 1 }\n", "cpu_id -1 is not from 0"},
		"target CPU 4294967295":       {goodPerf + perfLine("sched_waking", "comm=a pid=1 prio=120 target_cpu=4294967295"), "target_cpu or dest_cpu 4294967295 is not from 0 to 8191"},
		"CPU 4294967295 of perf":      {goodPerf + "  b 2 [4294967295] 2.000000000: sched_waking: comm=a pid=1 prio=120 target_cpu=0\n", "the CPU 4294967295 is not from 0 to 8191"},
		"huge CPU of perf":            {goodPerf + "  b 2 [" + huge + "] 2.000000000: sched_waking: comm=a pid=1 prio=120 target_cpu=0\n", "line 2: not an event of the Linux kernel: no thread, CPU and time"},
		"huge thread":                 {goodLTTng + lttngLine("sched_waking", `tid = `+huge+`, prio = 20, target_cpu = 0`), "pid or tid is not a number"},
		"thread 2^31":                 {goodPerf + perfLine("sched_waking", "comm=a pid=2147483648 prio=120 target_cpu=0"), "pid or tid 2147483648 is not from -1 to 4194304"},
		"thread that runs 2^31":       {goodPerf + "  b 2147483648 [001] 2.0: sched_waking: comm=a pid=1 prio=120 target_cpu=0\n", "the thread 2147483648 is not from 0"},
		"huge priority":               {goodPerf + perfLine("sched_waking", "comm=a pid=1 prio=9223372036854775807 target_cpu=0"), "prio is not a number"},
		"a word for a number":         {goodPerf + perfLine("sched_waking", "comm=a pid=one prio=120 target_cpu=0"), "pid or tid is not a number: \"one\""},
		"an octal number with a nine": {goodLTTng + lttngLine("sched_waking", `tid = 09, prio = 20, target_cpu = 0`), "pid or tid is not a number: \"09\""},
		"huge time":                   {goodLTTng + "[" + huge + ".0] host sched_waking: { cpu_id = 1 }, { }\n", "line 2: not an event of the Linux kernel: the time"},
		"hour 99":                     {goodLTTng + "[99:00:00.000] host sched_waking: { cpu_id = 1 }, { }\n", "the time \"99:00:00.000\" is none of"},
		"date of the year 9999":       {goodLTTng + "[9999-12-31 00:00:00.000] host sched_waking: { cpu_id = 1 }, { }\n", "the time \"9999-12-31 00:00:00.000\" is none of"},
		"time in cycles":              {goodLTTng + "[00000000001234567890] host sched_waking: { cpu_id = 1 }, { }\n", "the time \"00000000001234567890\" is none of"},
		"time without a fraction":     {goodPerf + "  b 2 [001] 30625460: sched_waking: comm=a pid=1 prio=120 target_cpu=0\n", "line 2: not an event of the Linux kernel: no thread, CPU and time in seconds"},
		"time that goes back":         {goodPerf + "  b 2 [001] 0.900000000: sched_waking: comm=a pid=1 prio=120 target_cpu=0\n", "line 2: not an event of the Linux kernel: its time is 100ms before that of the event before"},
		"negative time":               {goodPerf + "  b 2 [001] -5.0: sched_waking: comm=a pid=1 prio=120 target_cpu=0\n", "its time is 6s before"},
		"date before the first one":   {"[2026-01-01 00:00:00.0] h sched_process_free: { cpu_id = 0 }, { tid = 1 }\n[1800-01-01 00:00:00.0] h sched_process_free: { cpu_id = 0 }, { tid = 1 }\n", "before that of the event before"},
		"line of 1 MB":                {goodPerf + mega + "\n", "line 2: not an event of the Linux kernel: longer than 262144 bytes"},
		"first line of 1 MB":          {goodLTTng[:60] + mega + "\n", "line 1: not an event of the Linux kernel: longer than"},
		"name of 100 KB":              {goodLTTng + lttngLine("irq_handler_entry", `irq = 1, name = "`+mega[:100_000]+`"`), "name has 100000 bytes, more than 4096"},
		"thread's name of 100 KB":     {goodPerf + mega[:100_000] + " 2 [001] 2.0: sched_waking: comm=a pid=1 prio=120 target_cpu=0\n", "the name of the thread 2 has 100000 bytes"},
		"a call without a name":       {goodPerf + perfLine("sys_enter", "XX 5"), "the system call's name has 0 bytes"},
		"name of a call of 100 KB":    {goodLTTng + lttngLine("syscall_entry_"+mega[:100_000], ""), "the system call's name has 100000 bytes"},
		"unknown state":               {goodPerf + perfLine("sched_switch", "prev_comm=a prev_pid=1 prev_prio=1 prev_state=? ==> next_comm=b next_pid=2 next_prio=1"), "the state \"?\" is none of the letters"},
		"no state":                    {goodPerf + perfLine("sched_switch", "prev_comm=a prev_pid=1 prev_prio=1 prev_state= ==> next_comm=b next_pid=2 next_prio=1"), "no field prev_state"},
		"switch without an arrow":     {goodPerf + perfLine("sched_switch", "prev_comm=a prev_pid=1 prev_prio=1 prev_state=R"), "no field next_pid or next_tid"},
		"short switch without a next": {goodPerf + perfLine("sched_switch", "a:1 [120] S"), "no field next_pid or next_tid"},
		"short switch of nothing":     {goodPerf + perfLine("sched_switch", " [[[[ ==> ]]]"), "no field prev_pid or prev_tid"},
		"state of LTTng in letters":   {goodLTTng + lttngLine("sched_switch", `prev_comm = "a", prev_tid = 1, prev_prio = 1, prev_state = "S", next_comm = "b", next_tid = 2, next_prio = 1`), "prev_state is not a number: \"S\""},
		"soft interrupt 64":           {goodPerf + perfLine("softirq_raise", "vec=64 [action=x]"), "vec 64 is not from 0 to 63"},
		"soft interrupt -1":           {goodLTTng + lttngLine("irq_softirq_entry", "vec = -1"), "vec -1 is not from 0"},
		"huge frequency":              {goodPerf + perfLine("cpu_frequency", "state=18446744073709551615 cpu_id=0"), "state is not a number"},
		"LTTng in perf":               {goodPerf + goodLTTng, "line 2: not an event of the Linux kernel: no thread"},
		"perf in LTTng":               {goodLTTng + goodPerf, "line 2: not an event of the Linux kernel: not an event of babeltrace2"},
		"CSV in perf":                 {goodPerf + "time,attribute,value\n", "line 2: not an event"},
		"an enumeration of nothing":   {goodLTTng + lttngLine("sched_waking", `tid = ( , prio = 20, target_cpu = 0`), "does not end"},
	} {
		_, err := hostile(t, tc.text)
		switch {
		case err == nil || !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), tc.want):
			t.Errorf("%s: %.300v, want %q", name, err, tc.want)
		case len(err.Error()) > 400:
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
}

// at returns a line of LTTng at a time of the day.
func at(time string) string { return strings.Replace(goodLTTng, "00:00:01.000000000", time, 1) }

// TestImport_Odd reads texts with faults that cost no more than what they say.
func TestImport_Odd(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"cut within a line":            {goodLTTng + lttngLine("x", "")[:34], "lost: line 2: not an event of the Linux kernel: no event with fields in braces"},
		"cut within a line of perf":    {goodPerf + perfLine("sched_switch", "a:1 [120] S ==> b")[:50], "lost: line 2: not an event of the Linux kernel: no field"},
		"no line feed at the end":      {strings.TrimSuffix(goodPerf, "\n"), ""},
		"carriage returns":             {strings.ReplaceAll(goodPerf+goodPerf, "\n", "\r\n"), ""},
		"time that goes back a bit":    {goodPerf + "  b 2 [001] 0.990000000: sched_waking: comm=a pid=1 prio=120 target_cpu=0\n", "1 times that are earlier"},
		"midnight":                     {strings.Replace(goodLTTng, "00:00:01", "23:59:59", 1) + goodLTTng, ""},
		"before midnight, late":        {at("23:59:59.995") + at("00:00:00.002") + at("23:59:59.999") + at("00:00:00.003"), "1 times that are earlier"},
		"a gap of most of a day":       {at("23:59:59.995") + at("00:00:00.002") + at("23:59:00.000") + at("00:00:00.003"), ""},
		"empty lines":                  {goodLTTng + "\n \r\n" + goodLTTng + "\n", ""},
		"a name that is not UTF-8":     {goodPerf + perfLine("sched_switch", "prev_comm=\xff\x00 prev_pid=1 prev_prio=1 prev_state=R ==> next_comm=\xc3 next_pid=2 next_prio=1"), ""},
		"an event that is not UTF-8":   {goodPerf + perfLine("\xff\x00", ""), "1 \ufffd\x00 events, which are of no state"},
		"an event of a long name":      {goodPerf + perfLine(strings.Repeat("y", 101), ""), "1 other events"},
		"1000 kinds of events":         {goodPerf + numbered(1000), "996 other events"},
		"lost events":                  {goodPerf + "CPU:3 [LOST 12 EVENTS]\nCPU:1 [EVENTS DROPPED]\n", "2 places where the tracer lost events"},
		"another host":                 {goodLTTng + strings.Replace(goodLTTng, "host", "guest", 1), "1 events of other hosts"},
		"an end without a begin":       {goodPerf + perfLine("irq_handler_exit", "irq=5 ret=handled") + perfLine("softirq_exit", "vec=3 [action=x]") + perfLine("sys_exit", "NR 3 = 0"), ""},
		"a begin twice":                {goodPerf + perfLine("irq_handler_entry", "irq=5 name=a") + perfLine("irq_handler_entry", "irq=5 name=b") + perfLine("irq_handler_exit", "irq=5"), ""},
		"a thread that is freed twice": {goodPerf + perfLine("sched_process_free", "comm=a pid=1 prio=1") + perfLine("sched_process_free", "comm=a pid=1 prio=1"), ""},
		"a thread that makes itself":   {goodPerf + perfLine("sched_process_fork", "comm=a pid=1 child_comm=a child_pid=1"), ""},
		"a switch to itself":           {goodPerf + perfLine("sched_switch", "a:1 [1] R ==> a:1 [1]"), ""},
		"the idle loop forks":          {goodPerf + perfLine("sched_process_fork", "comm=a pid=0 child_comm=a child_pid=0"), ""},
		"the thread -1":                {goodLTTng + lttngLine("sched_switch", `prev_comm = "", prev_tid = -1, prev_prio = 0, prev_state = 64, next_comm = "", next_tid = -1, next_prio = 0`), ""},
	} {
		outcome, err := hostile(t, tc.text)
		got := fmt.Sprint("lost: ", outcome.Lost)
		for _, left := range outcome.LeftOut() {
			got += fmt.Sprintf("; %d %s", left.Count, left.What)
		}
		if err != nil || !strings.Contains(got, tc.want) || tc.want == "" && got != "lost: <nil>" {
			t.Errorf("%s: %s, %v, want %q", name, got, err, tc.want)
		}
	}
}

// TestImport_LongLines reads lines as long as they may be, of parts that begin over and over. A look at the rest of the
// line for each of them would take 12 s and more.
func TestImport_LongLines(t *testing.T) {
	const half = 40 << 10
	begin := time.Now()
	for _, part := range []string{"[", " [", "[1]", "[1] ", "[1] 1 ", "[1] 1: ", ":1 [", ":1 [ ==> ", " ==> ", " pid=", "prev_comm= ", " = ", "{ ", "\\", "\"", ", {", ": {", "( ", "0"} {
		for _, line := range []string{
			strings.Repeat(part, 6*half/len(part)),
			strings.TrimSuffix(perfLine("sched_switch", strings.Repeat(part, 6*half/len(part))), "\n"),
			strings.TrimSuffix(perfLine("sched_switch", "prev_comm="+strings.Repeat(part, 6*half/len(part))), "\n"),
			strings.TrimSuffix(lttngLine("sched_switch", "comm = \""+strings.Repeat(part, 6*half/len(part))), "\n"),
			strings.TrimSuffix(lttngLine("sched_switch", "comm = "+strings.Repeat(part, 6*half/len(part))), "\n"),
		} {
			for _, begin := range []string{goodPerf, goodLTTng} {
				if _, err := hostile(t, begin+line+"\n"); !errors.Is(err, ErrFormat) {
					t.Errorf("%.100q with %q: %v", line, part, err)
				}
			}
		}
	}
	if d := time.Since(begin); d > 6*time.Second {
		t.Errorf("long lines took %s", d)
	}
}

// numbered returns lines of n kinds of events, of which the first four are twice.
func numbered(n int) string {
	var b strings.Builder
	for i := range n + 4 {
		b.WriteString(perfLine(fmt.Sprintf("kind_%d", i%n), ""))
	}
	return b.String()
}

func hostile(t *testing.T, text string) (outcome trace.Outcome, err error) {
	t.Helper()
	_, err = trace.Build(func(to trace.Target) error {
		outcome, err = Options{}.Import(t.Context(), strings.NewReader(text), to)
		return err
	})
	return outcome, err
}

// TestImport_Ends ends with the errors of the reader and of the context.
func TestImport_Ends(t *testing.T) {
	broken := errors.New("broken")
	read := func(r io.Reader) error {
		_, err := trace.Build(func(to trace.Target) error {
			_, err := Options{}.Import(t.Context(), r, to)
			return err
		})
		return err
	}
	r := io.MultiReader(strings.NewReader(goodPerf), iotestErr{broken})
	if err := read(r); !errors.Is(err, broken) || !strings.Contains(err.Error(), "line 2") {
		t.Error(err)
	}
	if err := read(bytes.NewReader(bytes.Repeat([]byte("#\n"), 100))); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
}

type iotestErr struct{ err error }

func (r iotestErr) Read([]byte) (int, error) { return 0, r.err }
