// Package postgres is a store of intervals in PostgreSQL 15, on a server of its own.
//
// A server is started in a new directory, on a socket there, and removed when it is closed.
// The programs are those of Debian's package. PostgreSQL does not run as root: a server of root
// runs as the user postgres, or as nobody where there is none.
//
// Two layouts answer the same questions:
//
//	GiST     one column of type int8range; index (attribute, range) by GiST, with btree_gist
//	B-tree   columns start and end; primary key (attribute, start)
//
// # Tuning
//
// The manual's advice for bulk loads: one transaction makes the table and copies into it
// in the binary format, which pgx encodes, with wal_level minimal, so that nothing is logged;
// indexes are made afterwards; VACUUM (ANALYZE) follows. Rows are copied in the order of attribute and start.
// Memory holds the whole set (shared_buffers 1 GB, work_mem 256 MB, maintenance_work_mem
// 1 GB); fsync, jit, autovacuum and parallel workers are off. Questions
// are prepared when they are first asked, with generic plans, and answered in the binary format: whole rows of
// six columns. The server selects the rows at the times of a 2D question, with width_bucket.
//
// CPU time is that of the server's processes, from /proc; the client's is that of the caller's
// process. A server ends with a parent that is killed (on Linux). Nothing here is safe for
// concurrent use.
package postgres
