package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU times in /proc, the same on every Linux.
const tick = 10 * time.Millisecond

// cpuTime is how long a process has kept CPUs busy, user and system.
func cpuTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStat(string(text))
}

// parseStat reads utime and stime, the 14th and 15th fields. The second, the
// program's name in brackets, may hold anything.
func parseStat(text string) (time.Duration, error) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("read the CPU time of a process: %d fields", len(fields))
	}
	var sum int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the CPU time of a process: %w", err)
		}
		sum += n
	}
	return time.Duration(sum) * tick, nil
}

// residentMiB is the memory that a process takes now.
func residentMiB(pid int) (float64, error) {
	kib, err := keyed(fmt.Sprintf("/proc/%d/status", pid), "VmRSS")
	return kib / 1024, err
}

// keyed reads a number from a file with lines "Key: number".
func keyed(file, key string) (float64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	value, ok := lineOf(string(text), key)
	if !ok {
		return 0, fmt.Errorf("%s has no %s", file, key)
	}
	number, _, _ := strings.Cut(value, " ")
	return strconv.ParseFloat(number, 64)
}

// lineOf returns what stands behind a key.
func lineOf(text, key string) (string, bool) {
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}

func loadAverage() float64 {
	text, _ := os.ReadFile("/proc/loadavg") // not there: 0
	first, _, _ := strings.Cut(string(text), " ")
	load, _ := strconv.ParseFloat(first, 64)
	return load
}

func machine() Machine {
	m := Machine{CPUs: runtime.GOMAXPROCS(0), OS: runtime.GOOS + "/" + runtime.GOARCH, LoadBefore: loadAverage()}
	kib, _ := keyed("/proc/meminfo", "MemTotal")
	m.MemoryMiB = int(kib / 1024)
	text, _ := os.ReadFile("/proc/cpuinfo")
	m.CPU, _ = lineOf(string(text), "model name")
	return m
}
