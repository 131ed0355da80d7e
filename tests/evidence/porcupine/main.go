// Judges a trace of the system (tests/evidence/trace.py) for linearizability, with Porcupine.
//
//	linearizable [-slack SECONDS] [-stale SECONDS] [-expires] [-within DURATION] < trace
//
// It prints one JSON object. The exit status is 0 if every history is linearizable, 1 if one is not, 3 if one was not
// decided in time, and 2 if the trace cannot be read.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
)

// Violation is a history that no order of its operations explains.
type Violation struct {
	Partition string `json:"partition"`
	History   []Step `json:"history"`
}

// Verdict is the answer.
type Verdict struct {
	Verdict    string         `json:"verdict"`
	Partitions int            `json:"partitions"`
	Operations int            `json:"operations"`
	Ignored    map[string]int `json:"ignored"`
	Illegal    []Violation    `json:"illegal"`
	Undecided  []string       `json:"undecided"`
}

const told = 20 // illegal histories that are told in full

func main() {
	slack := flag.Float64("slack", 0, "seconds by which the clocks of executions may differ from that of the witness")
	stale := flag.Float64("stale", 0, "seconds by which a read may be old")
	expires := flag.Bool("expires", false, "each task may be cancelled by the clock; else those whose submission says so")
	within := flag.Duration("within", 20*time.Second, "time that one history may take")
	flag.Parse()
	lines, err := readTrace(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	verdict := judge(lines, *slack, *stale, *expires, *within)
	if err := json.NewEncoder(os.Stdout).Encode(verdict); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(map[string]int{"linearizable": 0, "illegal": 1, "undecided": 3}[verdict.Verdict])
}

func judge(lines []Line, slack, stale float64, expires bool, within time.Duration) Verdict {
	partitions, ignored := partitionsOf(lines, slack, stale, expires)
	verdict := Verdict{
		Verdict: "linearizable", Partitions: len(partitions), Ignored: ignored, Illegal: []Violation{}, Undecided: []string{},
	}
	for _, partition := range partitions {
		verdict.Operations += len(partition.Steps)
		switch check(partition.model, partition.Steps, within) {
		case porcupine.Illegal:
			violation := Violation{Partition: partition.Name}
			if len(verdict.Illegal) < told {
				violation.History = printable(smallest(partition.model, partition.Steps, within))
			}
			verdict.Illegal = append(verdict.Illegal, violation)
		case porcupine.Unknown:
			verdict.Undecided = append(verdict.Undecided, partition.Name)
		}
	}
	switch {
	case len(verdict.Illegal) > 0:
		verdict.Verdict = "illegal"
	case len(verdict.Undecided) > 0:
		verdict.Verdict = "undecided"
	}
	return verdict
}

// printable returns steps whose open ends are -1.
func printable(steps []Step) []Step {
	for i := range steps {
		if steps[i].Until == math.MaxFloat64 {
			steps[i].Until = -1
		}
	}
	return steps
}
