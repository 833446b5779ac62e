// Package question reads questions about profiles: ids of types, selectors, ranges of time, and requests of querier.v1
// as questions to package profile. It knows no profiles and no store.
package question
