------------------------------- MODULE Lease -------------------------------
(***************************************************************************)
(* One task and the leases under which it runs.                            *)
(*                                                                         *)
(* The store decides; the queue only hints. A claim raises the epoch of    *)
(* the task and gives it a fresh nonce; settling and releasing carry both  *)
(* and are compared with both in the statement that writes. Workers die or *)
(* are slow, answers get lost, the queue forgets and repeats hints, and a  *)
(* failover of the store may forget a claim (nothing else).                *)
(*                                                                         *)
(* A holder is a place for one lease in a worker; two leases of one worker *)
(* are two holders. `off` names the protection that is switched off.       *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
    Holders,    \* places in which a lease of the task can be held
    None,       \* no holder
    MaxEvents,  \* how often faults, users and failing attempts may interfere
    Off         \* the values of `off` to explore; {"none"} is the protocol

VARIABLES
    off,        \* the protection that is switched off, or "none"
    task,       \* the row in the store: state, epoch, nonce, owner, cancel (flag)
    attempts,   \* the attempt table: append only
    minted,     \* how many nonces there have been: each is new
    before,     \* the row as it was before the last claim, while a failover may forget that claim
    acked,      \* whether the client has been told that its task is stored
    hint,       \* the task's id in the queue: "absent", "queued", or "hidden" while one who popped it claims
    holder,     \* what each holder does, with which lease
    events      \* interferences so far

vars == <<off, task, attempts, minted, before, acked, hint, holder, events>>

Ended   == {"completed", "failed", "cancelled"}
Free    == {"idle", "ok", "fenced"}              \* "ok" and "fenced": the answer to the last settlement
Holding == {"given", "running", "finished"}

NoLease == [phase |-> "idle", epoch |-> 0, nonce |-> 0, outcome |-> "none"]
NoRow   == [state |-> "absent", epoch |-> 0, nonce |-> 0, owner |-> None, cancel |-> FALSE]

Init ==
    /\ off \in Off
    /\ task = NoRow
    /\ attempts = <<>>
    /\ minted = 0
    /\ before = NoRow
    /\ acked = FALSE
    /\ hint = "absent"
    /\ holder = [h \in Holders |-> NoLease]
    /\ events = 0

Interfere == events < MaxEvents /\ events' = events + 1

(* Commits on the row that a failover cannot forget. *)
Durably(row) == task' = row /\ before' = NoRow

(* A row of the attempt table; one that ends the task has the task's state as its outcome. `lease` is the nonce of the
   settlement, and 0 if the attempt was ended by others, so that a late settlement is not taken for a repeated one. *)
Ends(row, lease, outcome, after) ==
    Append(attempts, [claim |-> row.nonce, lease |-> lease, outcome |-> IF after \in Ended THEN after ELSE outcome])

-----------------------------------------------------------------------------
(* Submitting *)

Submit ==
    /\ task.state = "absent"
    /\ Durably([task EXCEPT !.state = "queued"])
    /\ UNCHANGED <<off, attempts, minted, acked, hint, holder, events>>

(* A lone task is stored as leased to the worker that submits for itself: one transaction. *)
SubmitLeased(h) ==
    /\ task.state = "absent"
    /\ Durably([task EXCEPT !.state = "running", !.epoch = 1, !.nonce = minted + 1, !.owner = h])
    /\ minted' = minted + 1
    /\ holder' = [holder EXCEPT ![h] = [phase |-> "given", epoch |-> 1, nonce |-> minted + 1, outcome |-> "none"]]
    /\ UNCHANGED <<off, attempts, acked, hint, events>>

Acknowledge ==
    /\ ~acked
    /\ task.state # "absent" \/ off = "acknowledge after commit"
    /\ acked' = TRUE
    /\ UNCHANGED <<off, task, attempts, minted, before, hint, holder, events>>

-----------------------------------------------------------------------------
(* The queue: hints appear, are lost, and are doubled *)

Sweep ==   \* also stands for the push after a commit
    /\ off # "sweep"
    /\ task.state = "queued"
    /\ hint = "absent"
    /\ hint' = "queued"
    /\ UNCHANGED <<off, task, attempts, minted, before, acked, holder, events>>

Flush ==
    /\ hint # "absent"
    /\ Interfere
    /\ hint' = "absent"
    /\ UNCHANGED <<off, task, attempts, minted, before, acked, holder>>

DoubleHint ==
    /\ hint # "queued"
    /\ task.state # "absent"
    /\ Interfere
    /\ hint' = "queued"
    /\ UNCHANGED <<off, task, attempts, minted, before, acked, holder>>

Reappear ==   \* the one who popped the hint has died
    /\ hint = "hidden"
    /\ \A h \in Holders : holder[h].phase # "popped"
    /\ hint' = "queued"
    /\ UNCHANGED <<off, task, attempts, minted, before, acked, holder, events>>

Pop(h) ==
    /\ hint = "queued"
    /\ holder[h].phase \in Free
    /\ hint' = "hidden"
    /\ holder' = [holder EXCEPT ![h] = [NoLease EXCEPT !.phase = "popped"]]
    /\ UNCHANGED <<off, task, attempts, minted, before, acked, events>>

-----------------------------------------------------------------------------
(* Claiming *)

(* The one statement that gives a lease, for a popped hint or for what the store itself finds. *)
ClaimRow(h) ==
    /\ task.state = "queued"
    /\ task' = [task EXCEPT !.state = "running", !.epoch = @ + 1, !.nonce = minted + 1, !.owner = h]
    /\ before' = task
    /\ minted' = minted + 1
    /\ holder' = [holder EXCEPT
          ![h] = [phase |-> "given", epoch |-> task.epoch + 1, nonce |-> minted + 1, outcome |-> "none"]]

