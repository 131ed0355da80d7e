import { PREFIX } from "@/api/place";
import { Copy } from "@/parts/Copy";
import { Empty } from "@/parts/States";
import { texts } from "@/texts";

/** The first visit: how to bring in a task, for this very server. */
export function FirstTask() {
  const command = `curl ${location.origin}${PREFIX}/api/v1/tasks -H "X-API-Key: $DRUMLINE_API_KEY" \\
     -d '{"name": "shell", "payload": {"command": ["echo", "hello"]}}'`;
  return (
    <Empty title={texts.tasks.waitingForYourFirstTask}>
      <p>{texts.tasks.submitOneAndItAppears}</p>
      <pre tabIndex={0}>{command}</pre>
      <p>
        <Copy text={command} what="command" />
      </p>
    </Empty>
  );
}
