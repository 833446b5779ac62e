package columnstore

// A record's limits, as Table.Scan and HistoryScan document them.
const (
	recordRows  = 32 << 10
	recordBytes = 32 << 20
	pieceRows   = 4 << 10 // rows read at once: a record of many bytes ends with such a piece
)
