"""Recording what scripts do: the recorder, its files, and what a recording says."""

from zkkit.record.export import BadRecording, MissingExtra, read_jsonl, read_parquet
from zkkit.record.frames import Row
from zkkit.record.recorder import Recorder
from zkkit.record.tap import tap

__all__ = ["BadRecording", "MissingExtra", "Recorder", "Row", "read_jsonl", "read_parquet", "tap"]
