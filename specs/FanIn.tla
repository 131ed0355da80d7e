------------------------------- MODULE FanIn --------------------------------
(***************************************************************************)
(* The parents of some tasks of a job end at the same moment, and a user   *)
(* cancels the job: statement by statement, under READ COMMITTED.          *)
(*                                                                         *)
(* Settling a parent is one transaction: it ends the parent, lowers the    *)
(* `pending` of each child (in the order of their ids), queues a child     *)
(* that reaches 0, skips one whose parent failed, and counts in the job. A *)
(* statement first takes its snapshot and then the row's lock; a row that  *)
(* was changed meanwhile is read again. A transaction may be killed at any *)
(* point: it is rolled back and tried again.                               *)
(*                                                                         *)
(* `off` names the protection that is switched off.                        *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
    Parents,    \* 1..n
    Children,   \* 1..m: each waits for all parents
    None,       \* no transaction
    MayFail,    \* whether parents may fail
    MaxKills,
    Off         \* the values of `off` to explore

VARIABLES
    off,        \* the protection that is switched off, or "none"
    parent,     \* committed: the state of each parent
    child,      \* committed: the state and `pending` of each child
    ended,      \* committed: how many tasks the job has counted as ended
    lock,       \* which transaction has locked each child, and the job (0)
    tx,         \* the transactions: one per parent, and the cancellation (0)
    cancelled,  \* children that the user was told are cancelled
    kills

vars == <<off, parent, child, ended, lock, tx, cancelled, kills>>

Job    == 0
Cancel == 0
Rows   == Children \cup {Job}
Transactions == Parents \cup {Cancel}
Terminal == {"completed", "failed", "cancelled", "skipped"}
Size == Cardinality(Children)

(* `at`: the place in the list of rows that it writes; `saw`: its statement's snapshot; `new`: what it has written. *)
Fresh == [at |-> 0, outcome |-> "none", looked |-> FALSE, saw |-> [p \in {} |-> 0], pending |-> 0,
          new |-> [c \in {} |-> 0], counts |-> 0]

Init ==
    /\ off \in Off
    /\ parent = [p \in Parents |-> "running"]
    /\ child = [c \in Children |-> [state |-> "blocked", pending |-> Cardinality(Parents)]]
    /\ ended = 0
    /\ lock = [r \in Rows |-> None]
    /\ tx = [n \in Transactions |-> Fresh]
    /\ cancelled = {}
    /\ kills = 0

(* The row that a transaction writes at each place: children in the order of their ids, then the job. *)
RowAt(n, place) ==
    IF place = Size + 1 THEN Job
    ELSE IF off = "order" /\ n = 2 THEN Size + 1 - place ELSE place

IsOpen(n) == tx[n].at \in 1..(Size + 1)

-----------------------------------------------------------------------------
BeginSettle(p, outcome) ==
    /\ tx[p].at = 0
    /\ parent[p] = "running"
    /\ outcome = "failed" => MayFail
    /\ tx' = [tx EXCEPT ![p] = [Fresh EXCEPT !.at = 1, !.outcome = outcome, !.counts = 1]]
    /\ UNCHANGED <<off, parent, child, ended, lock, cancelled, kills>>

BeginCancel ==
    /\ tx[Cancel].at = 0
    /\ tx' = [tx EXCEPT ![Cancel] = [Fresh EXCEPT !.at = 1, !.outcome = "cancelled"]]
    /\ UNCHANGED <<off, parent, child, ended, lock, cancelled, kills>>

(* A statement begins: what it sees without a lock. *)
Look(n) ==
    /\ IsOpen(n) /\ ~tx[n].looked
    /\ tx' = [tx EXCEPT
          ![n].looked = TRUE,
          ![n].saw = parent,
          ![n].pending = IF tx[n].at <= Size THEN child[RowAt(n, tx[n].at)].pending ELSE 0]
    /\ UNCHANGED <<off, parent, child, ended, lock, cancelled, kills>>

(* The mutant "count" looks for parents that have not ended, as its snapshot shows them, itself set aside. *)
NoParentLeft(p) == \A q \in Parents \ {p} : tx[p].saw[q] = "completed"

(* What a settlement makes of a child's row. *)
Lowered(p, row) ==
    LET pending == (IF off = "read again" THEN tx[p].pending ELSE row.pending) - 1
        ready   == IF off = "count" THEN NoParentLeft(p) ELSE pending = 0
    IN [state   |-> IF row.state # "blocked" /\ off # "only blocked" THEN row.state
                    ELSE IF tx[p].outcome = "failed" THEN "skipped"
                    ELSE IF ready THEN "queued" ELSE row.state,
        pending |-> pending]

Written(n, row) ==
    IF n # Cancel THEN Lowered(n, row)
    ELSE IF row.state \in {"blocked", "queued"} THEN [row EXCEPT !.state = "cancelled"] ELSE row

Write(n) ==
    /\ IsOpen(n) /\ tx[n].looked
    /\ tx[n].at <= Size
    /\ LET c   == RowAt(n, tx[n].at)
           row == Written(n, child[c])
           one == IF row.state \in Terminal /\ child[c].state \notin Terminal THEN 1 ELSE 0
       IN /\ lock[c] = None
          /\ lock' = [lock EXCEPT ![c] = n]
          /\ tx' = [tx EXCEPT ![n] = [@ EXCEPT
                !.at = @ + 1, !.looked = FALSE, !.new = (c :> row) @@ @, !.counts = @ + one]]
    /\ UNCHANGED <<off, parent, child, ended, cancelled, kills>>

(* The last statement counts in the job's row; the commit shows everything and frees the locks. *)
Commit(n) ==
    /\ IsOpen(n) /\ tx[n].looked
    /\ tx[n].at = Size + 1
    /\ lock[Job] = None
    /\ parent' = IF n = Cancel THEN parent ELSE [parent EXCEPT ![n] = tx[n].outcome]
    /\ child' = tx[n].new @@ child
    /\ ended' = ended + tx[n].counts
    /\ cancelled' = IF n = Cancel THEN {c \in Children : tx[n].new[c].state = "cancelled"} ELSE cancelled
    /\ lock' = [r \in Rows |-> IF lock[r] = n THEN None ELSE lock[r]]
    /\ tx' = [tx EXCEPT ![n] = [Fresh EXCEPT !.at = Size + 2]]
    /\ UNCHANGED <<off, kills>>

Kill(n) ==
    /\ IsOpen(n)
    /\ kills < MaxKills
    /\ kills' = kills + 1
    /\ lock' = [r \in Rows |-> IF lock[r] = n THEN None ELSE lock[r]]
    /\ tx' = [tx EXCEPT ![n] = Fresh]
    /\ UNCHANGED <<off, parent, child, ended, cancelled>>

-----------------------------------------------------------------------------
Progress ==
    \/ \E p \in Parents : BeginSettle(p, "completed")
    \/ \E n \in Transactions : Look(n) \/ Write(n) \/ Commit(n)

Next ==
    \/ Progress
    \/ BeginCancel
    \/ \E p \in Parents : BeginSettle(p, "failed")
    \/ \E n \in Transactions : Kill(n)

Fairness ==
    /\ \A p \in Parents : WF_vars(BeginSettle(p, "completed"))
    /\ \A n \in Transactions : WF_vars(Look(n)) /\ SF_vars(Write(n)) /\ WF_vars(Commit(n))

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
AllEnded == \A p \in Parents : parent[p] # "running"
AtRest   == \A n \in Transactions : ~IsOpen(n)

TypeOK ==
    /\ \A p \in Parents : parent[p] \in {"running", "completed", "failed"}
    /\ \A c \in Children : child[c].state \in {"blocked", "queued", "cancelled", "skipped"}
    /\ \A r \in Rows : lock[r] \in Transactions \cup {None}

(* `pending` is the number of parents that have not ended. *)
PendingIsTrue == \A c \in Children : child[c].pending = Cardinality({p \in Parents : parent[p] = "running"})

(* A child is queued only when all its parents have completed. *)
NoneIsQueuedEarly == \A c \in Children : child[c].state = "queued" => \A p \in Parents : parent[p] = "completed"

(* When the last parent has ended, no child waits any longer. *)
NoneWaitsForEver == AllEnded => \A c \in Children : child[c].state # "blocked"

(* A cancelled child never runs. *)
CancelledStays == \A c \in cancelled : child[c].state = "cancelled"

(* The job has counted each task that ended once. *)
CountIsTrue ==
    ended = Cardinality({p \in Parents : parent[p] # "running"})
          + Cardinality({c \in Children : child[c].state \in Terminal})

(* Transactions never wait for each other in a circle. *)
NoDeadlock == (AllEnded /\ AtRest) \/ ENABLED Progress

Safe ==
    /\ TypeOK /\ PendingIsTrue /\ NoneIsQueuedEarly /\ NoneWaitsForEver /\ CancelledStays /\ CountIsTrue /\ NoDeadlock

(* Every parent's end is committed, and then no child is blocked. *)
EventuallyReleased == <>(AllEnded /\ \A c \in Children : child[c].state # "blocked")

-----------------------------------------------------------------------------
(* For the run over all mutants: reports each that is found out, and explores it no further. *)
ASSUME TLCSet(1, {})
Seek ==
    IF off \in TLCGet(1) THEN FALSE
    ELSE Safe \/ (TLCSet(1, TLCGet(1) \cup {off}) /\ PrintT(<<"found", off>>) /\ FALSE)
=============================================================================
