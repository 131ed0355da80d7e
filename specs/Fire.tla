-------------------------------- MODULE Fire --------------------------------
(***************************************************************************)
(* Schedules that several schedulers fire, without a leader.               *)
(*                                                                         *)
(* A scheduler locks a due schedule (others skip it), inserts the run      *)
(* under the unique key (schedule, fire time), moves the next fire time to *)
(* the one after this fire time, and commits all of it in one transaction. *)
(* It may die at any point; the clock may be set back and forth.           *)
(*                                                                         *)
(* Fire times are 1, 2, 3 ... `off` names the protection that is switched  *)
(* off. The lock and the key each suffice: "lock" and "key" are no         *)
(* mutants, only "lock and key" is.                                        *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
    Schedulers,
    Schedules,
    None,       \* no scheduler, no schedule
    LastTime,   \* how far the clock goes
    MaxFaults,  \* kills and changes of the clock
    Off         \* the values of `off` to explore

VARIABLES
    off,        \* the protection that is switched off, or "none"
    clock,      \* what the store's clock reads
    latest,     \* the latest time that it has ever read
    next,       \* the stored next fire time of each schedule
    runs,       \* how many runs each schedule has for each fire time
    lock,       \* which scheduler has locked the schedule
    scheduler,  \* what each scheduler does, with which schedule and fire time
    faults

vars == <<off, clock, latest, next, runs, lock, scheduler, faults>>

Times == 1..LastTime
Idle  == [phase |-> "idle", schedule |-> None, time |-> 0]

Locks    == off \notin {"lock", "lock and key"}
HasKey   == off \notin {"key", "lock and key"}

Init ==
    /\ off \in Off
    /\ clock = 0
    /\ latest = 0
    /\ next = [s \in Schedules |-> 1]
    /\ runs = [s \in Schedules |-> [t \in Times |-> 0]]
    /\ lock = [s \in Schedules |-> None]
    /\ scheduler = [p \in Schedulers |-> Idle]
    /\ faults = 0

Fault == faults < MaxFaults /\ faults' = faults + 1

-----------------------------------------------------------------------------
Tick ==
    /\ clock < LastTime
    /\ clock' = clock + 1
    /\ latest' = IF clock + 1 > latest THEN clock + 1 ELSE latest
    /\ UNCHANGED <<off, next, runs, lock, scheduler, faults>>

SetClock(time) ==
    /\ Fault
    /\ clock' = time
    /\ latest' = IF time > latest THEN time ELSE latest
    /\ UNCHANGED <<off, next, runs, lock, scheduler>>

(* Reads a due schedule, FOR UPDATE SKIP LOCKED. *)
Take(p, s) ==
    /\ scheduler[p].phase = "idle"
    /\ next[s] <= clock
    /\ next[s] \in Times
    /\ Locks => lock[s] = None
    /\ lock' = IF Locks THEN [lock EXCEPT ![s] = p] ELSE lock
    /\ scheduler' = [scheduler EXCEPT ![p] = [phase |-> "taken", schedule |-> s, time |-> next[s]]]
    /\ UNCHANGED <<off, clock, latest, next, runs, faults>>

Unlocked(s, p) == IF lock[s] = p THEN [lock EXCEPT ![s] = None] ELSE lock

(* The fire time after `time`: from that time itself, never from the clock. *)
After(time) == IF off = "from the fire time" THEN clock + 1 ELSE time + 1

(* One transaction: the run, if the key allows it, and the next fire time if it is still the one that was read. *)
Fire(p) ==
    /\ scheduler[p].phase = "taken"
    /\ off # "one transaction"
    /\ LET s == scheduler[p].schedule
           t == scheduler[p].time
       IN /\ runs' = IF HasKey /\ runs[s][t] > 0 THEN runs ELSE [runs EXCEPT ![s][t] = @ + 1]
          /\ next' = IF next[s] = t THEN [next EXCEPT ![s] = After(t)] ELSE next
          /\ lock' = Unlocked(s, p)
    /\ scheduler' = [scheduler EXCEPT ![p] = Idle]
    /\ UNCHANGED <<off, clock, latest, faults>>

(* The mutant: the next fire time is committed first, the run in a transaction of its own. *)
AdvanceFirst(p) ==
    /\ scheduler[p].phase = "taken"
    /\ off = "one transaction"
    /\ next' = [next EXCEPT ![scheduler[p].schedule] = After(scheduler[p].time)]
    /\ lock' = Unlocked(scheduler[p].schedule, p)
    /\ scheduler' = [scheduler EXCEPT ![p].phase = "advanced"]
    /\ UNCHANGED <<off, clock, latest, runs, faults>>

RunSecond(p) ==
    /\ scheduler[p].phase = "advanced"
    /\ LET s == scheduler[p].schedule
           t == scheduler[p].time
       IN runs' = IF HasKey /\ runs[s][t] > 0 THEN runs ELSE [runs EXCEPT ![s][t] = @ + 1]
    /\ scheduler' = [scheduler EXCEPT ![p] = Idle]
    /\ UNCHANGED <<off, clock, latest, next, lock, faults>>

(* The scheduler dies, its transaction is rolled back, and another process takes its place. *)
Kill(p) ==
    /\ scheduler[p].phase # "idle"
    /\ Fault
    /\ lock' = Unlocked(scheduler[p].schedule, p)
    /\ scheduler' = [scheduler EXCEPT ![p] = Idle]
    /\ UNCHANGED <<off, clock, latest, next, runs>>

-----------------------------------------------------------------------------
Next ==
    \/ Tick
    \/ \E time \in 0..LastTime : SetClock(time)
    \/ \E p \in Schedulers :
          Fire(p) \/ AdvanceFirst(p) \/ RunSecond(p) \/ Kill(p) \/ \E s \in Schedules : Take(p, s)

Fairness ==
    /\ WF_vars(Tick)
    /\ \A p \in Schedulers : WF_vars(Fire(p))
    /\ \A s \in Schedules : WF_vars(\E p \in Schedulers : Take(p, s))

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
TypeOK ==
    /\ clock \in 0..LastTime /\ latest \in clock..LastTime
    /\ \A s \in Schedules : next[s] \in 1..LastTime + 1 /\ lock[s] \in Schedulers \cup {None}

(* No fire time has two runs. *)
OneRunPerFireTime == \A s \in Schedules, t \in Times : runs[s][t] <= 1

(* No fire time before the next one is left out; a run may be on its way only while its transaction is open. *)
NoneIsLeftOut == \A s \in Schedules, t \in Times : t < next[s] => runs[s][t] >= 1

(* Nothing fires before its time, by any clock that the store has had. *)
NothingFiresEarly == \A s \in Schedules, t \in Times : runs[s][t] > 0 => t <= latest

(* A fire time has its run only once the schedule has moved on: both are one commit. *)
RunAndNextAreOne == \A s \in Schedules, t \in Times : runs[s][t] > 0 => t < next[s]

Safe == TypeOK /\ OneRunPerFireTime /\ NoneIsLeftOut /\ NothingFiresEarly /\ RunAndNextAreOne

(* Every fire time fires, once clocks and schedulers are left alone. *)
EventuallyFires == \A s \in Schedules, t \in Times : <>(runs[s][t] > 0)

-----------------------------------------------------------------------------
(* For the run over all mutants: reports each that is found out, and explores it no further. *)
ASSUME TLCSet(1, {})
Seek ==
    IF off \in TLCGet(1) THEN FALSE
    ELSE Safe \/ (TLCSet(1, TLCGet(1) \cup {off}) /\ PrintT(<<"found", off>>) /\ FALSE)
=============================================================================
