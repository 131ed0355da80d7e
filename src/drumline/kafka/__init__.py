"""Kafka as the bus: events and dead letters, each in a topic, kept by all in-sync brokers before they count as sent.

`bus.py` is the only file that talks to Kafka, in a thread of its own. Nothing here decides what is sent, or when.
"""

from drumline.kafka.bus import KafkaBus
from drumline.kafka.options import KafkaOptions, Login, Tls, Topic, brokers_of

__all__ = ["KafkaBus", "KafkaOptions", "Login", "Tls", "Topic", "brokers_of"]
