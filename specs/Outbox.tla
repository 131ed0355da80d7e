------------------------------- MODULE Outbox -------------------------------
(***************************************************************************)
(* Events: written with the change, put in order after the commit, read by *)
(* a cursor, and published at least once.                                  *)
(*                                                                         *)
(* An act on a task locks the task's row, changes it, and writes a row of  *)
(* the outbox, whose number (`seq`) is drawn then; transactions commit in  *)
(* any order or roll back. A sequencer locks the log and gives the rows    *)
(* that it sees committed their positions, in the order of `seq`. A relay  *)
(* reads the next page after the cursor, publishes it, and then moves the  *)
(* cursor by compare-and-set. Rows are pruned below the cursor only.       *)
(* Sequencers and relays die at any point.                                 *)
(*                                                                         *)
(* `off` names the protection that is switched off.                        *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
    Tasks,
    ActsPerTask,   \* acts on one task: 1, 2, ...
    Sequencers,
    Relays,
    None,          \* no sequencer
    MaxFaults,
    Off            \* the values of `off` to explore

VARIABLES
    off,           \* the protection that is switched off, or "none"
    act,           \* the transaction of each act: its phase and the number that it drew
    lastSeq,       \* the last number drawn
    rows,          \* committed rows of the outbox: act, seq, and position (0: none yet)
    logLock,       \* which sequencer has locked the log
    lastPosition,  \* the last position given
    sequencer,     \* what each sequencer has seen
    cursor,        \* the consumer's cursor
    relay,         \* what each relay has read
    arrived,       \* the acts in the order in which their events first arrived
    faults

vars == <<off, act, lastSeq, rows, logLock, lastPosition, sequencer, cursor, relay, arrived, faults>>

Acts == Tasks \X (1..ActsPerTask)
Over == {"committed", "rolled back"}

Init ==
    /\ off \in Off
    /\ act = [a \in Acts |-> [phase |-> "waits", seq |-> 0]]
    /\ lastSeq = 0
    /\ rows = {}
    /\ logLock = None
    /\ lastPosition = 0
    /\ sequencer = [s \in Sequencers |-> {}]
    /\ cursor = 0
    /\ relay = [r \in Relays |-> [phase |-> "idle", from |-> 0, page |-> {}]]
    /\ arrived = <<>>
    /\ faults = 0

Fault == faults < MaxFaults /\ faults' = faults + 1

-----------------------------------------------------------------------------
(* The transactions *)

Draws(a, phase) ==
    /\ lastSeq' = lastSeq + 1
    /\ act' = [act EXCEPT ![a] = [phase |-> phase, seq |-> lastSeq + 1]]

DrawEarly(a) ==   \* the mutant: the number is drawn before the task is locked
    /\ off = "number after lock"
    /\ act[a].phase = "waits" /\ act[a].seq = 0
    /\ Draws(a, "waits")
    /\ UNCHANGED <<off, rows, logLock, lastPosition, sequencer, cursor, relay, arrived, faults>>

(* The row of the task is free once the act before is over. *)
Write(a) ==
    /\ act[a].phase = "waits"
    /\ a[2] > 1 => act[<<a[1], a[2] - 1>>].phase \in Over
    /\ IF act[a].seq = 0 THEN Draws(a, "written")
       ELSE act' = [act EXCEPT ![a].phase = "written"] /\ UNCHANGED lastSeq
    /\ UNCHANGED <<off, rows, logLock, lastPosition, sequencer, cursor, relay, arrived, faults>>

Commit(a) ==
    /\ act[a].phase = "written"
    /\ act' = [act EXCEPT ![a].phase = "committed"]
    /\ rows' = rows \cup {[act |-> a, seq |-> act[a].seq, position |-> 0]}
    /\ UNCHANGED <<off, lastSeq, logLock, lastPosition, sequencer, cursor, relay, arrived, faults>>

RollBack(a) ==
    /\ act[a].phase = "written"
    /\ Fault
    /\ act' = [act EXCEPT ![a].phase = "rolled back"]
    /\ UNCHANGED <<off, lastSeq, rows, logLock, lastPosition, sequencer, cursor, relay, arrived>>

-----------------------------------------------------------------------------
(* The sequencers *)

Unplaced == {row \in rows : row.position = 0}

SequencerLooks(s) ==
    /\ sequencer[s] = {}
    /\ Unplaced # {}
    /\ logLock = None \/ off = "sequencer locks"
    /\ logLock' = IF off = "sequencer locks" THEN logLock ELSE s
    /\ sequencer' = [sequencer EXCEPT ![s] = Unplaced]
    /\ UNCHANGED <<off, act, lastSeq, rows, lastPosition, cursor, relay, arrived, faults>>

Rank(row, set) == Cardinality({other \in set : other.seq <= row.seq})
Backwards(row, set) == Cardinality({other \in set : other.seq >= row.seq})

(* One commit: the rows seen get the next positions in the order of their numbers. *)
SequencerCommits(s) ==
    /\ sequencer[s] # {}
    /\ LET seen == sequencer[s]
           Place(row) == lastPosition + IF off = "order of numbers" THEN Backwards(row, seen) ELSE Rank(row, seen)
           IsSeen(row) == \E one \in seen : one.act = row.act
           Seen(row) == CHOOSE one \in seen : one.act = row.act
       IN /\ rows' = {IF IsSeen(row) THEN [row EXCEPT !.position = Place(Seen(row))] ELSE row : row \in rows}
          /\ lastPosition' = lastPosition + Cardinality(seen)
    /\ logLock' = IF logLock = s THEN None ELSE logLock
    /\ sequencer' = [sequencer EXCEPT ![s] = {}]
    /\ UNCHANGED <<off, act, lastSeq, cursor, relay, arrived, faults>>

KillSequencer(s) ==
    /\ sequencer[s] # {}
    /\ Fault
    /\ logLock' = IF logLock = s THEN None ELSE logLock
    /\ sequencer' = [sequencer EXCEPT ![s] = {}]
    /\ UNCHANGED <<off, act, lastSeq, rows, lastPosition, cursor, relay, arrived>>

-----------------------------------------------------------------------------
(* The relays *)

(* What readers go by. The classic mistake is the number of the row. *)
Place(row) == IF off = "positions" THEN row.seq ELSE row.position

Highest(set) == CHOOSE n \in set : \A m \in set : m <= n

RelayReads(r) ==
    /\ relay[r].phase = "idle"
    /\ LET page == {row \in rows : Place(row) > cursor}
           end  == Highest({Place(row) : row \in page})
       IN /\ page # {}
          /\ relay' = [relay EXCEPT ![r] = [phase |-> "read", from |-> cursor, page |-> page]]
          /\ cursor' = IF off = "publish first" THEN end ELSE cursor   \* the mutant moves the cursor first
    /\ UNCHANGED <<off, act, lastSeq, rows, logLock, lastPosition, sequencer, arrived, faults>>

HasArrived(a) == \E i \in 1..Len(arrived) : arrived[i] = a

(* Appends the acts of a page that arrive for the first time, in the page's order. *)
RECURSIVE Arrive(_, _)
Arrive(page, sofar) ==
    IF page = {} THEN sofar
    ELSE LET first == CHOOSE row \in page : \A other \in page : Place(row) <= Place(other)
         IN Arrive(page \ {first}, IF HasArrived(first.act) THEN sofar ELSE Append(sofar, first.act))

(* The broker keeps the whole page, in its order. *)
Publish(r) ==
    /\ relay[r].phase = "read"
    /\ arrived' = Arrive(relay[r].page, arrived)
    /\ relay' = [relay EXCEPT ![r].phase = "published"]
    /\ UNCHANGED <<off, act, lastSeq, rows, logLock, lastPosition, sequencer, cursor, faults>>

MoveCursor(r) ==
    /\ relay[r].phase = "published"
    /\ cursor' = IF cursor = relay[r].from THEN Highest({Place(row) : row \in relay[r].page}) ELSE cursor
    /\ relay' = [relay EXCEPT ![r] = [phase |-> "idle", from |-> 0, page |-> {}]]
    /\ UNCHANGED <<off, act, lastSeq, rows, logLock, lastPosition, sequencer, arrived, faults>>

KillRelay(r) ==
    /\ relay[r].phase # "idle"
    /\ Fault
    /\ relay' = [relay EXCEPT ![r] = [phase |-> "idle", from |-> 0, page |-> {}]]
    /\ UNCHANGED <<off, act, lastSeq, rows, logLock, lastPosition, sequencer, cursor, arrived>>

Prune ==
    /\ \E row \in rows :
          /\ row.position # 0
          /\ row.position <= cursor \/ off = "keep unread"
          /\ rows' = rows \ {row}
    /\ UNCHANGED <<off, act, lastSeq, logLock, lastPosition, sequencer, cursor, relay, arrived, faults>>

-----------------------------------------------------------------------------
Next ==
    \/ \E a \in Acts : DrawEarly(a) \/ Write(a) \/ Commit(a) \/ RollBack(a)
    \/ \E s \in Sequencers : SequencerLooks(s) \/ SequencerCommits(s) \/ KillSequencer(s)
    \/ \E r \in Relays : RelayReads(r) \/ Publish(r) \/ MoveCursor(r) \/ KillRelay(r)
    \/ Prune

Fairness ==
    /\ WF_vars(\E s \in Sequencers : SequencerLooks(s))
    /\ \A s \in Sequencers : WF_vars(SequencerCommits(s))
    /\ WF_vars(\E r \in Relays : RelayReads(r))
    /\ \A r \in Relays : WF_vars(Publish(r)) /\ WF_vars(MoveCursor(r))

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
TypeOK ==
    /\ logLock \in Sequencers \cup {None}
    /\ \A row \in rows : row.act \in Acts /\ row.position <= lastPosition

(* No two rows have one position. *)
PositionsAreUnique ==
    \A one, other \in rows : one.position # 0 /\ one.position = other.position => one.act = other.act

(* The cursor passes over nothing: a committed act that has not arrived still has its row, above the cursor. *)
NoneIsSkipped ==
    \A a \in Acts : act[a].phase = "committed" /\ ~HasArrived(a) =>
        \E row \in rows : row.act = a /\ (Place(row) = 0 \/ Place(row) > cursor)

(* Only what was committed arrives. *)
OnlyCommittedArrives == \A i \in 1..Len(arrived) : act[arrived[i]].phase = "committed"

(* Events of one task first arrive in the order of its acts. *)
OrderOfATask ==
    \A i, j \in 1..Len(arrived) : i < j /\ arrived[i][1] = arrived[j][1] => arrived[i][2] < arrived[j][2]

Safe == TypeOK /\ PositionsAreUnique /\ NoneIsSkipped /\ OnlyCommittedArrives /\ OrderOfATask

(* Every committed act arrives. *)
EventuallyArrives == \A a \in Acts : (act[a].phase = "committed") ~> HasArrived(a)

-----------------------------------------------------------------------------
(* For the run over all mutants: reports each that is found out, and explores it no further. *)
ASSUME TLCSet(1, {})
Seek ==
    IF off \in TLCGet(1) THEN FALSE
    ELSE Safe \/ (TLCSet(1, TLCGet(1) \cup {off}) /\ PrintT(<<"found", off>>) /\ FALSE)
=============================================================================
