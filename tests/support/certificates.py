"""Certificates for the tests of TLS, made by the openssl command."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def certificate(directory: Path, name: str) -> tuple[str, str]:
    """A self-signed certificate for loopback, and its key. Skips the test where openssl is
    missing."""
    if shutil.which("openssl") is None:
        pytest.skip("the openssl command makes the test's certificates")
    cert, key = str(directory / f"{name}.crt"), str(directory / f"{name}.key")
    command = [
        *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
        *("-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"),
        *("-keyout", key, "-out", cert),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return cert, key
