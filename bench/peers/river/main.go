// River: many workers at once, bulk inserts by COPY, short fetch cooldown. Answers the commands of harness.py.
//
// Settings: https://riverqueue.com/docs/benchmarks (MaxWorkers, FetchCooldown and FetchPollInterval of `river bench`)
// and https://riverqueue.com/docs/batch-job-insertion (InsertManyFast).
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	batch         = 1000
	maxWorkers    = 2000
	connections   = 16
	fetchCooldown = 2 * time.Millisecond
	fetchPoll     = 20 * time.Millisecond
	threads       = 256 // the layout of a tally file: see harness.py
	cells         = threads + 1 + 16_384
	cellBytes     = 8
	writeEvery    = 5 * time.Millisecond
)

type noopArgs struct {
	SentNs int64 `json:"sent_ns"`
}

func (noopArgs) Kind() string { return "noop" }

// tally keeps the completions of this worker in a file that the driver reads while it grows.
type tally struct {
	done   atomic.Int64
	mutex  sync.Mutex
	delays []float64
	file   *os.File
}

func newTally() *tally {
	path := filepath.Join(os.Getenv("PEER_TALLY_DIR"), fmt.Sprintf("%d.tally", os.Getpid()))
	file, err := os.Create(path)
	check(err)
	check(file.Truncate(cells * cellBytes))
	return &tally{file: file}
}

func (t *tally) count(sentNs int64) {
	if sentNs != 0 {
		t.mutex.Lock()
		t.delays = append(t.delays, float64(time.Now().UnixNano()-sentNs)/1e6)
		t.mutex.Unlock()
	}
	t.done.Add(1)
}

func (t *tally) write() {
	t.mutex.Lock()
	delays := t.delays
	t.mutex.Unlock()
	kept := make([]byte, 0, (1+len(delays))*cellBytes)
	kept = binary.LittleEndian.AppendUint64(kept, math.Float64bits(float64(len(delays))))
	for _, delay := range delays {
		kept = binary.LittleEndian.AppendUint64(kept, math.Float64bits(delay))
	}
	_, err := t.file.WriteAt(kept, threads*cellBytes)
	check(err)
	first := binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(t.done.Load())))
	_, err = t.file.WriteAt(first, 0)
	check(err)
}

type noopWorker struct {
	river.WorkerDefaults[noopArgs]
	tally *tally
}

func (w *noopWorker) Work(_ context.Context, job *river.Job[noopArgs]) error {
	w.tally.count(job.Args.SentNs)
	return nil
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func reply(value any) {
	check(json.NewEncoder(os.Stdout).Encode(value))
}

func pool(ctx context.Context) *pgxpool.Pool {
	config, err := pgxpool.ParseConfig(os.Getenv("PEER_POSTGRES_URL"))
	check(err)
	config.MaxConns = connections
	made, err := pgxpool.NewWithConfig(ctx, config)
	check(err)
	return made
}

func producing(ctx context.Context, produce func(client *river.Client[pgx.Tx], began time.Time) int) {
	connected := pool(ctx)
	defer connected.Close()
	client, err := river.NewClient(riverpgxv5.New(connected), &river.Config{})
	check(err)
	check(connected.Ping(ctx))
	began := time.Now()
	count := produce(client, began)
	reply(map[string]any{"count": count, "seconds": time.Since(began).Seconds(), "began_ns": began.UnixNano()})
}

func enqueue(ctx context.Context, limit int, seconds float64, inFlight int) {
	producing(ctx, func(client *river.Client[pgx.Tx], began time.Time) int {
		var turns, done atomic.Int64
		var producers sync.WaitGroup
		for range inFlight {
			producers.Go(func() {
				for turns.Add(1) <= int64(limit) && time.Since(began).Seconds() < seconds {
					_, err := client.Insert(ctx, noopArgs{}, nil)
					check(err)
					done.Add(1)
				}
			})
		}
		producers.Wait()
		return int(done.Load())
	})
}

func bulk(ctx context.Context, limit int, seconds float64) {
	producing(ctx, func(client *river.Client[pgx.Tx], began time.Time) int {
		count := 0
		for count < limit && time.Since(began).Seconds() < seconds {
			params := make([]river.InsertManyParams, min(batch, limit-count))
			for place := range params {
				params[place].Args = noopArgs{}
			}
			_, err := client.InsertManyFast(ctx, params)
			check(err)
			count += len(params)
		}
		return count
	})
}

func paced(ctx context.Context, rate, seconds float64) {
	producing(ctx, func(client *river.Client[pgx.Tx], began time.Time) int {
		count := int(rate * seconds)
		for turn := range count {
			time.Sleep(time.Until(began.Add(time.Duration(float64(turn) / rate * float64(time.Second)))))
			_, err := client.Insert(ctx, noopArgs{SentNs: time.Now().UnixNano()}, nil)
			check(err)
		}
		return count
	})
}

func work(ctx context.Context) {
	counted := newTally()
	workers := river.NewWorkers()
	river.AddWorker(workers, &noopWorker{tally: counted})
	client, err := river.NewClient(riverpgxv5.New(pool(ctx)), &river.Config{
		FetchCooldown:     fetchCooldown,
		FetchPollInterval: fetchPoll,
		Logger:            slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: maxWorkers}},
		Workers:           workers,
	})
	check(err)
	stopped, _ := signal.NotifyContext(ctx, syscall.SIGTERM)
	check(client.Start(ctx))
	for stopped.Err() == nil {
		counted.write()
		time.Sleep(writeEvery)
	}
	os.Exit(0)
}

func setup(ctx context.Context) {
	connected := pool(ctx)
	defer connected.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(connected), nil)
	check(err)
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	check(err)
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/riverqueue/river" {
			return strings.TrimPrefix(module.Version, "v")
		}
	}
	return "unknown"
}

func main() {
	ctx := context.Background()
	numbers := make([]float64, 0, 3)
	for _, word := range os.Args[2:] {
		number, err := strconv.ParseFloat(word, 64)
		check(err)
		numbers = append(numbers, number)
	}
	switch os.Args[1] {
	case "version":
		reply(version())
	case "setup":
		setup(ctx)
	case "worker":
		work(ctx)
	case "enqueue":
		enqueue(ctx, int(numbers[0]), numbers[1], int(numbers[2]))
	case "bulk":
		bulk(ctx, int(numbers[0]), numbers[1])
	case "paced":
		paced(ctx, numbers[0], numbers[1])
	default:
		check(fmt.Errorf("no such command: %s", os.Args[1]))
	}
}
