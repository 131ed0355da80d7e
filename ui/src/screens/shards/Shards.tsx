import { useQuery } from "@tanstack/react-query";
import { ArrowRightLeft, Plus } from "lucide-react";
import { useRef, useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { every } from "@/api/queries";
import type { ShardBody } from "@/api/types";
import { useAct } from "@/parts/act";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { Mark } from "@/parts/Mark";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Unloaded } from "@/parts/States";
import { Table } from "@/parts/Table";
import { AddShardSheet } from "./AddShardSheet";
import { MoveSheet } from "./MoveSheet";
import css from "./Shards.module.css";
import { canRemove, DIRECTORY, isEmptied, SLOTS, share } from "./shards";

const CHANGES = [["shards"]];

type Asked = { shard: ShardBody; what: "drain" | "remove" };

/** The databases of the installation: their share of new work, their load, and what moves between them. */
export function Shards() {
  const mayManage = useMay("shards:manage");
  const [isAdding, setAdding] = useState(false);
  const [isMoving, setMoving] = useState(false);
  const [asked, setAsked] = useState<Asked | null>(null);
  const shards = useQuery({
    queryKey: ["shards"],
    queryFn: ({ signal }) => call("GET /api/v1/shards", { signal }),
    refetchInterval: every(2_000),
  });
  const items = shards.data?.items ?? [];
  return (
    <>
      <ScreenHead title="Shards">
        {mayManage && items.length > 1 && (
          <Button icon={ArrowRightLeft} onClick={() => setMoving(true)}>
            Move slots
          </Button>
        )}
        {mayManage && (
          <Button icon={Plus} onClick={() => setAdding(true)}>
            Add shard
          </Button>
        )}
      </ScreenHead>
      {shards.data === undefined ? (
        <Unloaded of={shards} />
      ) : (
        <Panel flush label="Shards">
          <Table head={["Shard", "State", "Slots", "Queued", "Running", "Draining", ""]}>
            {items.map((shard) => (
              <tr key={shard.name}>
                <th scope="row">
                  <span className={css.name}>
                    {shard.name}
                    <small>{shard.address}</small>
                    {shard.queue_address && <small>{shard.queue_address}</small>}
                  </span>
                </th>
                <td>
                  <State of={shard} />
                </td>
                <td>
                  <Slots of={shard} />
                </td>
                <td>{count(shard.queued)}</td>
                <td>{count(shard.running)}</td>
                <td>{shard.state === "draining" && <Left of={shard} />}</td>
                <td>
                  {mayManage && shard.name !== DIRECTORY && (
                    <Acts shard={shard} onAsk={(what) => setAsked({ shard, what })} />
                  )}
                </td>
              </tr>
            ))}
          </Table>
        </Panel>
      )}
      {items.length === 1 && (
        <p className={css.note}>
          All tasks are in one database. Another one, added here, takes a part of the new tasks while everything runs.
        </p>
      )}
      {isAdding && <AddShardSheet onClose={() => setAdding(false)} />}
      {isMoving && <MoveSheet shards={items} onClose={() => setMoving(false)} />}
      {asked?.what === "drain" && <DrainSheet shard={asked.shard} onClose={() => setAsked(null)} />}
      {asked?.what === "remove" && <RemoveSheet shard={asked.shard} onClose={() => setAsked(null)} />}
    </>
  );
}

function count(tasks: number | null): string {
  return tasks === null ? "–" : tasks.toLocaleString("en");
}

function State({ of: shard }: { of: ShardBody }) {
  return (
    <span className={css.marks}>
      {shard.is_away ? (
        <Mark tone="bad">Away</Mark>
      ) : shard.state === "draining" ? (
        <Mark tone="busy">{isEmptied(shard) ? "Empty" : "Draining"}</Mark>
      ) : (
        <Mark tone="good">Active</Mark>
      )}
      {shard.unfinished > 0 && <Mark tone="warn">{shard.unfinished.toLocaleString("en")} slots moving</Mark>}
    </span>
  );
}

function Slots({ of: shard }: { of: ShardBody }) {
  const text = `${shard.slots.toLocaleString("en")} of ${SLOTS.toLocaleString("en")} slots, ${share(shard.slots)} of new work`;
  return (
    <span className={css.bar} role="img" aria-label={text} title={text}>
      <span className={css.track}>
        <i style={{ width: `${(100 * shard.slots) / SLOTS}%` }} />
      </span>
      {shard.slots.toLocaleString("en")}
    </span>
  );
}

/** How far a shard is emptied: of the most that this page has seen in it. */
function Left({ of: shard }: { of: ShardBody }) {
  const most = useRef(0);
  if (shard.left === null) return "–";
  most.current = Math.max(most.current, shard.left);
  const text = `${shard.left.toLocaleString("en")} left to move`;
  return (
    <span className={css.bar} role="img" aria-label={text} title={text}>
      <span className={css.track}>
        <i data-tone="moved" style={{ width: `${100 - (100 * shard.left) / Math.max(1, most.current)}%` }} />
      </span>
      {shard.left.toLocaleString("en")} left
    </span>
  );
}

function Acts({ shard, onAsk }: { shard: ShardBody; onAsk: (what: Asked["what"]) => void }) {
  const keep = useAct(() => call("DELETE /api/v1/shards/{name}/drain", { params: { name: shard.name } }), {
    done: () => `${shard.name} is drained no more`,
    changes: CHANGES,
  });
  return (
    <span>
      {shard.state === "draining" ? (
        <>
          <Button busy={keep.isPending} onClick={() => keep.mutate(undefined)}>
            Keep
          </Button>
          <Button tone="danger" disabled={!canRemove(shard)} onClick={() => onAsk("remove")}>
            Remove
          </Button>
        </>
      ) : (
        <Button tone="danger" onClick={() => onAsk("drain")}>
          Drain
        </Button>
      )}
    </span>
  );
}

function DrainSheet({ shard, onClose }: { shard: ShardBody; onClose: () => void }) {
  const drain = useAct(() => call("POST /api/v1/shards/{name}/drain", { params: { name: shard.name } }), {
    done: () => `${shard.name} is being drained`,
    changes: CHANGES,
    afterwards: onClose,
    inDialog: true,
  });
  return (
    <Confirm
      title={`Drain ${shard.name}?`}
      act="Drain"
      busy={drain.isPending}
      error={drain.error}
      onAct={() => drain.mutate(undefined)}
      onClose={onClose}
    >
      The other active shards take its new work at once, and the tasks that wait in it are moved to them. Running tasks
      end where they are.
    </Confirm>
  );
}

function RemoveSheet({ shard, onClose }: { shard: ShardBody; onClose: () => void }) {
  const remove = useAct(() => call("DELETE /api/v1/shards/{name}", { params: { name: shard.name } }), {
    done: () => `${shard.name} is removed`,
    changes: CHANGES,
    afterwards: onClose,
    inDialog: true,
  });
  return (
    <Confirm
      title={`Remove ${shard.name}?`}
      act="Remove"
      busy={remove.isPending}
      error={remove.error}
      onAct={() => remove.mutate(undefined)}
      onClose={onClose}
    >
      The installation forgets it. Its database stays as it is.
    </Confirm>
  );
}