Claim(h) ==
    /\ holder[h].phase = "popped"
    /\ ClaimRow(h)
    /\ hint' = IF hint = "hidden" THEN "absent" ELSE hint
    /\ UNCHANGED <<off, attempts, acked, events>>

ClaimFromStore(h) ==
    /\ off # "sweep"
    /\ holder[h].phase \in Free
    /\ ClaimRow(h)
    /\ UNCHANGED <<off, attempts, acked, hint, events>>

Refuse(h) ==   \* the store does not confirm the hint
    /\ holder[h].phase = "popped"
    /\ task.state # "queued"
    /\ hint' = IF hint = "hidden" THEN "absent" ELSE hint
    /\ holder' = [holder EXCEPT ![h] = IF off = "store confirms" THEN [@ EXCEPT !.phase = "running"] ELSE NoLease]
    /\ UNCHANGED <<off, task, attempts, minted, before, acked, events>>

LoseClaimReply(h) ==
    /\ holder[h].phase = "given"
    /\ Interfere
    /\ holder' = [holder EXCEPT ![h] = NoLease]
    /\ UNCHANGED <<off, task, attempts, minted, before, acked, hint>>

-----------------------------------------------------------------------------
(* Running and settling *)

Begin(h) ==
    /\ holder[h].phase = "given"
    /\ holder' = [holder EXCEPT ![h].phase = "running"]
    /\ UNCHANGED <<off, task, attempts, minted, before, acked, hint, events>>

(* The run ends; only completing costs none of the bounded events. *)
Finish(h, outcome) ==
    /\ \/ holder[h].phase = "running"
       \/ holder[h].phase = "given" /\ outcome = "released"
    /\ outcome = "cancelled" => task.cancel
    /\ IF outcome = "completed" THEN UNCHANGED events ELSE Interfere
    /\ holder' = [holder EXCEPT ![h].phase = "finished", ![h].outcome = outcome]
    /\ UNCHANGED <<off, task, attempts, minted, before, acked, hint>>

Matches(h) ==
    CASE off = "fence" -> task.state # "absent"
      [] off = "epoch and nonce" -> task.state = "running"
      [] off = "nonce" -> task.state = "running" /\ task.epoch = holder[h].epoch
      [] OTHER -> task.state = "running" /\ task.epoch = holder[h].epoch /\ task.nonce = holder[h].nonce

WasSettled(h) == \E i \in 1..Len(attempts) : attempts[i].lease = holder[h].nonce

(* An attempt that would queue the task again ends it if its cancellation was asked for. *)
StateAfter(outcome, row) ==
    IF outcome \in Ended THEN outcome ELSE IF row.cancel THEN "cancelled" ELSE "queued"

Requeued(row, outcome) ==
    [row EXCEPT !.state = StateAfter(outcome, row), !.owner = None, !.cancel = FALSE,
                !.epoch = IF outcome = "released" THEN @ + 1 ELSE @]

