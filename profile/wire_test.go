package profile

// Field numbers of profile.proto, for tests that encode bytes by hand.
const (
	fieldSampleType = 1
	fieldSample     = 2
	fieldMapping    = 3
	fieldLocation   = 4
	fieldFunction   = 5
	fieldString     = 6
	fieldDropFrames = 7
	fieldKeepFrames = 8
	fieldTime       = 9
	fieldPeriodType = 11
	fieldComment    = 13
	fieldDocURL     = 15

	sampleStack  = 1
	sampleValues = 2

	wireVarint = 0
	wireBytes  = 2
)
