package linux

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/granarydb/granary/history"
)

// TestImport_Alike writes recorded events of LTTng in the other forms. Their states are alike.
func TestImport_Alike(t *testing.T) {
	for _, name := range recordings[:2] {
		var lttngText bytes.Buffer
		others := map[string]*bytes.Buffer{"perf": {}, "short": {}, "ftrace": {}}
		var p lttng
		var e event
		for line := range bytes.Lines(printed(t, name)) {
			if err := p.parse(bytes.TrimSuffix(line, []byte("\n")), &e); err != nil {
				t.Fatal(err)
			}
			if e.kind == kindOther || e.kind == kindProcess { // of no state, or not in the other forms
				continue
			}
			lttngText.Write(line)
			for form, text := range others {
				at, body := fmt.Sprintf("%d.%09d", e.at/1e9, e.at%1e9), printEvent(t, &e, form == "short")
				switch form {
				case "ftrace":
					fmt.Fprintf(text, "[%03d] d..2. %s: %s\n", e.cpu, at, body)
				default:
					fmt.Fprintf(text, " [%03d] %s: sys:%s\n", e.cpu, at, body)
				}
			}
		}
		want := imported(t, Options{}, lttngText.Bytes())
		for form, text := range others {
			got := imported(t, Options{}, text.Bytes())
			if got.Len() != want.Len() || got.Start() != want.Start() || got.End() != want.End() {
				t.Fatalf("%s as %s: %d attributes from %d to %d, want %d from %d to %d", name, form, got.Len(), got.Start(), got.End(), want.Len(), want.Start(), want.End())
			}
			for a := range history.Attribute(want.Len()) {
				if g, w := statesOf(t, got.View, a), statesOf(t, want.View, a); g != w {
					t.Fatalf("%s as %s: %s\nis   %.500s\nwant %.500s", name, form, pathOf(t, want.View, a), g, w)
				}
			}
		}
	}
}

// statesOf returns an attribute with all its intervals as text.
func statesOf(t *testing.T, v *history.View, a history.Attribute) string {
	text := []byte(pathOf(t, v, a))
	for in, err := range v.Range(a, v.Start(), v.End(), history.RangeOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		text = fmt.Appendf(text, " %d:%v", in.Start-v.Start(), in.Value)
	}
	return string(text)
}

// printEvent returns an event with its fields as the kernel prints them, or as perf and trace-cmd shorten them.
func printEvent(t *testing.T, e *event, short bool) string {
	switch e.kind {
	case kindSwitch:
		letter := map[status]string{waitsForCPU: "R+", blocked: "S", gone: "X"}[e.left]
		if short {
			return fmt.Sprintf("sched_switch: %s:%d [%d] %s ==> %s:%d [%d]", e.task.comm, e.task.tid, e.task.prio, letter, e.next.comm, e.next.tid, e.next.prio)
		}
		return fmt.Sprintf("sched_switch: prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s next_pid=%d next_prio=%d",
			e.task.comm, e.task.tid, e.task.prio, letter, e.next.comm, e.next.tid, e.next.prio)
	case kindWake:
		if short {
			return fmt.Sprintf("sched_wakeup: some name:%d [%d] success=1 CPU:%03d", e.task.tid, e.task.prio, e.target)
		}
		return fmt.Sprintf("sched_wakeup: comm=some name pid=%d prio=%d success=1 target_cpu=%03d", e.task.tid, e.task.prio, e.target)
	case kindMigrate:
		return fmt.Sprintf("sched_migrate_task: comm=x pid=%d prio=120 orig_cpu=7 dest_cpu=%d", e.task.tid, e.target)
	case kindFork:
		return fmt.Sprintf("sched_process_fork: comm=x pid=%d child_comm=%s child_pid=%d", e.task.tid, e.next.comm, e.next.tid)
	case kindFree:
		return fmt.Sprintf("sched_process_free: comm=x pid=%d prio=120", e.task.tid)
	case kindIRQEntry:
		return fmt.Sprintf("irq_handler_entry: irq=%d name=%s", e.number, e.name)
	case kindIRQExit:
		return fmt.Sprintf("irq_handler_exit: irq=%d ret=handled", e.number)
	case kindSoftIRQRaise, kindSoftIRQEntry, kindSoftIRQExit:
		what := map[kind]string{kindSoftIRQRaise: "raise", kindSoftIRQEntry: "entry", kindSoftIRQExit: "exit"}[e.kind]
		return fmt.Sprintf("softirq_%s: vec=%d [action=TIMER]", what, e.number)
	case kindSyscallEntry:
		return fmt.Sprintf("sys_enter_%s: fd: 0x3, buf: 0x7f", e.name)
	case kindSyscallExit:
		return "sys_exit: NR 0 = 0"
	}
	t.Fatalf("an event of the kind %d", e.kind)
	return ""
}
