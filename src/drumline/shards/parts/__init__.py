"""The aggregates of `shards.store.ShardedStore`, each over several stores."""
