package parca

// CheckLocation is what Ingest asks of each location.
var CheckLocation = checkLocation
