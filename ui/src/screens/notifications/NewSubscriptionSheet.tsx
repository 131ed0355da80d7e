import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import { Button } from "@/parts/Button";
import { Copy } from "@/parts/Copy";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { Sheet } from "@/parts/Sheet";
import css from "./Notifications.module.css";

/** A form for a subscription. The secret that signs a webhook is shown once. */
export function NewSubscriptionSheet({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [channel, setChannel] = useState<"webhook" | "email">("webhook");
  const [target, setTarget] = useState("");
  const [events, setEvents] = useState("drumline.task.failed");
  const make = useMutation({
    mutationFn: () =>
      call("POST /api/v1/subscriptions", {
        body: { name, [channel]: target, events: events.split(/[\s,]+/).filter(Boolean) },
      }),
    onSettled: () => client.invalidateQueries({ queryKey: ["subscriptions"] }),
  });
  if (make.data) {
    return (
      <Sheet
        title={`${make.data.name} is subscribed`}
        onClose={onClose}
        footer={<Button onClick={onClose}>Done</Button>}
      >
        {make.data.secret ? (
          <>
            <p>The secret that signs what is sent. Copy it now: it is not shown again.</p>
            <p className={css.secret}>
              <code>{make.data.secret}</code>
              <Copy text={make.data.secret} what="secret" />
            </p>
          </>
        ) : (
          <p>Mails go to {make.data.email}.</p>
        )}
      </Sheet>
    );
  }
  return (
    <Sheet
      title="New subscription"
      onClose={onClose}
      footer={
        <Button type="submit" form="subscription" tone="primary" busy={make.isPending}>
          Subscribe
        </Button>
      }
    >
      <Form id="subscription" error={make.error} fields={["name", channel, "events"]} onSubmit={() => make.mutate()}>
        {(at) => (
          <>
            <Field label="Name" problem={at("name")}>
              {(props) => <input {...props} required value={name} onChange={(event) => setName(event.target.value)} />}
            </Field>
            <Field label="Channel">
              {(props) => (
                <select
                  {...props}
                  value={channel}
                  onChange={(event) => setChannel(event.target.value === "email" ? "email" : "webhook")}
                >
                  <option value="webhook">Webhook</option>
                  <option value="email">Email</option>
                </select>
              )}
            </Field>
            <Field label={channel === "webhook" ? "URL" : "Email address"} problem={at(channel)}>
              {(props) => (
                <input
                  {...props}
                  required
                  type={channel === "webhook" ? "url" : "email"}
                  placeholder={channel === "webhook" ? "https://…" : "ops@example.com"}
                  value={target}
                  onChange={(event) => setTarget(event.target.value)}
                />
              )}
            </Field>
            <Field
              label="Events"
              problem={at("events")}
              hint="Types, separated by spaces; drumline.job.* for all of jobs"
            >
              {(props) => (
                <input
                  {...props}
                  required
                  value={events}
                  spellCheck={false}
                  onChange={(event) => setEvents(event.target.value)}
                />
              )}
            </Field>
          </>
        )}
      </Form>
    </Sheet>
  );
}
