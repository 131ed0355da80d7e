"""A private Kafka: one process that is broker and controller, with a plain listener and one with TLS and a login."""

import shutil
import signal
import subprocess
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from scripts import programs
from tests.harness.programs import Program, free_port, path_of, private_folder

JAVA = [
    *("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
]
"""Quick to start, small to keep, and slower than it could be."""
START_SECONDS = 100.0
"""Two seconds on a quiet machine; a virtual machine within a busy one takes its time."""
USER, PASSWORD = "drumline", "a secret"

SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAIN:PLAINTEXT,GUARDED:SASL_SSL",
    "inter.broker.listener.name": "PLAIN",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.guarded.plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        f'username="{USER}" password="{PASSWORD}" user_{USER}="{PASSWORD}";'
    ),
    "ssl.keystore.type": "PEM",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    # One that was killed is not let in again before its last session is over.
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "800",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.enable": "false",
    "num.network.threads": "1",
    "num.io.threads": "2",
    "background.threads": "1",
}


def missing() -> str | None:
    """Return why there is no Kafka to be had, or None if there is."""
    return programs.missing("kafka")


class KafkaServer:
    """A broker in a folder of its own, on ports of its own. What it has acknowledged survives its being killed."""

    def __init__(self) -> None:
        self._folder = private_folder("kafka", None)
        self.certificate = _certificate(self._folder)
        self._port, self._guarded_port, controller = free_port(), free_port(), free_port()
        listeners = f"PLAIN://127.0.0.1:{self._port},GUARDED://127.0.0.1:{self._guarded_port}"
        settings = SETTINGS | {
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"{listeners},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": listeners,
            "log.dirs": str(self._folder / "data"),
            "ssl.keystore.location": str(self._folder / "keystore.pem"),
        }
        properties = self._folder / "server.properties"
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        self._program = Program(_java("kafka.Kafka", properties), folder=self._folder, user=None, port=self._port)
        try:
            self._format(properties)
            self.start()
        except BaseException:
            self.remove()
            raise

    @property
    def broker(self) -> str:
        """The broker's address."""
        return f"127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        """Its process."""
        return self._program.pid

    @property
    def guarded_broker(self) -> str:
        """The address at which it wants TLS and a login."""
        return f"127.0.0.1:{self._guarded_port}"

    def url(self) -> str:
        """Return the address as the settings want it."""
        return f"kafka://{self.broker}"

    def start(self) -> None:
        """Start, and wait until it answers."""
        self._program.start(lambda: self._program.accepts() and answers(self.broker), seconds=START_SECONDS)

    def kill(self) -> None:
        """Stop at once."""
        self._program.stop(signal.SIGKILL)

    def freeze(self) -> None:
        """Let it answer nothing, with its connections open."""
        self._program.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._program.signal(signal.SIGCONT)

    def remove(self) -> None:
        """Stop, and leave nothing behind."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _format(self, properties: Path) -> None:
        # The tool takes an id that begins with a dash for an option.
        cluster = urlsafe_b64encode(b"d" + uuid.uuid4().bytes[1:]).rstrip(b"=").decode()
        command = _java("kafka.tools.StorageTool", "format", "-t", cluster, "-c", properties)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def answers(broker: str) -> bool:
    """Tell whether a broker answers."""
    try:
        return bool(AdminClient({"bootstrap.servers": broker, "log_level": 0}).list_topics(timeout=2).brokers)
    except KafkaException:
        return False


def _java(main: str, *arguments: object) -> list[str]:
    jar = programs.find_files("kafka")
    assert jar is not None
    return [path_of("java"), *JAVA, "-cp", f"{jar.parent}/*", main, *map(str, arguments)]


def _certificate(folder: Path) -> Path:
    """Make a certificate for this machine, and the file with its key that the broker wants; return the former."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = [
        path_of("openssl"),
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=127.0.0.1",
    ]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (folder / "keystore.pem").write_text(key.read_text() + certificate.read_text())
    return certificate
