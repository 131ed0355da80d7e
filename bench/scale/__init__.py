"""What happens to Drumline when there is much of something: scheduled tasks, kept tasks, workers, time.

    python -m bench.scale NAME [--quick]

One file for each NAME; `rack.py` starts what they all need. Every one has servers of its own, prints a table and then
one line of JSON, and says in `holds` whether what was promised came true.
"""
