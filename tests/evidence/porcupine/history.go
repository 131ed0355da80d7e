package main

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/anishathalye/porcupine"
)

// Step is one operation of a history, as the models take it.
type Step struct {
	Kind string `json:"kind"`
	// Sure: the answer was received. What is not sure may take effect at any time after its begin, or never.
	Sure  bool   `json:"sure"`
	Task  string `json:"task,omitempty"`
	Key   string `json:"key,omitempty"`
	State string `json:"state,omitempty"`
	Run   int    `json:"run,omitempty"`
	Force bool   `json:"force,omitempty"`
	// Late: a fault came before that explains an execution under a lease which was already lost.
	Late   bool    `json:"late,omitempty"`
	Client string  `json:"client,omitempty"`
	From   float64 `json:"from"`
	Until  float64 `json:"until"`

	call, back int64
}

// Partition is a history that can be judged alone.
type Partition struct {
	Name  string
	Steps []Step
	model porcupine.Model
}

// facts is what the whole trace says of one task.
type facts struct {
	job         string
	hasEnding   bool
	mayExpire   bool
	isRecorded  bool
	isFaulty    bool
	isSubmitted bool
	// unnoted: attempts that ended by themselves (a timeout, a release) without a line of their execution
	unnoted int
}

// operation is an operation of a client from its first line to its last.
type operation struct {
	Line
	call, back   int64
	from, until  float64
	sure, failed bool
}

// builder makes partitions of a trace.
type builder struct {
	lines []Line
	slack float64
	stale float64
	// mayExpire: each task may be cancelled by the clock
	mayExpire bool
	never     int64
	ops       []*operation
	ignored   map[string]int
	tasks     map[string][]Step
	keys      map[string][]Step
	about     map[string]*facts
	// tasksOf: the tasks that a key is known to have
	tasksOf map[string]map[string]bool
	workers map[string]bool
	faults  []Line
	hasRuns bool
	offered map[string]bool
}

func partitionsOf(lines []Line, slack, stale float64, mayExpire bool) ([]Partition, map[string]int) {
	made := &builder{
		lines: lines, slack: slack, stale: stale, mayExpire: mayExpire, never: int64(2*len(lines) + 2),
		ignored: map[string]int{}, tasks: map[string][]Step{}, keys: map[string][]Step{}, about: map[string]*facts{},
		tasksOf: map[string]map[string]bool{}, workers: map[string]bool{}, offered: map[string]bool{},
	}
	made.pair()
	made.learn()
	made.addOperations()
	made.addRuns()
	made.addEndings()
	made.addCreations()
	return made.partitions(), made.ignored
}

// pair joins the first and the last line of each operation; one without a last line is unknown.
func (b *builder) pair() {
	open := map[int]*operation{}
	for place, line := range b.lines {
		if line.Line != "op" {
			continue
		}
		if line.Phase == "invoke" {
			op := &operation{Line: line, call: int64(2 * place), back: b.never, from: line.At, until: math.MaxFloat64}
			open[line.Op] = op
			b.ops = append(b.ops, op)
			continue
		}
		op := open[line.Op]
		if op == nil {
			op = &operation{Line: line, call: int64(2 * place), from: line.At}
			b.ops = append(b.ops, op)
		}
		b.finish(op, line, place)
		delete(open, line.Op)
	}
}

func (b *builder) finish(op *operation, line Line, place int) {
	op.sure, op.failed = line.Phase == "ok", line.Phase == "fail"
	op.back, op.until = b.never, math.MaxFloat64
	if op.sure || op.failed {
		op.back, op.until = int64(2*place), line.At
	}
	for _, field := range []struct{ to, from *string }{
		{&op.Task, &line.Task}, {&op.Key, &line.Key}, {&op.State, &line.State},
	} {
		if *field.from != "" {
			*field.to = *field.from
		}
	}
	if op.Detail == nil {
		op.Detail = map[string]interface{}{}
	}
	for name, value := range line.Detail {
		op.Detail[name] = value
	}
}

// learn collects what is said once and holds for the whole history of a task.
func (b *builder) learn() {
	for _, line := range b.lines {
		switch line.Line {
		case "run":
			b.hasRuns = true
			b.workers[line.Worker] = true
			if about := b.fact(line.Task); line.Moment == "error" || line.Moment == "stopped" {
				about.unnoted--
			}
		case "fault":
			b.faults = append(b.faults, line)
		case "final":
			about := b.fact(line.Task)
			about.hasEnding, about.job = true, line.Job
			for _, outcome := range line.Attempts {
				if outcome == "retried" || outcome == "snoozed" || outcome == "released" {
					about.unnoted++
				}
			}
			b.know(line.Key, line.Task)
		}
	}
	for _, op := range b.ops {
		if !isSubmission(op.What) {
			continue
		}
		if op.Key != "" {
			b.offered[op.Key] = true
		}
		for _, task := range op.made() {
			b.know(op.Key, task)
			about := b.fact(task)
			about.mayExpire = about.mayExpire || b.mayExpire || op.says("expires")
			about.isRecorded = about.isRecorded && !op.says("unrecorded")
		}
	}
}

