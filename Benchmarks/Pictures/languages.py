"""Converts the output of Bindings/benchmark to JSON: the least time of a call, by language.

usage: Bindings/benchmark | languages.py
"""

import json
import re
import sys

least = {}
# The line of Swift itself, "verify, from Swift", is no language's: it begins with a small letter.
for line in sys.stdin:
    if match := re.match(r"([A-Z]\S*), (.+?)\s+([\d.]+) µs$", line.strip()):
        key, time = match.group(1, 2), float(match.group(3))
        least[key] = min(time, least.get(key, time))
json.dump([{"language": language, "call": call, "microseconds": time} for (language, call), time in least.items()], sys.stdout, indent=1)
