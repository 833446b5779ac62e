// Command compare relates the figures of two commits, measured in turns on one machine.
//
//	go run ./compare -base 3c377a0 -workload fleet,queries,arrow,histories,durable -rounds 4
//
// It runs from the folder of the bench module, with GOWORK=off. The base is checked out as a git worktree
// in a temporary folder. The other side is the checkout in which it runs, or the commit of -head. A workload
// runs A B B A in each round, and each run of one side is related to the adjacent run of the other. Each
// pair is linked with a random order of functions of its own (-randlayout). A ratio is the checkout's cost
// divided by the base's: above 1 the checkout is slower or larger. For rates the ratio is inverted.
//
// A figure is marked if its median ratio is beyond 5 %, and the mark says whether all pairs agree on the
// side. Beside it stands the ratio of the best runs, which is steadier after enough rounds on a busy
// machine, because there medians of one program differ by more than a few percent. Both sides must have
// done the same work: figures such as the rows in an answer must be equal in all runs.
//
// The workloads have had the same keys in their reports since 3c377a0, durable since 522b748. A figure that only one commit
// has is listed apart, and so is a target that no workload measures.
package main