Settle(h) ==
    /\ holder[h].phase = "finished"
    /\ IF Matches(h)
       THEN /\ Durably(Requeued(task, holder[h].outcome))
            /\ attempts' = Ends(task, holder[h].nonce, holder[h].outcome, StateAfter(holder[h].outcome, task))
            /\ \/ holder' = [holder EXCEPT ![h].phase = "ok"] /\ UNCHANGED events
               \/ Interfere /\ UNCHANGED holder   \* the answer is lost: the worker settles again
       ELSE /\ holder' = [holder EXCEPT
                  ![h].phase = IF WasSettled(h) /\ off # "same answer" THEN "ok" ELSE "fenced"]
            /\ UNCHANGED <<task, before, attempts, events>>
    /\ UNCHANGED <<off, minted, acked, hint>>

Kill(h) ==
    /\ holder[h].phase \notin Free \cup {"dead"}
    /\ Interfere
    /\ holder' = [holder EXCEPT ![h] = [NoLease EXCEPT !.phase = "dead"]]
    /\ UNCHANGED <<off, task, attempts, minted, before, acked, hint>>

Restart(h) ==
    /\ holder[h].phase = "dead"
    /\ task.owner # h
    /\ holder' = [holder EXCEPT ![h] = NoLease]
    /\ UNCHANGED <<off, task, attempts, minted, before, acked, hint, events>>

