package main

import "github.com/anishathalye/porcupine"

// noTask and someTask are what a key may have beside the id of its task: none, or one whose id was not told.
const (
	noTask   = ""
	someTask = "?"
)

// keyModel: a submission under a key is a compare-and-set. The first one makes the task, all others get the same.
func keyModel(isOffered bool) porcupine.Model {
	step := func(state, input, _ interface{}) (bool, interface{}) {
		has, step := state.(string), input.(Step)
		switch step.Kind {
		case "submit":
			return afterSubmission(has, step)
		case "read":
			if step.State == "none" {
				return has == noTask, has
			}
			return step.Task == "" || has == step.Task || has == someTask, pick(step.Task, has)
		case "found": // the store has a task under the key: one that was submitted, if submissions were recorded
			return has == step.Task || has == someTask || (has == noTask && !isOffered), step.Task
		}
		return false, has
	}
	return porcupine.Model{Init: func() interface{} { return noTask }, Step: step}
}

func afterSubmission(has string, step Step) (bool, interface{}) {
	if !step.Sure { // one that comes to nothing is the same as one that comes last
		return true, pick(has, someTask)
	}
	return has == noTask || has == someTask || has == step.Task, step.Task
}

func pick(first, second string) string {
	if first != "" {
		return first
	}
	return second
}
