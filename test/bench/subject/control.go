package subject

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"strings"
)

// Commands.
const (
	// Look asks how far the subject is.
	Look = "look"
	// StartCPUProfile and WriteHeapProfile are followed by a file's name.
	StartCPUProfile  = "cpu"
	StopCPUProfile   = "endcpu"
	WriteHeapProfile = "heap"
)

// Answer is what a subject says to each command.
type Answer struct {
	// Runs is how often its handler ran.
	Runs int64 `json:"runs"`
	// Objects is how many objects it has dealt with, at least.
	Objects int64 `json:"objects"`
	// Calls is how many admission requests it has answered.
	Calls int64 `json:"calls"`
	// Error tells why a command could not be followed.
	Error string `json:"error,omitempty"`
}

// program is what runs until its context ends, and what it tells.
type program struct {
	start func(context.Context) error
	look  func() Answer
}

// serve runs a program and follows commands until in ends.
func serve(in io.Reader, out io.Writer, p program) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- p.start(ctx) }()
	commands := make(chan error, 1)
	go func() { commands <- follow(in, out, p.look) }()
	select {
	case err := <-ended:
		return fmt.Errorf("the subject has ended by itself: %w", errors.Join(err, errEnded))
	case err := <-commands:
		cancel()
		return errors.Join(err, <-ended)
	}
}

var errEnded = errors.New("it must run until it is told to stop")

func follow(in io.Reader, out io.Writer, look func() Answer) error {
	encoder := json.NewEncoder(out)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		verb, file, _ := strings.Cut(lines.Text(), " ")
		answer := look()
		if err := obey(verb, file); err != nil {
			answer.Error = err.Error()
		}
		if err := encoder.Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

func obey(verb, name string) error {
	switch verb {
	case Look:
		return nil
	case StopCPUProfile:
		pprof.StopCPUProfile()
		return nil
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	switch verb {
	case StartCPUProfile:
		return pprof.StartCPUProfile(file) // written to until the profile stops
	case WriteHeapProfile:
		return errors.Join(pprof.Lookup("allocs").WriteTo(file, 0), file.Close())
	}
	return fmt.Errorf("unknown command %q", verb)
}
