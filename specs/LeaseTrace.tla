----------------------------- MODULE LeaseTrace -----------------------------
(***************************************************************************)
(* Recorded histories of tasks: is each a behaviour that Lease allows?     *)
(*                                                                         *)
(* A history is a sequence of steps that a witness saw. Each step has to   *)
(* be an action of Lease (or a condition on its state); between them the   *)
(* actions that leave no mark in the history may happen. A history is      *)
(* accepted if some behaviour of Lease goes through all of its steps.      *)
(*                                                                         *)
(* tests/evidence/validate.py writes the module Histories. In a history:   *)
(*   steps      what happened: a sequence of [what, holder, word]          *)
(*   claims     whether claims are among the steps; `settles`, the same    *)
(*   ended      holders whose run recorded its end                         *)
(*   outcomes   the attempt table in the end, if `known`                   *)
(*   cancels, retries   how often users may have done so, unrecorded       *)
(***************************************************************************)
EXTENDS Lease, Histories

VARIABLES
    number,   \* which history
    at,       \* how many of its steps have happened
    cancels,  \* how many cancellations may still happen
    retries

traceVars == <<number, at, cancels, retries>>
allVars == <<vars, traceVars>>

History == Histories[number]
Extra == 0   \* the holder for leases of which no run was recorded

TraceInit ==
    /\ Init
    /\ number \in 1..Len(Histories)
    /\ at = 0
    /\ cancels = Histories[number].cancels
    /\ retries = Histories[number].retries

-----------------------------------------------------------------------------
(* A run that was recorded belongs to one lease; leases without one share a holder. *)
IsNew(h) == h = Extra \/ (holder[h].phase = "idle" /\ holder[h].nonce = 0 /\ h \in History.holders)
MayClaim(h) == IsNew(h) /\ (ClaimFromStore(h) \/ SubmitLeased(h))

MayUserAct ==
    \/ cancels > 0 /\ (Cancel \/ ForceCancel) /\ cancels' = cancels - 1 /\ UNCHANGED retries
    \/ retries > 0 /\ Retry /\ retries' = retries - 1 /\ UNCHANGED cancels

(* A run that recorded no end has not completed; but some tasks record nothing at all. *)
EndsSilently(h) ==
    /\ h \notin History.ended
    /\ \E outcome \in Outcomes : (outcome = "completed" => History.holders = {}) /\ Finish(h, outcome)

Silent ==
    /\ UNCHANGED <<number, at>>
    /\ \/ MayUserAct
       \/ /\ UNCHANGED <<cancels, retries>>
          /\ \/ Submit \/ Reap \/ ReapAnyhow("queued") \/ ReapAnyhow("failed") \/ ReleaseUnheld
             \/ \E h \in History.holders \cup {Extra} :
                   \/ ~History.claims /\ MayClaim(h)
                   \/ ~History.settles /\ Settle(h)
                   \/ EndsSilently(h)
             \/ LoseClaimReply(Extra) \/ Begin(Extra)

Does(step) ==
    CASE step.what = "acknowledged" -> Acknowledge
      [] step.what = "claimed" -> MayClaim(step.holder)
      [] step.what = "begin" -> Begin(step.holder)
      [] step.what = "end" -> \E outcome \in Outcomes : Finish(step.holder, outcome)
      [] step.what = "error" -> \E outcome \in Outcomes \ {"completed"} : Finish(step.holder, outcome)
      [] step.what = "settled" ->
            /\ Settle(step.holder)
            /\ Len(attempts') > Len(attempts)
            /\ attempts'[Len(attempts')].outcome = step.word
      [] step.what = "read" -> task.state = step.word /\ UNCHANGED vars
      [] step.what = "final" ->
            /\ step.word = "unknown" \/ task.state = step.word
            /\ History.known => [i \in 1..Len(attempts) |-> attempts[i].outcome] = History.outcomes
            /\ UNCHANGED vars

Recorded ==
    /\ at < Len(History.steps)
    /\ Does(History.steps[at + 1])
    /\ at' = at + 1
    /\ UNCHANGED <<number, cancels, retries>>

TraceNext == Recorded \/ Silent

-----------------------------------------------------------------------------
(* The attempt table only grows: what differs from its end cannot become right. *)
FitsOutcomes ==
    /\ History.known =>
          /\ Len(attempts) <= Len(History.outcomes)
          /\ \A i \in 1..Len(attempts) : attempts[i].outcome = History.outcomes[i]
    /\ ~History.known => Len(attempts) <= Cardinality(History.holders) + 1

(* Reports how far each history gets, and leaves it when all its steps are explained. *)
ASSUME TLCSet(2, [n \in 1..Len(Histories) |-> 0])
Follow ==
    /\ FitsOutcomes
    /\ TLCGet(2)[number] < Len(History.steps)
    /\ at > TLCGet(2)[number] => TLCSet(2, [TLCGet(2) EXCEPT ![number] = at]) /\ PrintT(<<"reached", number, at>>)

(* States that differ in counts only are one. *)
View == <<number, at, cancels, retries, task, attempts, acked, holder>>
=============================================================================
