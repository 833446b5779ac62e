// Package question parses queries for profiles: type ids, selectors, time ranges, and requests of
// querier.v1 as queries to package profile. It depends on no profiles and no store.
package question
