"""The report of a run: `report.json` for programs and `report.md` for people.

`python -m tests.chaos.report FOLDER` compares the accounts in the trace of a run again and prints its report;
`python -m tests.chaos.report FOLDER NAME` publishes the report.
"""

import json
import shutil
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.chaos.faults import Injector
from tests.chaos.judge import Double, Verdict, judge
from tests.chaos.state import RunState
from tests.evidence import trace
from tests.evidence.results import FOLDER, Chaos, Finding, save
from tests.evidence.trace import Fault

TOLD = 200
SLOWEST = 5
Body = dict[str, Any]


def report_of(state: RunState, injector: Injector, faults: list[Fault], verdict: Verdict, judges: Body) -> Body:
    """Return all that is known of a run."""
    counted = Counter(fault.kind for fault in faults if fault.kind != "replace")
    return {
        "command": f'make chaos MINUTES={state.minutes:g} SEED={state.seed} ARGS="{state.further}"',
        "version": state.version,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "stores": injector.installation.versions(),
        "minutes": round(state.elapsed / 60, 2),
        "resumed": state.resumes,
        "faults": sum(counted.values()),
        "faults_per_hour": round(sum(counted.values()) / max(state.elapsed, 1) * 3600),
        "faults_by_kind": dict(counted.most_common()),
        "skipped": injector.installation.skipped,
        **_figures(verdict),
        "exits": [
            {"at": round(each.at, 1), "process": each.name, "status": each.status, "lines": each.lines}
            for each in injector.exits
        ],
        "broken_faults": injector.broken,
        "version_before": before.commit if (before := injector.installation.before) else "",
        "replaced": dict(Counter(str(fault.detail.get("to")) for fault in faults if fault.kind == "replace")),
        "judges": judges,
        "verdict": _word(verdict, judges),
    }


def _figures(verdict: Verdict) -> Body:
    """Return what the comparison of the accounts gave."""
    return {
        "submitted": verdict.submitted,
        "stored": verdict.stored,
        "completed": verdict.states["COMPLETED"],
        "states": dict(verdict.states),
        "executions": verdict.executions,
        "lost": verdict.lost[:TOLD],
        "doubles": len(verdict.doubles),
        "doubles_by_fault": dict(Counter(_cause(double) for double in verdict.doubles).most_common()),
        "doubles_explained": [_double(double) for double in verdict.doubles],
        "unexplained": len(verdict.unexplained),
        "violations": verdict.violations[:TOLD],
        "slowest": [_double(double) for double in slowest(verdict.doubles)],
    }


def _word(verdict: Verdict, judges: Body) -> str:
    return "good" if verdict.is_good and all(each["good"] for each in judges.values()) else "bad"


def judge_again(folder: Path) -> Body:
    """Judge the trace of a run again, and write its report anew."""
    verdict = judge(trace.read(folder / "trace.jsonl"))
    report: Body = json.loads((folder / "report.json").read_text())
    report |= _figures(verdict) | {"verdict": _word(verdict, report["judges"])}
    write_report(folder, report)
    return report


