package postgres

import "syscall"

// withParent ends a server whose parent is killed, by a fast shutdown. Its folder stays.
func withParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGINT }
