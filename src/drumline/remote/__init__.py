"""The engine behind HTTP: a gateway for workers that have an address and a key, and nothing else."""

from drumline.remote.gateway import RemoteGateway

__all__ = ["RemoteGateway"]
