// Package perfetto reads traces in the protobuf of Perfetto, as Chromium, Android and programs with Perfetto's library write
// it: track events, and Linux' scheduler.
//
//	Processes/chrome 7/Threads/main 7/1             slices of a thread: the outermost slice's name
//	Processes/chrome 7/Threads/main 7/2             the name of the slice within it, and so on
//	Processes/chrome 7/Threads/main 7/lane 2/1      a slice that overlaps another and is not within it
//	Processes/chrome 7/Threads/main 7/instants      instants, for one nanosecond
//	Processes/chrome 7/Threads/main 7/state         running, waiting (CPU), waiting (blocked), and so on
//	Processes/chrome 7/Tracks/NAME/1                another track of the process: its slices, or its state
//	Processes/chrome 7/Counters/NAME                a counter of the process: an int, or a float if it has fractions
//	Processes/chrome 7/Async/CATEGORY/1             asynchronous slices of Chromium before 2020, as package chrome has them
//	Tracks/NAME/1, Counters/NAME                    tracks and counters without a process
//	CPUs/0                                          the thread that runs, "main 7"; null if the CPU is idle
//
// Tracks and counters are below the track, thread or process that they name as their parent. Tracks with one name and parent
// are lanes of one. A process or thread is called by its name and its number. Package internal/tracks has the rules of
// levels, lanes and ends.
//
// # Invariants
//
//	P1  Times are those of the trace's clock, BOOTTIME if it names no other, by the clock snapshots before them: the
//	    latest one that is not later than the time in its clock. They become dates by the first snapshot that has the wall
//	    clock too, because later ones would bend time. Without such a snapshot they stay as they are.
//	P2  A name or a default holds for the packets of its sequence until the sequence clears its state. Packets that need a
//	    state which is lost are counted in the outcome, and so are events at clocks that no snapshot relates.
//	P3  A trace that breaks off is imported up to there, and Outcome.Lost says so. A packet that cannot be read is counted. Bytes
//	    without a single packet are ErrFormat. No bytes panic.
//	P4  What the history cannot have is counted in the outcome: flows, packets of other data sources, zstd packets. Arguments
//	    of events have no effect.
//	P5  Memory is one packet, the names of sequences, the readings of clocks, 32 bytes an event of the scheduler, and
//	    what package internal/tracks keeps: some 80 bytes a slice and 24 a value of a counter. Compressed packets may
//	    have 200 times their bytes and 16 MiB more, together.
package perfetto
