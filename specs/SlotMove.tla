------------------------------ MODULE SlotMove ------------------------------
(***************************************************************************)
(* New work of one slot moves from shard to shard while servers submit.    *)
(*                                                                         *)
(* The directory's map says which shard has the slot from which time on;   *)
(* each shard keeps its own entries. A submission is routed by an entry of *)
(* the map that may be old, looks for its key in the former owners, and is *)
(* stored only if that very entry is open in the shard and the time in the *)
(* id is not before the entry's; else it is refused (MOVED) and the server *)
(* reads the map again. A move closes the giver's entry, then opens the    *)
(* taker's, then writes the map: three transactions in three databases,    *)
(* each of which any mover may repeat at any later time.                   *)
(*                                                                         *)
(* Clocks of servers and databases are arbitrary. Kind "K" is a submission *)
(* with an idempotency key, which the client repeats through any server;   *)
(* kind "U" has none. `off` names the protection that is switched off.     *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
    Servers,
    Kinds,           \* {"K"}, {"U"} or both
    ServerClocks,    \* what a server's clock may read
    DatabaseClocks,  \* what a database's clock may read
    MaxSubmissions,
    MaxFaults,       \* lost answers
    Off              \* the values of `off` to explore

(* The owners of the slot, one after the other: a shard may get it back. *)
CONSTANT Owners
RoundTrip == <<"A", "B", "A">>   \* what the configurations set `Owners` to
ThreeShards == <<"A", "B", "C">>

VARIABLES
    off,       \* the protection that is switched off, or "none"
    map,       \* the directory: owners and from when on, by version
    entries,   \* each shard's own entries by version; closed = Never while open
    tasks,     \* what each shard has stored: kind, number and time, i.e. ids
    server,    \* what each server does, and the version of the map that it knows
    minted,    \* how many ids there have been
    answers,   \* the ids that clients were told
    faults

vars == <<off, map, entries, tasks, server, minted, answers, faults>>

Shards == {Owners[i] : i \in 1..Len(Owners)}
Never  == 99
NoId   == [kind |-> "none", number |-> 0, time |-> 0]
Max(set) == CHOOSE n \in set : \A m \in set : m <= n

Init ==
    /\ off \in Off
    /\ map = <<[shard |-> Owners[1], from |-> 0]>>
    /\ entries = [s \in Shards |-> IF s = Owners[1] THEN (1 :> [from |-> 0, closed |-> Never]) ELSE <<>>]
    /\ tasks = [s \in Shards |-> {}]
    /\ server = [x \in Servers |-> [phase |-> "idle", known |-> 1, version |-> 0, looked |-> 0, id |-> NoId]]
    /\ minted = 0
    /\ answers = {}
    /\ faults = 0

-----------------------------------------------------------------------------
(* A submission *)

(* Servers look for changes of the map now and then. *)
Refresh(x) ==
    /\ server[x].phase = "idle"
    /\ server[x].known < Len(map)
    /\ server' = [server EXCEPT ![x].known = Len(map)]
    /\ UNCHANGED <<off, map, entries, tasks, minted, answers, faults>>

(* Takes the newest entry that the server knows and mints an id, never before that entry's time. *)
Route(x, kind, clock) ==
    /\ server[x].phase = "idle"
    /\ minted < MaxSubmissions
    /\ LET version == server[x].known
           from == map[version].from
           time == IF off = "time of ids" THEN clock ELSE Max({clock, from})
       IN server' = [server EXCEPT ![x] = [@ EXCEPT
             !.phase = "looking", !.version = version, !.looked = IF kind = "K" THEN 1 ELSE version,
             !.id = [kind |-> kind, number |-> minted + 1, time |-> time]]]
    /\ minted' = minted + 1
    /\ UNCHANGED <<off, map, entries, tasks, answers, faults>>

Stored(s, id) == {one \in tasks[s] : one = id \/ (one.kind = "K" /\ id.kind = "K")}

Back(x) == [server[x] EXCEPT !.phase = "idle", !.version = 0, !.looked = 0, !.id = NoId]

Answer(x, id) ==
    /\ server' = [server EXCEPT ![x] = Back(x)]
    /\ answers' = answers \cup {id}

(* Asks the next former owner for the key. *)
Look(x) ==
    /\ server[x].phase = "looking"
    /\ server[x].looked < server[x].version
    /\ LET found == IF off = "former owners" THEN {} ELSE Stored(map[server[x].looked].shard, server[x].id)
       IN IF found # {} THEN \E id \in found : Answer(x, id)
          ELSE server' = [server EXCEPT ![x].looked = @ + 1] /\ UNCHANGED answers
    /\ UNCHANGED <<off, map, entries, tasks, minted, faults>>

Passes(s, version, id) ==
    CASE off = "fence" -> TRUE
      [] off = "this entry" -> \E v \in DOMAIN entries[s] : entries[s][v].closed = Never
      [] OTHER -> /\ version \in DOMAIN entries[s]
                  /\ entries[s][version].closed = Never
                  /\ id.time >= entries[s][version].from \/ off = "time of ids"

(* The submit statement: what is stored is answered, then the fence is asked, which holds closing up. *)
Submit(x) ==
    /\ server[x].phase = "looking"
    /\ server[x].looked = server[x].version
    /\ LET s == map[server[x].version].shard
           found == Stored(s, server[x].id)
       IN IF found # {} THEN \E id \in found : Answer(x, id)
          ELSE /\ server' = [server EXCEPT ![x] = IF Passes(s, server[x].version, server[x].id)
                                                  THEN [@ EXCEPT !.phase = "passed"]
                                                  ELSE [Back(x) EXCEPT !.known = Len(map)]]   \* MOVED
               /\ UNCHANGED answers
    /\ UNCHANGED <<off, map, entries, tasks, minted, faults>>

(* The commit; the unique index lets one of two in the same shard through. The answer may be lost. *)
Commit(x) ==
    /\ server[x].phase = "passed"
    /\ LET s == map[server[x].version].shard
           found == Stored(s, server[x].id)
       IN /\ tasks' = IF found # {} THEN tasks ELSE [tasks EXCEPT ![s] = @ \cup {server[x].id}]
          /\ \/ Answer(x, IF found # {} THEN CHOOSE id \in found : TRUE ELSE server[x].id) /\ UNCHANGED faults
             \/ /\ faults < MaxFaults /\ faults' = faults + 1
                /\ server' = [server EXCEPT ![x] = Back(x)]
                /\ UNCHANGED answers
    /\ UNCHANGED <<off, map, entries, minted>>

-----------------------------------------------------------------------------
(* A move *)

InFlight(s) == \E x \in Servers : server[x].phase = "passed" /\ map[server[x].version].shard = s

(* Closes the newest owner's entry: after its clock, every id that it holds, and the entry's own time. *)
Close(clock) ==
    /\ Len(map) < Len(Owners)
    /\ LET version == Len(map)
           s == map[version].shard
           held == {id.time : id \in tasks[s]}
           time == 1 + Max({clock, entries[s][version].from} \cup IF off = "after every id" THEN {} ELSE held)
       IN /\ entries[s][version].closed = Never
          /\ off = "closing waits" \/ ~InFlight(s)
          /\ entries' = [entries EXCEPT ![s][version].closed = time]
    /\ UNCHANGED <<off, map, tasks, server, minted, answers, faults>>

(* Opens the taker's entry; never changes one that exists, however late the mover comes. *)
Open(version) ==
    /\ version < Len(Owners)
    /\ LET giver == Owners[version]
           taker == Owners[version + 1]
       IN /\ version \in DOMAIN entries[giver]
          /\ entries[giver][version].closed # Never
          /\ version + 1 \notin DOMAIN entries[taker] \/ off = "insert only"
          /\ entries' = [entries EXCEPT ![taker] =
                ((version + 1) :> [from |-> entries[giver][version].closed, closed |-> Never]) @@ @]
    /\ UNCHANGED <<off, map, tasks, server, minted, answers, faults>>

(* Writes the map, last. *)
WriteMap ==
    /\ Len(map) < Len(Owners)
    /\ LET version == Len(map) + 1
           taker == Owners[version]
       IN /\ version \in DOMAIN entries[taker]
          /\ map' = Append(map, [shard |-> taker, from |-> entries[taker][version].from])
    /\ UNCHANGED <<off, entries, tasks, server, minted, answers, faults>>

-----------------------------------------------------------------------------
Next ==
    \/ \E x \in Servers :
          \/ \E kind \in Kinds, clock \in ServerClocks : Route(x, kind, clock)
          \/ Refresh(x) \/ Look(x) \/ Submit(x) \/ Commit(x)
    \/ \E clock \in DatabaseClocks : Close(clock)
    \/ \E version \in 1..Len(Owners) : Open(version)
    \/ WriteMap

Fairness ==
    /\ \A x \in Servers : WF_vars(Look(x)) /\ WF_vars(Submit(x)) /\ WF_vars(Commit(x))
    /\ WF_vars(\E clock \in DatabaseClocks : Close(clock))
    /\ WF_vars(\E version \in 1..Len(Owners) : Open(version))
    /\ WF_vars(WriteMap)

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
Intervals == {<<s, v>> \in Shards \X (1..Len(Owners)) : v \in DOMAIN entries[s]}
Interval(i) == entries[i[1]][i[2]]
AllStored == UNION {tasks[s] : s \in Shards}

TypeOK == \A i \in Intervals : Owners[i[2]] = i[1] /\ Interval(i).from < Interval(i).closed

(* A key has one task in all shards. *)
KeyIsUnique == Cardinality({id \in AllStored : id.kind = "K"}) <= 1

(* What a client was told is stored. *)
AnsweredIsStored == answers \subseteq AllStored

(* No time of the slot belongs to two shards, and at most one entry is open. *)
IntervalsAreDisjoint ==
    \A i, j \in Intervals : i = j \/ Interval(i).closed <= Interval(j).from \/ Interval(j).closed <= Interval(i).from

(* Every shard holds only ids whose time is in one of its intervals. *)
IdsAreInTheirInterval ==
    \A s \in Shards : \A id \in tasks[s] :
        \E v \in DOMAIN entries[s] : entries[s][v].from <= id.time /\ id.time < entries[s][v].closed

(* The map leads to each task by its id alone, at most by way of one MOVED that names the taker. *)
EveryIdIsFound ==
    \A s \in Shards : \A id \in tasks[s] :
        LET version == Max({v \in 1..Len(map) : map[v].from <= id.time})
            first == map[version].shard
        IN s = IF entries[first][version].closed <= id.time THEN Owners[version + 1] ELSE first

Safe ==
    TypeOK /\ KeyIsUnique /\ AnsweredIsStored /\ IntervalsAreDisjoint /\ IdsAreInTheirInterval /\ EveryIdIsFound

(* Moves come to their end. *)
EventuallyMoved == <>(Len(map) = Len(Owners))

-----------------------------------------------------------------------------
(* For the run over all mutants: reports each that is found out, and explores it no further. *)
ASSUME TLCSet(1, {})
Seek ==
    IF off \in TLCGet(1) THEN FALSE
    ELSE Safe \/ (TLCSet(1, TLCGet(1) \cup {off}) /\ PrintT(<<"found", off>>) /\ FALSE)
=============================================================================