func (b *builder) fact(task string) *facts {
	if b.about[task] == nil {
		b.about[task] = &facts{isRecorded: b.hasRunLines()}
	}
	return b.about[task]
}

func (b *builder) hasRunLines() bool {
	if b.hasRuns {
		return true
	}
	for _, line := range b.lines {
		if line.Line == "run" {
			b.hasRuns = true
			return true
		}
	}
	return false
}

func (b *builder) know(key, task string) {
	if key == "" {
		return
	}
	if b.tasksOf[key] == nil {
		b.tasksOf[key] = map[string]bool{}
	}
	b.tasksOf[key][task] = true
}

// isSubmission tells whether an operation makes tasks: one, a batch of them, or a job.
func isSubmission(what string) bool {
	return strings.HasPrefix(what, "submit") || what == "job" || what == "batch"
}

// made returns the tasks that an acknowledged submission has made: its own, or those that its detail lists.
func (op *operation) made() []string {
	if !op.sure {
		return nil
	}
	tasks := op.tasks()
	if len(tasks) == 0 && op.Task != "" {
		tasks = []string{op.Task}
	}
	return tasks
}

func (b *builder) addOperations() {
	for _, op := range b.ops {
		switch {
		case op.failed:
			continue // it has had no effect, and what it has seen is not known
		case isSubmission(op.What):
			b.addSubmission(op)
		case op.What == "read" && !op.sure:
			continue
		case op.What == "read" && op.Task == "" && op.Key != "":
			b.keys[op.Key] = append(b.keys[op.Key], b.step(op, "read"))
		case op.What == "read":
			b.addRead(op)
		case op.What == "cancel" || op.What == "retry":
			b.addAct(op, op.What)
		case op.What == "bulk":
			b.addBulk(op)
		case actOf(op.What) != "":
			b.addMany(op, actOf(op.What))
		default:
			b.ignored[op.What]++
		}
	}
}

// actOf returns what an operation on a job or on many tasks may do to one of them.
func actOf(what string) string {
	switch what {
	case "cancel_job", "bulk_cancel", "cancel_many":
		return "cancel"
	case "retry_job", "resume_job", "bulk_retry", "retry_many":
		return "retry"
	}
	return ""
}

func (b *builder) step(op *operation, kind string) Step {
	return Step{
		Kind: kind, Sure: op.sure, Task: op.Task, Key: op.Key, State: op.State, Force: op.says("force"), Client: op.Client,
		From: op.from, Until: op.until, call: op.call, back: op.back,
	}
}

func (b *builder) addSubmission(op *operation) {
	step := b.step(op, "submit")
	if step.Task == "" {
		step.Task = op.text("job")
	}
	if op.Key != "" && (step.Task != "" || !op.sure) {
		b.keys[op.Key] = append(b.keys[op.Key], step)
	}
	if op.sure {
		for _, task := range op.made() {
			b.fact(task).isSubmitted = true
			b.tasks[task] = append(b.tasks[task], step)
		}
		return
	}
	for task := range b.tasksOf[op.Key] { // it may be what has made the task
		b.fact(task).isSubmitted = true
		b.tasks[task] = append(b.tasks[task], step)
	}
}

func (b *builder) addRead(op *operation) {
	step := b.step(op, "read")
	if b.stale > 0 {
		step.From -= b.stale
		step.call = b.firstAt(step.From)
	}
	b.fact(op.Task)
	b.tasks[op.Task] = append(b.tasks[op.Task], step)
}

// addAct adds an act on one task; in a job the tasks that wait for it may follow.
func (b *builder) addAct(op *operation, act string) {
	about := b.about[op.Task]
	if about == nil { // a job, or a task of which nothing else is known
		about = b.fact(op.Task)
	}
	if b.isJob(op.Task) {
		b.addMany(op, act)
		return
	}
	b.tasks[op.Task] = append(b.tasks[op.Task], b.step(op, act))
	if about.job == "" {
		return
	}
	for task, other := range b.about {
		if task != op.Task && other.job == about.job {
			b.addPossible(op, task, act)
		}
	}
}

func (b *builder) isJob(id string) bool {
	for _, about := range b.about {
		if id != "" && about.job == id {
			return true
		}
	}
	return false
}

// addMany adds an act to each task that it may concern: those it names, those of its job, or all.
func (b *builder) addMany(op *operation, act string) {
	named := map[string]bool{}
	for _, task := range op.tasks() {
		named[task] = true
	}
	job := op.Task
	if job == "" {
		job = op.text("job")
	}
	for task, about := range b.about {
		if named[task] || (len(named) == 0 && (job == "" || about.job == job)) {
			b.addPossible(op, task, act)
		}
	}
}

// addBulk adds what an operation on many tasks may do; one that does not say it may cancel and retry.
func (b *builder) addBulk(op *operation) {
	for _, act := range []string{"cancel", "retry"} {
		if said := op.text("act"); said == "" || said == act {
			b.addMany(op, act)
		}
	}
}

