"""The example that reads dead letters does so, with nothing of ours."""

import asyncio
import sys
from pathlib import Path

import pytest

from drumline.core.state import Act
from drumline.kafka import KafkaOptions
from drumline.ports.bus import Channel
from drumline.ports.store import Store
from drumline.scheduler.relay import Relay
from tests.factories import claim_one, open_session, settle, submit

EXAMPLE = Path(__file__).parents[2] / "examples" / "dead_letters_from_kafka.py"


@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
async def test_the_example_prints_every_dead_letter(store: Store, relay: Relay, options: KafkaOptions) -> None:
    ada = await open_session(store)
    tasks = []
    for number in range(3):
        tasks.append(await submit(store, payload={"order": number}, retries=0))
        await settle(store, (await claim_one(store, ada)).lease, Act.FAIL)
    while await relay.pass_once():
        pass

    topic = options.topics[Channel.DEAD_LETTERS].name
    command = [sys.executable, str(EXAMPLE), options.brokers[0], "--topic", topic, "--group", topic, "--count", "3"]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(60):
        output = (await process.communicate())[0].decode()

    assert process.returncode == 0
    for number, task in enumerate(tasks):
        assert f'task {task}, 1 attempts, payload {{"order": {number}}}' in output
    assert output.count("ValueError: oops") == 3
