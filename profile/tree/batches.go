package tree

import (
	"context"
	"iter"
	"sync"
)

// batch has stacks in an answer. Stack i has the frames from ends[i-1] to ends[i], leaf first.
type batch struct {
	numbers []uint32
	ends    []int
	shared  []int // by stack: number of omitted frames at the root, which equal the previous stack's
	values  []int64
	seen    []seenFrame // frames with the next numbers
}

// seenFrame is a frame, with the number of its function in the stacks.
type seenFrame struct {
	Frame
	function uint32
}

// A batch has about batchFrames frames. An answer with fewer than fewStacks stacks is read where it is used.
const (
	batchFrames = 8192
	fewStacks   = 2000
)

// frames returns the frames of stack i, leaf first, without the shared frames.
func (b *batch) frames(i int) []uint32 {
	from := 0
	if i > 0 {
		from = b.ends[i-1]
	}
	return b.numbers[from:b.ends[i]]
}

// batches yields an answer's stacks. If ownOnly is true, it omits the frames that a stack shares with the
// previous stack. A goroutine decodes locations while the loop works on the previous batch. The
// goroutine has ended when the loop ends. A batch is valid until the next one is yielded. The loop ends early when ctx is
// done.
func batches(ctx context.Context, stacks StackList, ownOnly bool) iter.Seq[*batch] {
	return func(yield func(*batch) bool) {
		if stacks.Len() < fewStacks {
			read(ctx, stacks, ownOnly, func() *batch { return &batch{} }, yield)
			return
		}
		ready, used, stop := make(chan *batch, 2), make(chan *batch, 4), make(chan struct{})
		var reader sync.WaitGroup
		var failed any // a panic of the reader, which the loop repeats
		reader.Go(func() {
			defer close(ready)
			defer func() { failed = recover() }()
			next := func() *batch {
				select {
				case b := <-used:
					b.numbers, b.ends, b.shared, b.values, b.seen = b.numbers[:0], b.ends[:0], b.shared[:0], b.values[:0], b.seen[:0]
					return b
				default:
					return &batch{}
				}
			}
			read(ctx, stacks, ownOnly, next, func(b *batch) bool {
				select {
				case ready <- b:
					return true
				case <-stop:
					return false
				}
			})
		})
		defer func() {
			close(stop)
			if reader.Wait(); failed != nil {
				panic(failed)
			}
		}()
		for b := range ready {
			if !yield(b) {
				return
			}
			used <- b // used has room for all batches: the current one, one for each place of ready, and the one in progress
		}
	}
}

// read fills batches until done returns false, or ctx is done.
func read(ctx context.Context, stacks StackList, ownOnly bool, next func() *batch, done func(*batch) bool) {
	b := next()
	see := func(f Frame, function uint32) { b.seen = append(b.seen, seenFrame{f, function}) }
	more := true
	stacks.Numbered(ctx, see, func(frames []uint32, shared int, value int64) bool {
		if !ownOnly {
			shared = 0
		}
		b.numbers = append(b.numbers, frames[:len(frames)-shared]...)
		b.ends, b.shared, b.values = append(b.ends, len(b.numbers)), append(b.shared, shared), append(b.values, value)
		if len(b.numbers) >= batchFrames || len(b.ends) >= batchFrames {
			if more = done(b); more {
				b = next()
			}
		}
		return more
	})
	if more && len(b.ends) > 0 {
		done(b)
	}
}
