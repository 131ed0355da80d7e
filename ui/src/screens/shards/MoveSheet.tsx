import { useState } from "react";
import { call } from "@/api/client";
import type { ShardBody } from "@/api/types";
import { useAct } from "@/parts/act";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { Sheet } from "@/parts/Sheet";
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
      done: (moved) => `${moved.slots.toLocaleString("en")} slots are moved`,
      changes: [["shards"]],
      afterwards: onClose,
      inDialog: true,
    },
  );
  return (
    <Sheet title="Move slots" onClose={onClose}>
      <p>New tasks of these slots go to the other shard. Tasks that are stored stay where they are.</p>
      <Form error={move.error} fields={["taker", "giver", "slots"]} onSubmit={() => move.mutate(undefined)}>
        {(at) => (
          <>
            <Field label="To" problem={at("taker")}>
              {(props) => (
                <select {...props} value={taker} onChange={(event) => setTaker(event.target.value)}>
                  <option value="">All active shards, evenly</option>
                  {shards
                    .filter((shard) => shard.state === "active")
                    .map((shard) => (
                      <option key={shard.name}>{shard.name}</option>
                    ))}
                </select>
              )}
            </Field>
            {taker && (
              <>
                <Field label="From" problem={at("giver")}>
                  {(props) => (
                    <select {...props} value={giver} onChange={(event) => setGiver(event.target.value)}>
                      <option value="">Those that have most</option>
                      {shards
                        .filter((shard) => shard.slots > 0 && shard.name !== taker)
                        .map((shard) => (
                          <option key={shard.name}>{shard.name}</option>
                        ))}
                    </select>
                  )}
                </Field>
                <Field
                  label="Slots"
                  hint={giver ? `Without a number, all that ${giver} has` : "Without a number, as many as make it even"}
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
              Move
            </Button>
          </>
        )}
      </Form>
    </Sheet>
  );
}
