// Package linux reads recordings of the Linux kernel as text, and makes of their events the states of threads, CPUs and
// interrupts. [Options.Import] takes
//
//	LTTng       the lines of babeltrace2, whose time is of the day, a date or seconds
//	perf        the lines of perf script and perf sched script, with the events of sched, irq, power and syscalls
//	ftrace      the trace file, trace-cmd report, and systrace with its column of processes
//
// in which sched_switch, sched_waking, sched_wakeup, sched_wakeup_new, sched_migrate_task, sched_process_fork,
// sched_process_free, irq_handler_entry and exit, softirq_raise, entry and exit, system calls, cpu_frequency and LTTng's
// dump of the threads at the begin are of states. Other events are counted as left out.
//
// One provider is behind all forms. It gives the attributes and states of the one of Trace Compass for the Linux kernel,
// version 31, so that views and scripts made for these fit:
//
//	Threads/TID                   state of a thread; Threads/0_CPU is the idle loop of a CPU, and Threads/-1
//	                              the thread of CPUs on which no switch was seen yet
//	Threads/TID/Exec_name         its name at its last switch or fork
//	Threads/TID/PPID              the thread that made it, or its process's parent in LTTng's dump
//	Threads/TID/PID               its process, unless it is the first thread of it; LTTng alone tells it
//	Threads/TID/System_call       the system call that it is in, by name, or by number where only that is recorded
//	Threads/TID/Prio              its priority, as the tracer counts
//	Threads/TID/Current_cpu_rq    the CPU on which it runs or waits to
//	CPUs/N                        state of a CPU
//	CPUs/N/Current_thread         the number of its thread, 0 if it is idle
//	CPUs/N/IRQs/NUMBER/NAME       N while the handler runs there; NUMBER/NAME is one name
//	CPUs/N/Soft_IRQs/NUMBER       state of a soft interrupt there
//	CPUs/N/Frequency              in Hz
//	IRQs/NUMBER/NAME              the CPU on which the handler began last; null once it ends on one
//	Soft_IRQs/NUMBER              the highest state on all CPUs
//
// The states have names, or with [Options.Numbers] the numbers of Trace Compass:
//
//	Threads     0 unknown               1 waiting (blocked)     2 running      3 running (system call)
//	            4 interrupted           5 waiting (CPU)         6 waiting
//	CPUs        0 idle                  2 running               4 running (system call)
//	            8 soft interrupt       16 interrupt
//	Soft_IRQs   1 raised                8 running               9 running, raised again
//
// Null is what is not there: a thread before its first event and from its end, and an interrupt that is not handled.
// docs/decisions/0054-linux-states.md says what is peculiar in them.
//
// # Invariants
//
//	L1  Of the events of LTTng in text the provider makes the intervals that Trace Compass makes of the recording itself:
//	    TestImport_Recorded has no difference, in names, order or times.
//	L2  An import reads a line at a time, of at most 256 KiB. Memory is bounded by that, by the states of the last
//	    transaction, and by the threads, CPUs and interrupts that the text names, each of which has attributes.
//	L3  Times never go back. An event that is earlier than the one before by at most 10 ms has its time; more is an error.
//	    Times of the day go on after midnight.
//	L4  No bytes panic. A line that is none of the form, and not empty, is an error with its number, except the last one of a text that
//	    is cut: what is before it is imported (trace.Outcome.Lost).
package linux
