"""What holds for every test."""

import signal


def pytest_configure() -> None:
    """Ctrl-C reaches the programs that tests start, though whoever started the tests may ignore it (a shell does so for what it runs
    in the background, and what it starts inherits that)."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
