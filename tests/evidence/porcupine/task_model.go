package main

import (
	"strings"

	"github.com/anishathalye/porcupine"
)

// The statuses of the model. Idle is all that waits: PENDING and QUEUED differ by the clock only.
const (
	absent    = "absent"
	idle      = "idle"
	running   = "running"
	completed = "completed"
	failed    = "failed"
	cancelled = "cancelled"
	skipped   = "skipped"
)

// shown is the status of the model for each status that the API or the store tells.
var shown = map[string]string{
	"NONE": absent, "PENDING": idle, "QUEUED": idle, "BLOCKED": idle, "PROCESSING": running, "RUNNING": running,
	"COMPLETED": completed, "FAILED": failed, "DEAD": failed, "CANCELLED": cancelled, "SKIPPED": skipped,
}

// taskState is what the model knows of a task: its status, and how far the attempt that holds the lease has come.
type taskState struct {
	status string
	// asked: somebody has asked for its cancellation while it ran
	asked bool
	// run is the execution of the current lease, 0 before it begins; result is "", "end" or "error".
	run    int
	result string
}

// taskModel: the states that clients see follow the table of transitions; steps between them that no client sees
// (claim, retry, release, the end of a lease) may come at any time.
func taskModel(about facts) porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []interface{} { return []interface{}{taskState{status: absent}} },
		Step: func(state, input, _ interface{}) []interface{} {
			var after []interface{}
			seen := map[taskState]bool{}
			for _, before := range reachable(state.(taskState), about) {
				for _, next := range take(before, input.(Step)) {
					if !seen[next] {
						seen[next] = true
						after = append(after, next)
					}
				}
			}
			return after
		},
	}
	return model.ToModel()
}

// reachable returns a state and all those that steps inside the system lead to.
func reachable(from taskState, about facts) []taskState {
	found := []taskState{from}
	seen := map[taskState]bool{from: true}
	for next := 0; next < len(found); next++ {
		for _, state := range inside(found[next], about) {
			if !seen[state] {
				seen[state] = true
				found = append(found, state)
			}
		}
	}
	return found
}

// inside returns what the system may do by itself in a state.
func inside(state taskState, about facts) []taskState {
	switch state.status {
	case idle:
		next := []taskState{{status: running}}
		if about.job != "" || !about.hasEnding {
			next = append(next, taskState{status: skipped})
		}
		if about.mayExpire {
			next = append(next, taskState{status: cancelled})
		}
		return next
	case running:
		return settled(state, about)
	}
	return nil
}

// settled returns how a lease may end: by a report, or, if a fault explains it, because its worker is taken for dead.
func settled(state taskState, about facts) []taskState {
	var next []taskState
	isOpen := state.run != 0 && state.result == "" // it runs, as far as its process can tell
	switch {
	case state.asked:
		next = append(next, taskState{status: cancelled})
	case !isOpen || about.isFaulty || about.unnoted > 0:
		next = append(next, taskState{status: idle})
	}
	if state.result == "end" || !about.isRecorded {
		next = append(next, taskState{status: completed})
	}
	if state.result != "end" || about.isFaulty || !about.isRecorded {
		next = append(next, taskState{status: failed})
	}
	return next
}

// take returns the states after an operation; none if it cannot have happened in this state.
func take(state taskState, step Step) []taskState {
	switch step.Kind {
	case "created", "submit":
		return submitted(state, step)
	case "read":
		if shown[strings.ToUpper(step.State)] == state.status {
			return []taskState{state}
		}
		return nil
	case "cancel":
		return perhaps(state, step, cancelOf(state, step.Force))
	case "retry":
		return perhaps(state, step, retryOf(state))
	}
	return executed(state, step)
}

// perhaps adds that an operation without an answer did nothing.
func perhaps(state taskState, step Step, after []taskState) []taskState {
	if step.Sure {
		return after
	}
	return append(after, state)
}

func submitted(state taskState, step Step) []taskState {
	if state.status == absent {
		return perhaps(state, step, []taskState{{status: idle}})
	}
	if step.Key != "" || !step.Sure { // the same key again; or what came to nothing
		return []taskState{state}
	}
	return nil
}

func cancelOf(state taskState, force bool) []taskState {
	switch state.status {
	case idle, cancelled:
		return []taskState{{status: cancelled}}
	case running:
		if force {
			return []taskState{{status: cancelled}}
		}
		state.asked = true
		return []taskState{state}
	}
	return nil
}

func retryOf(state taskState) []taskState {
	switch state.status {
	case failed, cancelled, skipped:
		return []taskState{{status: idle}}
	}
	return nil
}

// executed: an execution begins under the current lease, or, if a fault explains it, under one that is lost already.
func executed(state taskState, step Step) []taskState {
	if state.status == absent {
		return nil
	}
	if step.Kind != "begin" {
		if state.status == running && state.run == step.Run {
			state.result = step.Kind
		}
		return []taskState{state}
	}
	var after []taskState
	if state.status == running && state.run == 0 {
		begun := state
		begun.run = step.Run
		after = append(after, begun)
	}
	if step.Late {
		after = append(after, state)
	}
	return after
}
