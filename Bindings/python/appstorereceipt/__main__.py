"""``python -m appstorereceipt FILE...`` prints a verdict as JSON for each file. The exit status is 1 if one was refused."""

import argparse
import sys
from pathlib import Path
from typing import Any

from . import Verifier, version

parser = argparse.ArgumentParser(prog="python -m appstorereceipt", description=__doc__.split("\n")[0])
parser.add_argument("files", nargs="+", metavar="FILE", help="'-' is standard input")
parser.add_argument("--bundle-id", action="append", help="accept this app only")
parser.add_argument("--environment", action="append", help="accept this environment only; both by default")
parser.add_argument("--root", action="append", type=Path, help="trust these certificates instead of Apple's")
parser.add_argument("--version", action="version", version=version)
options = parser.parse_args()
settings: dict[str, Any] = {"environments": options.environment or ("production", "sandbox")}
if options.bundle_id:
    settings["bundle_id"] = options.bundle_id
if options.root:
    settings["roots"] = [file.read_bytes() for file in options.root]
verifier = Verifier(**settings)
status = 0
for name in options.files:
    evidence = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    verdict = verifier.verdict_json(evidence)
    print(verdict)
    if not verdict.startswith('{"verified":true'):
        status = 1
sys.exit(status)
