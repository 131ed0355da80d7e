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
import { HowTo } from "@/parts/HowTo";
import { Mark } from "@/parts/Mark";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Unloaded } from "@/parts/States";
import { Table } from "@/parts/Table";
import { Time } from "@/parts/Time";
import { RecentChanges } from "@/screens/audit/RecentChanges";
import { texts } from "@/texts";
import { AddShardSheet } from "./AddShardSheet";
import { MoveSheet } from "./MoveSheet";
import css from "./Shards.module.css";
import { canRemove, DIRECTORY, isEmptied, SLOTS, share } from "./shards";

const CHANGES = [["shards"]];
const COMMANDS = `drumline shards add pg2 --store-url env:PG2_URL
drumline shards move --to pg2
drumline shards drain pg2
drumline shards remove pg2`;

type Asked = { shard: ShardBody; what: "drain" | "remove" };

const ACTS = ["shard.add", "shard.change", "shard.drain", "shard.keep", "shard.remove", "slots.move"];

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
    <div className={css.screen}>
      <ScreenHead title={texts.shards.shards}>
        {mayManage && items.length > 1 && (
          <Button icon={ArrowRightLeft} onClick={() => setMoving(true)}>
            {texts.shards.moveSlots}
          </Button>
        )}
        {mayManage && (
          <Button icon={Plus} tone="primary" onClick={() => setAdding(true)}>
            {texts.shards.addShard}
          </Button>
        )}
      </ScreenHead>
      {shards.data === undefined ? (
        <Unloaded of={shards} />
      ) : (
        <Panel flush label={texts.shards.shards}>
          <Table
            head={[
              texts.shards.shard,
              texts.common.state,
              texts.shards.slots,
              texts.shards.newWork,
              texts.common.queued,
              texts.common.running,
              texts.shards.added,
              texts.common.draining,
              "",
            ]}
          >
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
                <td>{share(shard.slots)}</td>
                <td>{count(shard.queued)}</td>
                <td>{count(shard.running)}</td>
                <td>{shard.added_at ? <Time at={shard.added_at} /> : texts.shards.withTheInstallation}</td>
                <td>{shard.state === "draining" && <Left of={shard} />}</td>
                <td>
                  {mayManage && shard.name !== DIRECTORY && (
                    <Acts shard={shard} onAsk={(what) => setAsked({ shard, what })} />
                  )}
                </td>
              </tr>
            ))}
            {items.length > 1 && <Totals of={items} />}
          </Table>
        </Panel>
      )}
      {items.length === 1 && <p className={css.note}>{texts.shards.allTasksAreInOne}</p>}
      {mayManage && shards.data !== undefined && (
        <div className={css.pair}>
          <HowTo title={texts.shards.howTo} words={texts.shards.howToWords} code={COMMANDS} />
          <RecentChanges of="shards" acts={ACTS} />
        </div>
      )}
      {isAdding && <AddShardSheet onClose={() => setAdding(false)} />}
      {isMoving && <MoveSheet shards={items} onClose={() => setMoving(false)} />}
      {asked?.what === "drain" && <DrainSheet shard={asked.shard} onClose={() => setAsked(null)} />}
      {asked?.what === "remove" && <RemoveSheet shard={asked.shard} onClose={() => setAsked(null)} />}
    </div>
  );
}

/** What all shards have together; what one that is away has is not known. */
function Totals({ of: shards }: { of: ShardBody[] }) {
  const sum = (of: (shard: ShardBody) => number | null) =>
    shards.reduce<number | null>((all, shard) => {
      const one = of(shard);
      return all === null || one === null ? null : all + one;
    }, 0);
  const slots = sum((shard) => shard.slots) ?? 0;
  return (
    <tr>
      <th scope="row">{texts.shards.total}</th>
      <td />
      <td>{count(slots)}</td>
      <td>{share(slots)}</td>
      <td>{count(sum((shard) => shard.queued))}</td>
      <td>{count(sum((shard) => shard.running))}</td>
      <td />
      <td />
      <td />
    </tr>
  );
}

function count(tasks: number | null): string {
  return tasks === null ? "–" : tasks.toLocaleString("en");
}

function State({ of: shard }: { of: ShardBody }) {
  return (
    <span className={css.marks}>
      {shard.is_away ? (
        <Mark tone="bad">{texts.shards.away}</Mark>
      ) : shard.state === "draining" ? (
        <Mark tone="busy">{isEmptied(shard) ? texts.shards.empty : texts.common.draining}</Mark>
      ) : (
        <Mark tone="good">{texts.common.active}</Mark>
      )}
      {shard.unfinished > 0 && <Mark tone="warn">{texts.shards.slotsMoving(shard.unfinished)}</Mark>}
    </span>
  );
}

function Slots({ of: shard }: { of: ShardBody }) {
  const text = texts.shards.slotsOf(shard.slots, SLOTS, share(shard.slots));
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
  const text = texts.shards.leftToMove(shard.left);
  return (
    <span className={css.bar} role="img" aria-label={text} title={text}>
      <span className={css.track}>
        <i data-tone="moved" style={{ width: `${100 - (100 * shard.left) / Math.max(1, most.current)}%` }} />
      </span>
      {texts.shards.left(shard.left)}
    </span>
  );
}

function Acts({ shard, onAsk }: { shard: ShardBody; onAsk: (what: Asked["what"]) => void }) {
  const keep = useAct(() => call("DELETE /api/v1/shards/{name}/drain", { params: { name: shard.name } }), {
    done: () => texts.shards.isKept(shard.name),
    changes: CHANGES,
  });
  return (
    <span>
      {shard.state === "draining" ? (
        <>
          <Button busy={keep.isPending} onClick={() => keep.mutate(undefined)}>
            {texts.shards.keep}
          </Button>
          <Button tone="danger" disabled={!canRemove(shard)} onClick={() => onAsk("remove")}>
            {texts.common.remove}
          </Button>
        </>
      ) : (
        <Button tone="danger" onClick={() => onAsk("drain")}>
          {texts.shards.drain}
        </Button>
      )}
    </span>
  );
}

function DrainSheet({ shard, onClose }: { shard: ShardBody; onClose: () => void }) {
  const drain = useAct(() => call("POST /api/v1/shards/{name}/drain", { params: { name: shard.name } }), {
    done: () => texts.shards.isDraining(shard.name),
    changes: CHANGES,
    afterwards: onClose,
    inDialog: true,
  });
  return (
    <Confirm
      title={texts.shards.drainName(shard.name)}
      act={texts.shards.drain}
      busy={drain.isPending}
      error={drain.error}
      onAct={() => drain.mutate(undefined)}
      onClose={onClose}
    >
      {texts.shards.theOtherActiveShardsTake}
    </Confirm>
  );
}

function RemoveSheet({ shard, onClose }: { shard: ShardBody; onClose: () => void }) {
  const remove = useAct(() => call("DELETE /api/v1/shards/{name}", { params: { name: shard.name } }), {
    done: () => texts.shards.isRemoved(shard.name),
    changes: CHANGES,
    afterwards: onClose,
    inDialog: true,
  });
  return (
    <Confirm
      title={texts.shards.removeName(shard.name)}
      act={texts.common.remove}
      busy={remove.isPending}
      error={remove.error}
      onAct={() => remove.mutate(undefined)}
      onClose={onClose}
    >
      {texts.shards.theInstallationForgetsItIts}
    </Confirm>
  );
}
