"""What all tests share."""

import signal

import pytest

pytest.register_assert_rewrite("tests.support")
pytest_plugins = ["zkkit.testing.fixtures", "tests.support.fixtures"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what it runs in the background so, and it is handed down to every process that
    # a test starts: none of them would notice the Ctrl-C it is tested with.
    signal.signal(signal.SIGINT, signal.default_int_handler)
