//go:build unix

package serve

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// netOp is a kind of call of a listener or of its connections.
type netOp int

const (
	opAccept netOp = iota
	opRead
	opWrite
	opClose
	opDeadline
	netOps
)

func (o netOp) String() string {
	return [...]string{"accept", "read", "write", "close", "set deadline"}[o]
}

// netFault is what the call does that fails. A kind of call without a fault does what it would.
type netFault struct {
	name     string
	accept   error // no connection is taken; the next call takes it
	read     error // the connection is reset, and nothing is read
	short    bool  // one byte is read instead
	write    error // the connection is reset after a part of the bytes was sent
	sent     int   // the part, in halves
	close    error // the connection is closed nevertheless
	deadline error // none is set
}

// errDevice is an error of accept that does not pass.
var errDevice = errors.New("the network is gone")

// netFaults are those of a suite: each call of a workload gets each of them.
var netFaults = []netFault{
	{name: "no files", accept: syscall.EMFILE, read: syscall.ECONNRESET, write: syscall.ECONNRESET, close: syscall.EIO, deadline: os.ErrNoDeadline},
	{name: "aborted", accept: syscall.ECONNABORTED, read: io.EOF, write: syscall.EPIPE, sent: 1, close: syscall.ENOTCONN, deadline: syscall.EINVAL},
	{name: "gone", accept: errDevice, read: syscall.ETIMEDOUT, write: syscall.ECONNRESET, sent: 2, close: io.ErrClosedPipe, deadline: net.ErrClosed},
	{name: "short", accept: syscall.ENFILE, short: true, write: io.ErrShortWrite, sent: 1, close: os.ErrDeadlineExceeded, deadline: syscall.ENOTSUP},
}

// faultyNet is a listener one of whose calls fails, or one of those of its connections. It is safe for concurrent use.
type faultyNet struct {
	net.Listener
	fault netFault
	op    netOp // the kind of the call that fails
	at    int   // its number among those of its kind, from 1; 0 for none

	mu    sync.Mutex
	calls [netOps]int
	open  map[net.Conn]bool
}

// call counts a call, and reports whether it is the one that fails.
func (f *faultyNet) call(op netOp) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[op]++
	return op == f.op && (f.calls[op] == f.at || f.isDead())
}

// isDead reports whether the listener takes no more connections. The caller holds mu.
func (f *faultyNet) isDead() bool {
	return f.op == opAccept && f.at > 0 && f.calls[opAccept] >= f.at && errors.Is(f.fault.accept, errDevice)
}

// outcome returns the numbers of calls, whether the listener takes no more connections, and the number of connections that are not closed.
func (f *faultyNet) outcome() (calls [netOps]int, isDead bool, open int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls, f.isDead(), len(f.open)
}

// Accept implements net.Listener.
func (f *faultyNet) Accept() (net.Conn, error) {
	if f.call(opAccept) {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: f.Addr(), Err: f.fault.accept}
	}
	conn, err := f.Listener.Accept()
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &faultyConn{Conn: conn, of: f}
	f.open[c] = true
	return c, nil
}

// faultyConn is a connection of a faultyNet.
type faultyConn struct {
	net.Conn
	of *faultyNet
}

// reset ends the connection as a client does that has crashed, or a router that forgot it.
func (c *faultyConn) reset() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Conn.Close()
}

// Read implements net.Conn.
func (c *faultyConn) Read(b []byte) (int, error) {
	if !c.of.call(opRead) {
		return c.Conn.Read(b)
	}
	if c.of.fault.short {
		return c.Conn.Read(b[:min(1, len(b))])
	}
	c.reset()
	return 0, &net.OpError{Op: "read", Net: "tcp", Err: c.of.fault.read}
}

// Write implements net.Conn.
func (c *faultyConn) Write(b []byte) (int, error) {
	if !c.of.call(opWrite) {
		return c.Conn.Write(b)
	}
	n, err := c.Conn.Write(b[:len(b)*c.of.fault.sent/2])
	if err == nil {
		if c.of.fault.sent == 2 { // so that the client gets all of it before the end of the connection
			time.Sleep(time.Millisecond)
		}
		err = &net.OpError{Op: "write", Net: "tcp", Err: c.of.fault.write}
	}
	c.reset()
	return n, err
}

// Close implements net.Conn.
func (c *faultyConn) Close() error {
	fails := c.of.call(opClose)
	err := c.Conn.Close()
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	delete(c.of.open, c)
	if fails {
		return &net.OpError{Op: "close", Net: "tcp", Err: c.of.fault.close}
	}
	return err
}

// deadline does a call that sets a deadline.
func (c *faultyConn) deadline(set func(time.Time) error, at time.Time) error {
	if c.of.call(opDeadline) {
		return &net.OpError{Op: "set", Net: "tcp", Err: c.of.fault.deadline}
	}
	return set(at)
}

// SetDeadline implements net.Conn.
func (c *faultyConn) SetDeadline(at time.Time) error { return c.deadline(c.Conn.SetDeadline, at) }

// SetReadDeadline implements net.Conn.
func (c *faultyConn) SetReadDeadline(at time.Time) error {
	return c.deadline(c.Conn.SetReadDeadline, at)
}

// SetWriteDeadline implements net.Conn.
func (c *faultyConn) SetWriteDeadline(at time.Time) error {
	return c.deadline(c.Conn.SetWriteDeadline, at)
}

// String names the fault.
func (f *faultyNet) String() string {
	return fmt.Sprintf("%s at %s %d", f.fault.name, f.op, f.at)
}