-----------------------------------------------------------------------------
(* The scheduler, users, and the store's failover *)

Reaped(after) ==   \* the session is closed; "failed": the task has crashed its workers too often
    /\ task.state = "running"
    /\ Durably([task EXCEPT !.state = StateAfter(after, task), !.epoch = @ + 1, !.owner = None, !.cancel = FALSE])
    /\ attempts' = Ends(task, 0, "crashed", StateAfter(after, task))
    /\ UNCHANGED <<off, minted, acked, hint, holder>>

Reap ==
    /\ off # "reap"
    /\ task.owner # None /\ holder[task.owner].phase = "dead"
    /\ Reaped("queued")
    /\ UNCHANGED events

(* A living worker was silent for too long, or the task is given up. *)
ReapAnyhow(after) == Interfere /\ Reaped(after)

(* Heartbeats show that a living worker does not hold what the store says it holds. *)
ReleaseUnheld ==
    /\ off # "release unheld"
    /\ task.state = "running"
    /\ task.owner # None
    /\ holder[task.owner].phase # "dead"
    /\ ~(holder[task.owner].phase \in Holding /\ holder[task.owner].nonce = task.nonce)
    /\ Durably(Requeued(task, "released"))
    /\ attempts' = Ends(task, 0, "released", StateAfter("released", task))
    /\ UNCHANGED <<off, minted, acked, hint, holder, events>>

Cancel ==   \* a waiting task ends at once; the worker of a running one is told by its next heartbeat
    /\ ~task.cancel
    /\ Interfere
    /\ \/ /\ task.state = "queued"
          /\ Durably([task EXCEPT !.state = "cancelled", !.epoch = @ + 1])
          /\ attempts' = Ends(task, 0, "cancelled", "cancelled")
       \/ /\ task.state = "running"
          /\ Durably([task EXCEPT !.cancel = TRUE])
          /\ UNCHANGED attempts
    /\ UNCHANGED <<off, minted, acked, hint, holder>>

ForceCancel ==
    /\ task.state = "running"
    /\ Interfere
    /\ Durably([task EXCEPT !.state = "cancelled", !.epoch = @ + 1, !.owner = None, !.cancel = FALSE])
    /\ attempts' = Ends(task, 0, "cancelled", "cancelled")
    /\ UNCHANGED <<off, minted, acked, hint, holder>>

Reschedule ==
    /\ task.state = "queued"
    /\ Interfere
    /\ Durably([task EXCEPT !.epoch = @ + 1])
    /\ UNCHANGED <<off, attempts, minted, acked, hint, holder>>

Retry ==   \* an operator runs an ended task again
    /\ task.state \in {"failed", "cancelled"}
    /\ Interfere
    /\ Durably([task EXCEPT !.state = "queued", !.epoch = @ + 1])
    /\ UNCHANGED <<off, attempts, minted, acked, hint, holder>>

Failover ==   \* the replica has not got the last claim
    /\ before.state # "absent"
    /\ Interfere
    /\ Durably(before)
    /\ UNCHANGED <<off, attempts, minted, acked, hint, holder>>

-----------------------------------------------------------------------------
Outcomes == {"completed", "retried", "failed", "released", "cancelled"}

(* What happens by itself, without a fault or a user. *)
Progress ==
    \/ Submit \/ Acknowledge \/ Sweep \/ Reappear \/ Reap \/ ReleaseUnheld
    \/ \E h \in Holders :
          \/ Pop(h) \/ Claim(h) \/ ClaimFromStore(h) \/ Refuse(h) \/ Begin(h) \/ Finish(h, "completed")
          \/ Settle(h) \/ Restart(h)

Next ==
    \/ Progress
    \/ Flush \/ DoubleHint \/ ReapAnyhow("queued") \/ ReapAnyhow("failed") \/ Cancel \/ ForceCancel \/ Reschedule \/ Retry
    \/ Failover
    \/ \E h \in Holders :
          SubmitLeased(h) \/ LoseClaimReply(h) \/ Kill(h) \/ \E outcome \in Outcomes : Finish(h, outcome)

Fairness ==
    /\ WF_vars(Submit) /\ WF_vars(Sweep) /\ WF_vars(Reappear) /\ WF_vars(Reap)
    /\ WF_vars(ReleaseUnheld)
    /\ \A h \in Holders :
          /\ WF_vars(Claim(h)) /\ WF_vars(ClaimFromStore(h)) /\ WF_vars(Refuse(h)) /\ WF_vars(Begin(h))
          /\ WF_vars(Finish(h, "completed")) /\ WF_vars(Settle(h)) /\ WF_vars(Restart(h))

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
TypeOK ==
    /\ task.state \in {"absent", "queued", "running"} \cup Ended
    /\ task.owner \in Holders \cup {None}
    /\ task.nonce <= minted
    /\ hint \in {"absent", "queued", "hidden"}
    /\ \A h \in Holders : holder[h].phase \in Free \cup Holding \cup {"popped", "dead"}

(* What the client was told is stored. *)
AcknowledgedIsStored == acked => task.state # "absent"

(* A settlement is accepted only from the lease that the last claim gave. *)
StaleLeasesAreFenced == \A i \in 1..Len(attempts) : attempts[i].lease # 0 => attempts[i].lease = attempts[i].claim

(* A task completes once, and nothing happens to it afterwards. *)
CompletedIsFinal ==
    \A i \in 1..Len(attempts) : attempts[i].outcome = "completed" => i = Len(attempts) /\ task.state = "completed"

(* A worker that was told FENCED has changed nothing. *)
FencedHadNoEffect == \A h \in Holders : holder[h].phase = "fenced" => ~WasSettled(h)

(* A worker that was told ok has its attempt recorded. *)
OkIsRecorded == \A h \in Holders : holder[h].phase = "ok" => WasSettled(h)

(* What runs was claimed: the queue alone starts nothing. *)
RunsAreClaimed == \A h \in Holders : holder[h].phase \in Holding => holder[h].nonce \in 1..minted

(* A running task has an owner, a waiting or ended one has none. *)
OwnedWhileRunning == (task.state = "running") <=> (task.owner # None)

(* A task that has not ended can go on without a user's help. *)
NeverStuck == task.state \in Ended \/ ENABLED Progress

Safe ==
    /\ TypeOK /\ AcknowledgedIsStored /\ StaleLeasesAreFenced /\ CompletedIsFinal /\ FencedHadNoEffect
    /\ OkIsRecorded /\ RunsAreClaimed /\ OwnedWhileRunning /\ NeverStuck

(* Every submitted task ends, once faults and users leave it alone. *)
EventuallyEnds == (task.state # "absent") ~> (task.state \in Ended)

-----------------------------------------------------------------------------
(* For the run over all mutants: reports each that is found out, and explores it no further. *)
ASSUME TLCSet(1, {})
Seek ==
    IF off \in TLCGet(1) THEN FALSE
    ELSE Safe \/ (TLCSet(1, TLCGet(1) \cup {off}) /\ PrintT(<<"found", off>>) /\ FALSE)
=============================================================================
