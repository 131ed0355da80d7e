import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus, Send, Trash2 } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { every } from "@/api/queries";
import type { DeliveryBody, SubscriptionBody } from "@/api/types";
import { useAct } from "@/parts/act";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { Mark, type Tone, word } from "@/parts/Mark";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Empty, Unloaded } from "@/parts/States";
import { Table } from "@/parts/Table";
import { Time } from "@/parts/Time";
import { NewSubscriptionSheet } from "./NewSubscriptionSheet";
import css from "./Notifications.module.css";

/** Who is told of what, and whether it reached them. */
export function Notifications() {
  const mayWrite = useMay("subscriptions:write");
  const [isMaking, setMaking] = useState(false);
  const subscriptions = useQuery({
    queryKey: ["subscriptions"],
    queryFn: ({ signal }) => call("GET /api/v1/subscriptions", { signal }),
  });
  return (
    <div className={css.screen}>
      <ScreenHead title="Notifications">
        {mayWrite && (
          <Button icon={Plus} onClick={() => setMaking(true)}>
            New subscription
          </Button>
        )}
      </ScreenHead>
      <Panel title="Subscriptions" flush>
        {subscriptions.data === undefined ? (
          <Unloaded of={subscriptions} rows={3} />
        ) : subscriptions.data.items.length === 0 ? (
          <Empty title="No subscriptions yet">
            <p>A subscription sends events to a webhook or by mail. A task can also name its own targets.</p>
          </Empty>
        ) : (
          <Table head={["Name", "Events", "To", "State", ""]}>
            {subscriptions.data.items.map((subscription) => (
              <Subscription key={subscription.id} subscription={subscription} mayWrite={mayWrite} />
            ))}
          </Table>
        )}
      </Panel>
      <Deliveries mayWrite={mayWrite} />
      {isMaking && <NewSubscriptionSheet onClose={() => setMaking(false)} />}
    </div>
  );
}

function Subscription({ subscription, mayWrite }: { subscription: SubscriptionBody; mayWrite: boolean }) {
  const { id } = subscription;
  const [isRemoving, setRemoving] = useState(false);
  const changes = [["subscriptions"], ["deliveries"]];
  const test = useAct(() => call("POST /api/v1/subscriptions/{id}/test", { params: { id } }), {
    done: (delivery) => `The test is ${delivery.state}`,
    changes,
  });
  const turn = useAct(
    () => call("PATCH /api/v1/subscriptions/{id}", { params: { id }, body: { enabled: !subscription.enabled } }),
    { changes },
  );
  const remove = useAct(() => call("DELETE /api/v1/subscriptions/{id}", { params: { id } }), {
    done: () => `${subscription.name} is deleted`,
    changes,
    inDialog: true,
  });
  return (
    <tr>
      <th scope="row">{subscription.name}</th>
      <td>{subscription.events.join(", ")}</td>
      <td className={css.target}>{subscription.webhook ?? subscription.email}</td>
      <td>
        {subscription.enabled ? (
          <Mark tone="good">Enabled</Mark>
        ) : (
          <Mark tone="warn">Disabled{subscription.disabled_reason ? `: ${subscription.disabled_reason}` : ""}</Mark>
        )}
      </td>
      <td>
        {mayWrite && (
          <span className={css.acts}>
            <Button icon={Send} busy={test.isPending} onClick={() => test.mutate()}>
              Send a test
            </Button>
            <Button busy={turn.isPending} onClick={() => turn.mutate()}>
              {subscription.enabled ? "Disable" : "Enable"}
            </Button>
            <Button icon={Trash2} tone="danger" onClick={() => setRemoving(true)}>
              Delete
            </Button>
          </span>
        )}
        {isRemoving && (
          <Confirm
            title={`Delete ${subscription.name}?`}
            act="Delete"
            busy={remove.isPending}
            error={remove.error}
            onAct={() => remove.mutate()}
            onClose={() => {
              remove.reset();
              setRemoving(false);
            }}
          >
            {subscription.webhook ?? subscription.email} gets no more notifications.
          </Confirm>
        )}
      </td>
    </tr>
  );
}

function Deliveries({ mayWrite }: { mayWrite: boolean }) {
  const deliveries = useInfiniteQuery({
    queryKey: ["deliveries"],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/v1/deliveries", { query: { limit: 50, cursor: pageParam }, signal }),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: every(5_000),
  });
  const items = deliveries.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Panel title="Deliveries" flush>
      {deliveries.data === undefined ? (
        <Unloaded of={deliveries} rows={3} />
      ) : items.length === 0 ? (
        <Empty title="No deliveries yet" />
      ) : (
        <Table head={["When", "Event", "To", "State", "Attempts", "Answer", ""]}>
          {items.map((delivery) => (
            <Delivery key={delivery.id} delivery={delivery} mayWrite={mayWrite} />
          ))}
        </Table>
      )}
      {deliveries.hasNextPage && (
        <p className={css.more}>
          <Button busy={deliveries.isFetchingNextPage} onClick={() => void deliveries.fetchNextPage()}>
            More
          </Button>
        </p>
      )}
    </Panel>
  );
}

const STATES: Record<string, Tone> = { delivered: "good", pending: "busy", failed: "bad" };

function Delivery({ delivery, mayWrite }: { delivery: DeliveryBody; mayWrite: boolean }) {
  const resend = useAct(() => call("POST /api/v1/deliveries/{id}/resend", { params: { id: delivery.id } }), {
    done: () => "Queued to be sent again",
    changes: [["deliveries"]],
  });
  const isTask = delivery.event_type.startsWith("drumline.task.");
  return (
    <tr>
      <td>
        <Time at={delivery.created_at} />
      </td>
      <th scope="row">
        {isTask ? (
          <Link to="/tasks/$id" params={{ id: delivery.subject }}>
            {delivery.event_type.replace("drumline.", "")}
          </Link>
        ) : (
          delivery.event_type.replace("drumline.", "")
        )}
      </th>
      <td className={css.target}>{delivery.target}</td>
      <td>
        <Mark tone={STATES[delivery.state] ?? "none"}>{word(delivery.state)}</Mark>
      </td>
      <td>{delivery.attempts}</td>
      <td className={css.target}>
        {delivery.error ?? (delivery.status ? `HTTP ${delivery.status}` : (delivery.response ?? ""))}
      </td>
      <td>
        {mayWrite && delivery.state !== "pending" && (
          <Button tone="quiet" busy={resend.isPending} onClick={() => resend.mutate()}>
            Send again
          </Button>
        )}
      </td>
    </tr>
  );
}
