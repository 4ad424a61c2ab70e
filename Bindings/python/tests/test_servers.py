"""Posts receipts to Gunicorn with `--preload`, and to uWSGI, while their workers restart: after a number of requests,
and Gunicorn's at a signal, too."""

import contextlib
import http.client
import os
import shutil
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


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Server:
    """The tests of both servers. The command makes three workers, forked from a process that verifies in another
    thread."""

    def setUp(self):
        self.port = free_port()
        self.server = subprocess.Popen(self.command(f"127.0.0.1:{self.port}"), cwd=Path(__file__).parent, start_new_session=True)
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        self.fail("the server does not listen")

    def tearDown(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.server.pid, signal.SIGKILL)
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
            self.restart()
        for thread in clients:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertGreater(len(workers), 3)
        self.end()
        print(f"{type(self).__name__}: {count[0]} requests to {len(workers)} workers")


class Gunicorn(Server, unittest.TestCase):
    def restart(self):
        self.server.send_signal(signal.SIGHUP)

    def end(self):
        self.server.terminate()
        self.assertEqual(self.server.wait(60), 0)

    def command(self, address):
        return [sys.executable, "-m", "gunicorn", "--preload", "--workers", "3", "--threads", "2", "--max-requests", "40",
                "--max-requests-jitter", "20", "--bind", address, "--log-level", "error", "application"]


@unittest.skipUnless(shutil.which("uwsgi_python3"), "uwsgi_python3 of Debian is not installed")
class UWSGI(Server, unittest.TestCase):
    def restart(self):
        """Its workers end after ten requests. At a signal, its master would start again, with another verifier."""

    def end(self):
        """tearDown kills it: no signal ends uWSGI 2.0.21 if its master has a thread of the application, whatever it
        does."""

    def command(self, address):
        # Without the hooks of fork, a worker never gets the interpreter's lock (GIL) that another thread of the master
        # had (unbit/uwsgi#2387).
        return ["uwsgi_python3", "--virtualenv", sys.prefix, "--module", "application", "--master", "--processes", "3",
                "--enable-threads", "--py-call-uwsgi-fork-hooks", "--no-orphans", "--max-requests", "10", "--min-worker-lifetime", "1", "--http-socket", address, "--die-on-term", "--disable-logging", "--logto", os.devnull]


if __name__ == "__main__":
    unittest.main()
