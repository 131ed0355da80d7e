import { useState } from "react";
import { call } from "@/api/client";
import type { ShardBody } from "@/api/types";
import { useAct } from "@/parts/act";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { plain, Select } from "@/parts/Select";
import { Sheet } from "@/parts/Sheet";
import { texts } from "@/texts";
import { SLOTS } from "./shards";

/** Moves slots: evenly over all, or some of them to one shard. */
export function MoveSheet({ shards, onClose }: { shards: ShardBody[]; onClose: () => void }) {
  const [taker, setTaker] = useState("");
  const [giver, setGiver] = useState("");
  const [slots, setSlots] = useState("");
  const move = useAct(
    () =>
      call("POST /api/v1/slots/move", {
        body: taker ? { taker, giver: giver || null, slots: slots ? Number(slots) : null } : {},
      }),
    {
      done: (moved) => texts.shards.slotsMoved(moved.slots),
      changes: [["shards"]],
      afterwards: onClose,
      inDialog: true,
    },
  );
  const takers = shards.filter((shard) => shard.state === "active").map((shard) => shard.name);
  const givers = shards.filter((shard) => shard.slots > 0 && shard.name !== taker).map((shard) => shard.name);
  return (
    <Sheet title={texts.shards.moveSlots} onClose={onClose}>
      <p>{texts.shards.newTasksOfTheseSlots}</p>
      <Form error={move.error} fields={["taker", "giver", "slots"]} onSubmit={() => move.mutate(undefined)}>
        {(at) => (
          <>
            <Field label={texts.common.to} problem={at("taker")}>
              {(props) => (
                <Select
                  {...props}
                  value={taker}
                  choices={[{ value: "", label: texts.shards.allActiveShardsEvenly }, ...plain(takers)]}
                  onChange={setTaker}
                />
              )}
            </Field>
            {taker && (
              <>
                <Field label={texts.common.from} problem={at("giver")}>
                  {(props) => (
                    <Select
                      {...props}
                      value={giver}
                      choices={[{ value: "", label: texts.shards.thoseThatHaveMost }, ...plain(givers)]}
                      onChange={setGiver}
                    />
                  )}
                </Field>
                <Field
                  label={texts.shards.slots}
                  hint={giver ? texts.shards.withoutANumberAllThat(giver) : texts.shards.withoutANumberAsMany}
                  problem={at("slots")}
                >
                  {(props) => (
                    <input
                      {...props}
                      type="number"
                      min={1}
                      max={SLOTS}
                      value={slots}
                      onChange={(event) => setSlots(event.target.value)}
                    />
                  )}
                </Field>
              </>
            )}
            <Button type="submit" tone="primary" busy={move.isPending}>
              {texts.shards.move}
            </Button>
          </>
        )}
      </Form>
    </Sheet>
  );
}
