"""Recording what scripts do: the recorder, its files, and what a recording says.

An event goes one way: a hook is called with it, the `Recorder` keeps it as a row (`read_jsonl` and
`read_parquet` give the same rows from a file), `counts` says what the rows mean, `frames` gives
that as pandas frames, and `zkkit.show` draws from those.
"""

from zkkit.record.counts import Row
from zkkit.record.export import BadRecording, MissingExtra, read_jsonl, read_parquet
from zkkit.record.recorder import Recorder
from zkkit.record.tap import tap

__all__ = ["BadRecording", "MissingExtra", "Recorder", "Row", "read_jsonl", "read_parquet", "tap"]
