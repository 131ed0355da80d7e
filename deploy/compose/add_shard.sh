#!/bin/sh
# Add a shard once, and spread the new work over all of them: add_shard.sh NAME FILE
#
# The file has the address of its PostgreSQL in the first line, that of its Redis in the second. They are read from standard
# input, so that no list of processes shows them.
set -eu
name=$1 file=$2
if drumline shards get "$name" > /dev/null 2>&1; then
    echo "the shard $name is there already"
    exit 0
fi
drumline shards add "$name" --store-url - --queue-url - < "$file"
drumline shards move --evenly
