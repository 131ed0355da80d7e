import { PREFIX } from "@/api/place";
import { CodeBlock } from "@/parts/CodeBlock";
import { Empty } from "@/parts/States";
import { firstTask } from "@/parts/snippets";
import { texts } from "@/texts";

/** The first visit: how to bring in a task, for this very server. */
export function FirstTask() {
  return (
    <Empty title={texts.tasks.waitingForYourFirstTask}>
      <p>{texts.tasks.submitOneAndItAppears}</p>
      <CodeBlock code={firstTask(location.origin + PREFIX)} what={texts.overview.command} />
    </Empty>
  );
}
