package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sort"
)

// Line is any line of a trace (tests/evidence/trace.py); fields that its kind has not are empty.
type Line struct {
	Line   string                 `json:"line"`
	At     float64                `json:"at"`
	Op     int                    `json:"op"`
	Client string                 `json:"client"`
	What   string                 `json:"what"`
	Phase  string                 `json:"phase"`
	Task   string                 `json:"task"`
	Key    string                 `json:"key"`
	State  string                 `json:"state"`
	Detail map[string]interface{} `json:"detail"`

	Moment  string `json:"moment"`
	Worker  string `json:"worker"`
	Attempt int    `json:"attempt"`
	Pid     int    `json:"pid"`
	Epoch   int    `json:"epoch"`

	Job      string   `json:"job"`
	Attempts []string `json:"attempts"`

	Kind   string `json:"kind"`
	Target string `json:"target"`
	// Until: when a fault was over; 0 for one that was over at once
	Until float64 `json:"until"`
}

// readTrace returns the lines in the order of their times; lines of one time keep the order of the file.
func readTrace(from io.Reader) ([]Line, error) {
	scanner := bufio.NewScanner(from)
	scanner.Buffer(make([]byte, 1<<20), 1<<28)
	var lines []Line
	for number := 1; scanner.Scan(); number++ {
		if len(scanner.Bytes()) == 0 {
			continue
		}
		line := Line{Attempt: 1}
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		lines = append(lines, line)
	}
	sort.SliceStable(lines, func(a, b int) bool { return lines[a].At < lines[b].At })
	return lines, scanner.Err()
}

// says tells whether the detail of a line has a name with the value true.
func (line Line) says(name string) bool {
	value, is := line.Detail[name].(bool)
	return is && value
}

// text returns a text of the detail of a line, or nothing.
func (line Line) text(name string) string {
	value, _ := line.Detail[name].(string)
	return value
}

// tasks returns the ids that the detail of a line lists, with or without names.
func (line Line) tasks() []string {
	var ids []string
	switch listed := line.Detail["tasks"].(type) {
	case []interface{}:
		for _, id := range listed {
			if text, is := id.(string); is {
				ids = append(ids, text)
			}
		}
	case map[string]interface{}:
		for _, id := range listed {
			if text, is := id.(string); is {
				ids = append(ids, text)
			}
		}
	}
	sort.Strings(ids)
	return ids
}
