package columnstore

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
)

// The anomalies of isolation, each as a script that runs in every interleaving. Anomalies that snapshot
// isolation excludes must never happen. G2 must be possible, because nothing more is promised. G0 and P4
// cannot be written, because transactions only insert. (history_test.go covers anomalies between a table
// and a history.)

// transcript is the tasks' record of one run of a script.
type transcript struct {
	saw map[string][]string // by the reader's name: values of rows
	at  map[string][]uint64 // by the reader's name: commits of its snapshots
}

// script runs the tasks in every interleaving and calls check after each run.
func script(t *testing.T, bucket int64, tables int, rows []int, check func(t *testing.T, s *transcript), tasks ...func(h *simRun, s *transcript)) {
	t.Helper()
	var s *transcript
	sc := scope{bucket: bucket, tables: tables, rows: rows}
	for _, task := range tasks {
		sc.tasks = append(sc.tasks, func(h *simRun) {
			if s == nil {
				s = &transcript{map[string][]string{}, map[string][]uint64{}}
			}
			task(h, s)
		})
	}
	runs, err := sc.explore(func(*simRun) {
		check(t, s)
		s = nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d interleavings", runs)
}

// look reads one table of a snapshot and records it under a name. The oracle checks it too.
func (s *transcript) look(h *simRun, name string, snap *Snapshot, table int) {
	rows, err := aggregateSim(h.tables[table], snap)
	if err != nil {
		h.fail("%s: %v", name, err)
	}
	slices.Sort(rows)
	h.views = append(h.views, simView{uint64(snap.Commit()), table, math.MinInt64, rows, name})
	var times []string
	for _, row := range rows {
		at, _, _ := strings.Cut(row[strings.Index(row, "time=")+len("time="):], " ")
		times = append(times, at)
	}
	slices.Sort(times)
	s.saw[name] = append(s.saw[name], strings.Join(times, ","))
	s.at[name] = append(s.at[name], uint64(snap.Commit()))
}

// writes commits a transaction with a row at each time in at, each in its own insert.
func writes(table int, at ...int) func(*simRun, *transcript) {
	return func(h *simRun, _ *transcript) {
		tx := h.store.Begin()
		rows := make([][]string, len(h.tables))
		for _, t := range at {
			b, added := h.rowsAt(t)
			if err := tx.Insert(context.Background(), h.tables[table], b); err != nil {
				h.fail("insert: %v", err)
			}
			rows[table] = append(rows[table], added...)
		}
		id, err := tx.Commit()
		if err != nil {
			h.fail("commit: %v", err)
		}
		h.commits.Add(uint64(id), simCommit{rows: rows})
	}
}

// reader takes that many snapshots and reads each that many times.
func reader(name string, snapshots, looks int) func(*simRun, *transcript) {
	return func(h *simRun, s *transcript) {
		for range snapshots {
			h.snapshot(func(snap *Snapshot) {
				for range looks {
					s.look(h, name, snap, 0)
				}
			})
		}
	}
}

func rewriter(h *simRun, _ *transcript) { compacts(h) }

// only fails unless all results of a reader are among the allowed.
func only(name string, allowed ...string) func(*testing.T, *transcript) {
	return func(t *testing.T, s *transcript) {
		for _, saw := range s.saw[name] {
			if !slices.Contains(allowed, saw) {
				t.Errorf("%s saw the rows at %q, allowed is %q", name, saw, allowed)
			}
		}
	}
}

// same fails unless all looks of a reader agree.
func same(name string) func(*testing.T, *transcript) {
	return func(t *testing.T, s *transcript) {
		if saw := slices.Compact(slices.Clone(s.saw[name])); len(saw) > 1 {
			t.Errorf("%s saw %q in one snapshot", name, saw)
		}
	}
}

func TestAnomaly_G1a_AbortedRead(t *testing.T) {
	script(t, 0, 1, nil, only("r", ""),
		func(h *simRun, _ *transcript) { aborts(1, 2)(h) }, reader("r", 2, 1))
}

func TestAnomaly_G1b_IntermediateRead(t *testing.T) {
	script(t, 0, 1, nil, only("r", "", "1,2,3"), writes(0, 1, 2, 3), reader("r", 2, 1))
}

func TestAnomaly_G1c_CircularInformationFlow(t *testing.T) {
	lookThenWrite := func(name string, at int) func(*simRun, *transcript) {
		return func(h *simRun, s *transcript) {
			h.snapshot(func(snap *Snapshot) { s.look(h, name, snap, 0) })
			writes(0, at)(h, s)
		}
	}
	script(t, 0, 1, nil, func(t *testing.T, s *transcript) {
		if s.saw["one"][0] == "2" && s.saw["two"][0] == "1" {
			t.Error("each of two transactions saw the other")
		}
	}, lookThenWrite("one", 1), lookThenWrite("two", 2))
}

func TestAnomaly_OTV_ObservedTransactionVanishes(t *testing.T) {
	script(t, 0, 1, nil, func(t *testing.T, s *transcript) {
		saw := s.saw["r"]
		for i := 1; i < len(saw); i++ {
			for row := range strings.SplitSeq(saw[i-1], ",") {
				if !strings.Contains(saw[i], row) {
					t.Errorf("the row at %s vanished: %q", row, saw)
				}
			}
		}
	}, writes(0, 1), writes(0, 2), reader("r", 3, 1))
}

func TestAnomaly_PMP_PredicateManyPreceders(t *testing.T) {
	predicate := func(h *simRun, s *transcript) {
		h.snapshot(func(snap *Snapshot) {
			for range 2 {
				g, err := h.tables[0].Aggregate(context.Background(), snap, AggregateOptions{Where: AtLeast("time", 2)})
				if err != nil {
					h.fail("%v", err)
				}
				s.saw["r"] = append(s.saw["r"], strings.Repeat("x", len(g.Counts)))
			}
		})
	}
	script(t, 0, 1, times(1), same("r"), writes(0, 2), predicate)
}

func TestAnomaly_GSingle_ReadSkewOfTwoGranules(t *testing.T) {
	script(t, 10, 1, times(1, 11), only("r", "1,11", "1,11,12,2"), writes(0, 2, 12), reader("r", 1, 2))
}

func TestAnomaly_GSingle_ReadSkewOfTwoColumns(t *testing.T) {
	columns := func(h *simRun, s *transcript) {
		h.snapshot(func(snap *Snapshot) {
			for _, column := range []string{"time", "kind"} {
				rows := 0
				for _, err := range decodedRows(h.tables[0], snap, ScanOptions{Columns: []string{column}}) {
					if err != nil {
						h.fail("%v", err)
					}
					rows++
				}
				s.saw["r"] = append(s.saw["r"], strings.Repeat("x", rows))
			}
		})
	}
	script(t, 0, 1, times(1), same("r"), writes(0, 2, 3), columns, rewriter)
}

func TestAnomaly_GSingle_ReadSkewOfTwoTables(t *testing.T) {
	both := func(h *simRun, s *transcript) {
		h.snapshot(func(snap *Snapshot) {
			s.look(h, "r", snap, 0)
			s.look(h, "r", snap, 1)
		})
	}
	script(t, 0, 2, nil, same("r"), func(h *simRun, _ *transcript) { commitsBoth(1, 2)(h) }, both)
}

func TestAnomaly_FracturedReadDuringSplit(t *testing.T) {
	script(t, 0, 1, times(1, 5, 9), only("r", "1,5,9", "1,2,5,8,9"), writes(0, 2, 8), rewriter, reader("r", 1, 1))
}

func TestAnomaly_FracturedReadDuringCompaction(t *testing.T) {
	script(t, 10, 1, times(1, 11), only("r", "1,11", "1,11,12,2"), writes(0, 2, 12), rewriter, reader("r", 1, 1))
}

func TestAnomaly_NonMonotonicSnapshots(t *testing.T) {
	script(t, 0, 1, nil, func(t *testing.T, s *transcript) {
		if !slices.IsSorted(s.at["r"]) {
			t.Errorf("snapshots at commits %v, one after the other", s.at["r"])
		}
	}, writes(0, 1), writes(0, 2), reader("r", 3, 1))
}

func TestAnomaly_MissingOwnWrite(t *testing.T) {
	script(t, 0, 1, nil, only("w", "1", "1,2"), func(h *simRun, s *transcript) {
		writes(0, 1)(h, s)
		reader("w", 1, 1)(h, s)
	}, writes(0, 2), rewriter)
}

func TestAnomaly_PhantomWithinOneSnapshot(t *testing.T) {
	script(t, 10, 1, times(1), same("r"), writes(0, 2), writes(0, 12), reader("r", 1, 2))
}

// G0 (dirty write) and P4 (lost update) need a write that replaces another's:
// there is none, so the rows of both writers are there at the end.
func TestAnomaly_G0_P4_CannotBeWritten(t *testing.T) {
	script(t, 0, 1, nil, only("w", "1", "1,1"), func(h *simRun, s *transcript) {
		writes(0, 1)(h, s)
		reader("w", 1, 1)(h, s)
	}, func(h *simRun, s *transcript) {
		writes(0, 1)(h, s)
		reader("w", 1, 1)(h, s)
	}, rewriter)
}

// G2 (write skew) is allowed: two transactions can each miss the other.
func TestAnomaly_G2_IsAllowed(t *testing.T) {
	happened := 0
	lookThenWrite := func(name string, at int) func(*simRun, *transcript) {
		return func(h *simRun, s *transcript) {
			h.snapshot(func(snap *Snapshot) { s.look(h, name, snap, 0) })
			writes(0, at)(h, s)
		}
	}
	script(t, 0, 1, nil, func(_ *testing.T, s *transcript) {
		if s.saw["one"][0] == "" && s.saw["two"][0] == "" {
			happened++
		}
	}, lookThenWrite("one", 1), lookThenWrite("two", 2))
	if happened == 0 {
		t.Error("write skew never happened: the documents promise too little")
	}
}
