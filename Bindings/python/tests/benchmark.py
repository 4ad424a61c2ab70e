"""What a call costs, in microseconds: the least of several rounds. usage: benchmark.py FILE ROOT"""

import sys
import threading
import time
from pathlib import Path

from appstorereceipt import Verifier

evidence, root = (Path(name).read_bytes() for name in sys.argv[1:])
verifier = Verifier(roots=[root])
for name, call in {
    "Python, no JSON": verifier.accepts, "Python, JSON as text": verifier.verdict_json, "Python, Evidence": verifier.verify,
}.items():
    least = 1e9
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(500):
            call(evidence)
        least = min(least, (time.perf_counter() - start) / 500)
    print(f"{name:24} {least * 1e6:6.1f} µs")


def work() -> None:
    for _ in range(5000):
        verifier.accepts(evidence)


def seconds(count: int) -> float:
    threads = [threading.Thread(target=work) for _ in range(count)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


print(f"two threads: {max(2 * seconds(1) / seconds(2) for _ in range(5)):.2f} times the calls of one")
