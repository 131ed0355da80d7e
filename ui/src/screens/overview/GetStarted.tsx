import { Link } from "@tanstack/react-router";
import { PREFIX } from "@/api/place";
import { CodeBlock } from "@/parts/CodeBlock";
import { Panel } from "@/parts/Panel";
import { firstTask, START_DEMO } from "@/parts/snippets";
import { texts } from "@/texts";
import css from "./Overview.module.css";

/** What to do on a server that has no task yet; it goes when the first one comes. */
export function GetStarted() {
  return (
    <Panel title={texts.overview.getStarted} aside={<a href={`${PREFIX}/docs/`}>{texts.shell.documentation}</a>}>
      <ol className={css.steps}>
        <li>
          <h3>{texts.overview.submitATask}</h3>
          <p>{texts.overview.theWorkerRunsIt}</p>
          <CodeBlock code={firstTask(location.origin + PREFIX)} what={texts.overview.command} />
        </li>
        <li>
          <h3>{texts.overview.runYourCode}</h3>
          <p>{texts.overview.aTaskIsAFunction}</p>
          <CodeBlock code={PYTHON} what={texts.overview.code} />
        </li>
        <li>
          <h3>{texts.overview.seeTheDemo}</h3>
          <p>{texts.overview.theDemoFillsEveryScreen}</p>
          <CodeBlock code={START_DEMO} what={texts.overview.command} />
          <p>
            <Link to="/types">{texts.overview.allTaskTypes}</Link>
          </p>
        </li>
      </ol>
    </Panel>
  );
}

const PYTHON = `from drumline import Drumline

app = Drumline("hello")

@app.task(retries=3)
def add(a: int, b: int) -> int:
    return a + b

# drumline dev hello.py`;
