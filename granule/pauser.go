package granule

// pauser calls a function after every few thousand rows.
type pauser struct {
	pause func()
	rows  int // rows since the last call
}

const pauseEvery = 1 << 12 // rows; a larger series or column takes up to milliseconds

// did counts processed rows.
func (p *pauser) did(rows int) {
	if p.rows += rows; p.rows >= pauseEvery && p.pause != nil {
		p.rows = 0
		p.pause()
	}
}
