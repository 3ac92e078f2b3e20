// Package subject holds the programs that the benchmark measures. Each runs as
// a process of its own, started from the benchmark's binary, so that CPU and
// memory of the one are not those of the other.
//
// A subject reads commands from its standard input, a line each, and answers
// each with a line of JSON (Answer). It ends when its standard input does: so
// none outlives the benchmark.
package subject