def write_report(folder: Path, report: Body) -> None:
    """Leave the report in both forms."""
    (folder / "report.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    (folder / "report.md").write_text(_page(report), encoding="utf-8")


def publish(folder: Path, name: str) -> Path:
    """Copy the report and the fault log to where the repository keeps evidence, and return the file of the result."""
    report: Body = json.loads((folder / "report.json").read_text())
    target = FOLDER / "chaos"
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(folder / "report.md", target / f"{name}.md")
    shutil.copy(folder / "faults.jsonl", target / f"{name}.faults.jsonl")
    return save(f"chaos/{name}.json", _result(report, f"evidence/chaos/{name}.faults.jsonl"))


def _result(report: Body, fault_log: str) -> Chaos:
    """Return what docs/evidence.md shows of a report."""
    findings = [*report["lost"], *report["violations"]]
    findings += [str(each) for each in report["doubles_explained"] if each["fault"] is None]
    findings += [f"{name}: {each}" for name, judge in report["judges"].items() for each in judge.get("findings", ())]
    return Chaos(
        command=report["command"],
        commit=report["version"],
        date=report["date"],
        seconds=report["minutes"] * 60,
        stores=report["stores"],
        faults=report["faults_by_kind"],
        fault_log=fault_log,
        acknowledged=report["submitted"],
        completed=report["completed"],
        executions=report["executions"],
        lost=len(report["lost"]),
        explained=tuple(_sentence(each) for each in report["doubles_explained"] if each["fault"]),
        judged_by=("comparison of the three accounts", *report["judges"]),
        verdicts={name: judge["said"] for name, judge in report["judges"].items()},
        upgraded_from=report["version_before"] or None,
        replaced=sum(report["replaced"].values()),
        slowest=max((each["again"] - each["began"] for each in report["slowest"]), default=None),
        findings=tuple(Finding(where="trace.jsonl of the run", what=what) for what in findings),
    )


def _sentence(double: Body) -> str:
    fault = double["fault"] or {"kind": "no fault", "target": "anything", "at": "any time"}
    ran = f"{double['task']} began on {double['worker']} at {double['began']} and again at {double['again']}"
    return f"{ran}: {fault['kind']} of {fault['target']} at {fault['at']} ({double['how']})"


def _page(report: Body) -> str:
    figures = ("minutes", "resumed", "faults", "faults_per_hour", "submitted", "stored", "completed", "executions")
    rows = [f"| {name.replace('_', ' ')} | {report[name]} |" for name in figures]
    rows += [f"| lost | {len(report['lost'])} |", f"| doubles | {report['doubles']} |"]
    rows += [f"| doubles that no fault explains | {report['unexplained']} |"]
    rows += [f"| violations | {len(report['violations'])} |", f"| exits of processes | {len(report['exits'])} |"]
    return "\n".join(
        [
            f"# Chaos: {report['verdict']}",
            "",
            f"`{report['command']}` at {report['version']}",
            "",
            "| | |",
            "|---|---|",
            *rows,
            "",
            *_list("Faults", report["faults_by_kind"].items()),
            *_list("Faults that could not be injected", report["skipped"].items()),
            *_list("Double executions by the fault that explains them", report["doubles_by_fault"].items()),
            *_list(
                "Longest times until a task began again",
                [(_seconds(each), _sentence(each)) for each in report["slowest"]],
            ),
            *_list("States", report["states"].items()),
            *_list("Rolling upgrades: processes replaced, by version", _versions(report)),
            *_list("Faults whose injection or repair failed", list(enumerate(report["broken_faults"], 1))),
            *_list("Judges", [(name, judge["said"]) for name, judge in report["judges"].items()]),
            *_list("Violations", [(str(number), text) for number, text in enumerate(report["violations"], 1)]),
        ]
    )


def _list(title: str, items: Any) -> list[str]:
    return [f"## {title}", "", *(f"- {name}: {value}" for name, value in items), ""] if items else []


def slowest(doubles: list[Double]) -> list[Double]:
    """Return the executions that were repeated latest after they had begun, the worst first."""
    return sorted(doubles, key=lambda double: double.began - double.again)[:SLOWEST]


def _seconds(double: Body) -> str:
    return f"{double['again'] - double['began']:.1f} s"


def _versions(report: Body) -> list[tuple[str, str]]:
    names = {"before": f"the version before ({report['version_before'][:12]})", "now": "this version"}
    return [(names[to], f"{count} times") for to, count in report["replaced"].items() if to in names]


def _cause(double: Double) -> str:
    return "none" if double.fault is None else f"{double.fault.kind} {double.fault.target}"


def _double(double: Double) -> Body:
    fault = double.fault
    cause = None if fault is None else {"kind": fault.kind, "target": fault.target, "at": round(fault.at, 3)}
    moments = {"began": round(double.began, 3), "again": round(double.again, 3)}
    return {"task": double.task, "worker": double.worker, **moments, "fault": cause, "how": double.how}


if __name__ == "__main__":
    if sys.argv[2:]:
        publish(Path(sys.argv[1]), sys.argv[2])
    else:
        judge_again(Path(sys.argv[1]))
        sys.stdout.write((Path(sys.argv[1]) / "report.md").read_text())
