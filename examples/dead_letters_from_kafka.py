"""Read the tasks that failed for good from Kafka, with nothing of Drumline: any language could do this.

    pip install confluent-kafka
    python examples/dead_letters_from_kafka.py 127.0.0.1:9092

A message is a CloudEvent. It may come twice, after somebody died in between: its id tells.
"""

import argparse
import json
from typing import Any

from confluent_kafka import Consumer


def main() -> None:
    arguments = parse_arguments()
    consumer = Consumer(
        {
            "bootstrap.servers": arguments.broker,
            "group.id": arguments.group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,  # what was read counts as read only when it has been dealt with
        }
    )
    consumer.subscribe([arguments.topic])
    seen: set[str] = set()
    try:
        while arguments.count is None or len(seen) < arguments.count:
            message = consumer.poll(1.0)
            if message is None:
                continue
            if message.error() is not None:
                print("waiting:", message.error())
                continue
            event = json.loads(message.value() or b"{}")
            if event["id"] not in seen:  # a program that lives long would remember ids in its database
                seen.add(event["id"])
                deal_with(event["data"])
            consumer.commit(message=message)
    finally:
        consumer.close()


def deal_with(letter: dict[str, Any]) -> None:
    error = letter.get("error", {})
    print(f"{letter['failed_at']}  {letter['name']}  {letter['reason']}  {error.get('kind')}: {error.get('message')}")
    print(f"    task {letter['task']}, {len(letter['attempts'])} attempts, payload {json.dumps(letter.get('payload'))}")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Print the tasks that failed for good.")
    parser.add_argument("broker", help="such as 127.0.0.1:9092")
    parser.add_argument("--topic", default="drumline.dead-letters")
    parser.add_argument("--group", default="dead-letters-example")
    parser.add_argument("--count", type=int, help="stop after so many")
    return parser.parse_args()


if __name__ == "__main__":
    main()
