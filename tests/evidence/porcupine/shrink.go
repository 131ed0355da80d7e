package main

import (
	"math"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// check asks Porcupine about one history.
func check(model porcupine.Model, steps []Step, within time.Duration) porcupine.CheckResult {
	history := make([]porcupine.Operation, len(steps))
	for i, step := range steps {
		history[i] = porcupine.Operation{ClientId: i, Input: step, Call: step.call, Return: step.back}
	}
	return porcupine.CheckOperationsTimeout(model, history, within)
}

// smallest returns the shortest beginning of an illegal history that is illegal, without the reads that do not matter.
// Nothing else is left out: without an act that has enabled a later one, any history would be illegal.
func smallest(model porcupine.Model, steps []Step, within time.Duration) []Step {
	isIllegal := func(some []Step) bool { return check(model, some, within) == porcupine.Illegal }
	ends := make([]int64, 0, len(steps))
	for _, step := range steps {
		ends = append(ends, step.back)
	}
	sort.Slice(ends, func(a, b int) bool { return ends[a] < ends[b] })
	kept := steps
	for _, end := range ends {
		if some := until(steps, end); isIllegal(some) {
			kept = some
			break
		}
	}
	for i := len(kept) - 1; i >= 0; i-- {
		if kept[i].Kind != "read" && kept[i].Kind != "found" {
			continue
		}
		without := append(append([]Step{}, kept[:i]...), kept[i+1:]...)
		if isIllegal(without) {
			kept = without
		}
	}
	sort.SliceStable(kept, func(a, b int) bool { return kept[a].call < kept[b].call })
	return kept
}

// until returns the beginning of a history. What had not been answered by then may or may not have had its effect.
func until(steps []Step, end int64) []Step {
	var some []Step
	for _, step := range steps {
		switch {
		case step.call > end:
			continue
		case step.back > end && (step.Kind == "read" || step.Kind == "found" || step.Run > 0):
			continue
		case step.back > end:
			step.Sure = false
			step.back = math.MaxInt64
			step.Until = math.MaxFloat64
		}
		some = append(some, step)
	}
	return some
}