func (b *builder) addPossible(op *operation, task, act string) {
	step := b.step(op, act)
	step.Sure, step.Task = false, task
	step.back, step.Until = b.never, math.MaxFloat64 // it may be carried out after the answer
	b.tasks[task] = append(b.tasks[task], step)
}

// addRuns adds the begins and ends of executions; an end belongs to the last open begin of the same process.
func (b *builder) addRuns() {
	open := map[string][]int{}
	count := 0
	for place, line := range b.lines {
		if line.Line != "run" {
			continue
		}
		name := fmt.Sprintf("%s %s %d %d %d", line.Task, line.Worker, line.Pid, line.Attempt, line.Epoch)
		run := 0
		if line.Moment == "begin" {
			count++
			run = count
			open[name] = append(open[name], run)
		} else if begun := open[name]; len(begun) > 0 {
			run = begun[len(begun)-1]
			open[name] = begun[:len(begun)-1]
		}
		about := b.fact(line.Task)
		about.isFaulty = about.isFaulty || b.hasFault(line.Worker, line.At, math.MaxFloat64)
		call, back := int64(2*place), int64(2*place)
		if b.slack > 0 {
			call, back = b.firstAt(line.At-b.slack), b.lastAt(line.At+b.slack)
		}
		b.tasks[line.Task] = append(b.tasks[line.Task], Step{
			Kind: line.Moment, Sure: true, Task: line.Task, Run: run, Late: b.hasFault(line.Worker, line.At, line.At), Client: line.Worker,
			From: line.At, Until: line.At, call: call, back: back,
		})
	}
}

// bystanders are components whose loss must not let anything run twice; only their clocks may.
var bystanders = []string{"redis", "queue", "kafka", "scheduler", "notifier"}

const (
	// aftermath is how long a fault may be felt after it is over: until a worker is taken for dead, and longer.
	aftermath = 60.0
	// upgrading is how long a rolling upgrade takes at most.
	upgrading = 60.0
)

// hasFault tells whether, between two times, a fault was felt that may have delayed a worker or hidden it from others.
func (b *builder) hasFault(worker string, since, until float64) bool {
	for _, fault := range b.faults {
		if fault.At > until {
			return false
		}
		if lastOf(fault)+aftermath >= since && b.concerns(fault, worker) {
			return true
		}
	}
	return false
}

// concerns tells whether a fault may have hit a worker: it was its own, or one of something that all need.
func (b *builder) concerns(fault Line, worker string) bool {
	if fault.Target == worker || fault.text("worker") == worker {
		return true
	}
	if b.workers[fault.Target] {
		return false
	}
	for _, bystander := range bystanders {
		if strings.HasPrefix(fault.Target, bystander) {
			return fault.Kind == "clock" || fault.Kind == "drift"
		}
	}
	return true
}

// lastOf returns when a fault was over; a clock stays as it was set.
func lastOf(fault Line) float64 {
	switch {
	case fault.Kind == "clock" || fault.Kind == "drift":
		return math.MaxFloat64
	case fault.Kind == "upgrade":
		return math.Max(fault.Until, fault.At+upgrading)
	}
	return math.Max(fault.Until, fault.At)
}

// firstAt returns the place of the first line at or after a time; lastAt that of the last at or before it.
func (b *builder) firstAt(at float64) int64 {
	return int64(2 * sort.Search(len(b.lines), func(i int) bool { return b.lines[i].At >= at }))
}

func (b *builder) lastAt(at float64) int64 {
	return int64(2 * (sort.Search(len(b.lines), func(i int) bool { return b.lines[i].At > at }) - 1))
}

func (b *builder) addEndings() {
	for place, line := range b.lines {
		if line.Line != "final" {
			continue
		}
		step := Step{
			Kind: "read", Sure: true, Task: line.Task, Key: line.Key, State: line.State, Client: "store",
			From: line.At, Until: line.At, call: int64(2 * place), back: int64(2 * place),
		}
		b.tasks[line.Task] = append(b.tasks[line.Task], step)
		if line.Key != "" {
			step.Kind = "found"
			b.keys[line.Key] = append(b.keys[line.Key], step)
		}
	}
}

// addCreations lets tasks that nobody is known to have submitted (of jobs, of schedules) begin at any time.
func (b *builder) addCreations() {
	for task := range b.tasks {
		if !b.fact(task).isSubmitted {
			b.tasks[task] = append(b.tasks[task], Step{
				Kind: "created", Task: task, Until: math.MaxFloat64, back: b.never,
			})
		}
	}
}

func (b *builder) partitions() []Partition {
	var made []Partition
	for _, key := range sorted(b.keys) {
		made = append(made, Partition{Name: "key " + key, Steps: b.keys[key], model: keyModel(b.offered[key])})
	}
	for _, task := range sorted(b.tasks) {
		made = append(made, Partition{Name: "task " + task, Steps: b.tasks[task], model: taskModel(*b.fact(task))})
	}
	return made
}

func sorted(steps map[string][]Step) []string {
	names := make([]string, 0, len(steps))
	for name := range steps {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
