"""Posts receipts to `gunicorn --preload` while its workers restart, after a number of requests and at a signal."""

import http.client
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

VECTORS = Path(__file__).resolve().parents[3] / "TestVectors"

REQUESTS = [
    ("receipts/1-purchase.der", (200, "com.example.app")),
    ("requests/json.json", (200, "com.example.app")),
    ("certificates/stranger.der", (403, "untrusted-chain")),
    ("asn1/empty.der", (400, "empty-input")),
]


class Gunicorn(unittest.TestCase):
    def setUp(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        self.server = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "--preload", "--workers", "3", "--threads", "2", "--max-requests", "40",
             "--max-requests-jitter", "20", "--bind", f"fd://{listener.fileno()}", "--log-level", "error", "application"],
            pass_fds=[listener.fileno()], cwd=Path(__file__).parent)
        listener.close()

    def tearDown(self):
        self.server.kill()
        self.server.wait()

    def post(self, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("POST", "/", body, {"Connection": "close"})
        response = connection.getresponse()
        found = response.status, response.read().decode()
        connection.close()
        return found, response.getheader("X-Worker")

    def test_verdicts_are_right_while_workers_restart(self):
        wrong, workers = [], set()
        end = time.monotonic() + 3

        def client():
            while time.monotonic() < end:
                for file, expected in REQUESTS:
                    try:
                        found, worker = self.post((VECTORS / file).read_bytes())
                        workers.add(worker)
                    except Exception as error:
                        found = error
                    if found != expected:
                        wrong.append((file, found))
                    count[0] += 1

        count = [0]
        clients = [threading.Thread(target=client) for _ in range(6)]
        for thread in clients:
            thread.start()
        for _ in range(2):
            time.sleep(1)
            self.server.send_signal(signal.SIGHUP)
        for thread in clients:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertGreater(len(workers), 6)
        self.server.terminate()
        self.assertEqual(self.server.wait(30), 0)
        print(f"gunicorn: {count[0]} requests to {len(workers)} workers")


if __name__ == "__main__":
    unittest.main()
