"""``python -m appstorereceipt FILE...`` prints a verdict as JSON for each file. The exit status is 1 if one was
refused."""

import argparse
import sys
from pathlib import Path

from . import Verifier, version

parser = argparse.ArgumentParser(
    prog="python -m appstorereceipt", description=__doc__, argument_default=argparse.SUPPRESS)
parser.add_argument("files", nargs="+", metavar="FILE", help="'-' is standard input")
parser.add_argument("--bundle-id", dest="bundle_id", action="append", help="accept this app only")
parser.add_argument("--environment", dest="environments", action="append", help="accept this environment only; both by default")
parser.add_argument(
    "--root", dest="roots", action="append", type=lambda file: Path(file).read_bytes(), help="trust these certificates instead of Apple's")
parser.add_argument("--version", action="version", version=version)
settings = vars(parser.parse_args())
files = settings.pop("files")
verifier = Verifier(**{"environments": ("production", "sandbox"), **settings})
status = 0
for name in files:
    verdict = verifier.verdict_json(sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes())
    print(verdict)
    if not verdict.startswith('{"verified":true'):
        status = 1
sys.exit(status)
