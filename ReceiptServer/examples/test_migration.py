"""Runs the statements and commands of MIGRATION.md on MariaDB, and compares the balances with the ledger's grants.
`test` runs it."""

import argparse
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = (HERE.parent / "MIGRATION.md").read_text()
DELIVER = (HERE.parent / "TUTORIAL.md").read_text()
# Names with case, spaces at their end and accents are other users; ids have 15 digits, which a spreadsheet would
# shorten.
ROWS = """
INSERT INTO purchases (user_id, transaction_id, original_transaction_id, product_id, quantity, paid_at, vip_until, refunded) VALUES
    (7, '340000000000001', NULL, 'com.example.coins', 3, '2025-06-15 12:00:00', NULL, 0),
    (7, '340000000000002', NULL, 'com.example.coins', 1, '2025-06-15 23:59:59', NULL, 1),
    (8, '340000000000003', NULL, 'com.example.vip', 1, '2025-06-16 00:00:00', NULL, 0),
    (8, '340000000000004', '340000000000004', 'com.example.monthcard', 1, '2025-06-17 08:00:00', '2025-07-17 08:00:00', 0),
    (9, '340000000000005', '340000000000005', 'com.example.monthly', 1, '2025-06-17 08:00:00', '2025-07-17 08:00:00', 0),
    (9, '340000000000006', '340000000000005', 'com.example.monthly', 1, '2025-07-17 08:00:00', '2025-08-17 08:00:00', 0),
    (9, NULL, NULL, 'com.example.gift', 1, '2025-07-17 08:00:00', NULL, 0);
"""


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def statement(page, start):
    """The one statement of a page that begins so."""
    found = [each for block in blocks(page, "sql") for each in re.findall(rf"^{start}.*?;$", block, re.DOTALL | re.MULTILINE)]
    assert len(found) == 1, f"{start}: {len(found)} statements"
    return found[0]


def command(start):
    """The options of the one command of the page that begins so."""
    found = [line for block in blocks(PAGE, "sh") for line in block.splitlines() if re.match(start, line)]
    assert len(found) == 1, f"{start}: {len(found)} commands"
    return found[0]


class MariaDB:
    def __init__(self, folder):
        self.folder, self.socket = folder, str(folder / "socket")
        subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={folder}/data", "--auth-root-authentication-method=normal", *self.user()],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.process = subprocess.Popen(
            ["mariadbd", "--no-defaults", f"--datadir={folder}/data", f"--socket={self.socket}", "--skip-networking",
             f"--pid-file={folder}/pid", "--innodb-buffer-pool-size=32M", *self.user()],
            stdout=subprocess.DEVNULL, stderr=open(folder / "log", "wb"))
        deadline = time.monotonic() + 60
        while self.run("SELECT 1", "mysql", check=False).returncode:
            if time.monotonic() > deadline or self.process.poll() is not None:
                sys.exit("MariaDB does not start: " + (folder / "log").read_text(errors="replace")[-2000:])
            time.sleep(0.1)

    @staticmethod
    def user():
        return ["--user=root"]

    def run(self, text, database="shop", check=True):
        """As the page says."""
        words = command("mysql ").split(" shop <")[0].split()
        return subprocess.run([*words[:1], "--no-defaults", f"--socket={self.socket}", "-uroot", *words[1:], database], input=text.encode(),
                              capture_output=True, check=check)

    def rows(self, text):
        return [line.split("\t") for line in self.run(text).stdout.decode().splitlines()]

    def stop(self):
        self.process.terminate()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", choices=["debug", "release"], required=True)
    arguments = parser.parse_args()
    if not shutil.which("mariadbd"):
        print("migration: skipped, MariaDB is not installed")
        return
    server = HERE.parent.parent / ".build" / arguments.programs / "receipt-server"
    folder = Path(tempfile.mkdtemp())
    database = MariaDB(folder)
    try:
        database.run("CREATE DATABASE shop CHARACTER SET utf8mb4", "mysql")
        database.run(statement(PAGE, "CREATE TABLE purchases") + ROWS + statement(DELIVER, "CREATE TABLE balances"))
        file = folder / "purchases.jsonl"
        file.write_bytes(database.run(statement(PAGE, "SELECT JSON_OBJECT")).stdout)
        assert len(file.read_bytes().splitlines()) == 6

        def run(start):
            words = command(start).replace('"old shop"', "old").split()[1:]
            words = [str({"purchases.jsonl": file, "ledger.db": folder / "ledger.db"}.get(word, word)) for word in words]
            return subprocess.run([server, *words], capture_output=True, text=True)

        made = run("receipt-server init")
        assert made.returncode == 0, made
        for expected in [0, 1]:
            tried = run(r"receipt-server import purchases.*--dry-run$")
            assert tried.returncode == 0 and f"added {6 * (1 - expected)}\n" in tried.stdout, tried
            for _ in range(2):
                database.run(statement(PAGE, "INSERT IGNORE INTO balances"))
            done = run(r"receipt-server import purchases.*--reason")
            assert done.returncode == 0 and f"added {6 * (1 - expected)}\n" in done.stdout, done
        assert run("receipt-server import --runs").stdout.count('"reason":"old"') == 2
        balances = database.rows("SELECT account, environment, bundle_id, granted_as, product_id FROM balances ORDER BY granted_as")
        with sqlite3.connect(folder / "ledger.db") as ledger:
            grants = ledger.execute("SELECT account, environment, bundle_id, transaction_id, product_id FROM grants JOIN identifiers ON id = identifier_id ORDER BY transaction_id").fetchall()
            dates = ledger.execute("SELECT granted_at FROM grants JOIN identifiers ON id = identifier_id ORDER BY transaction_id LIMIT 2").fetchall()
        assert [tuple(row) for row in balances] == grants, f"{balances}\n{grants}"
        # 12:00:00 in Shanghai.
        assert dates[0][0] == 1_749_960_000_000, dates
        known = database.rows("SELECT granted_as, quantity, COALESCE(until, '-') FROM balances ORDER BY granted_as")
        lengths = database.rows("SELECT granted_as, purchase_date, length FROM balances WHERE length IS NOT NULL")
        assert lengths == [["340000000000004", "2025-06-17T00:00:00Z", "P30D"]], lengths
        assert [row[1:] for row in known] == [
            ["3", "-"], ["0", "-"], ["1", "-"], ["1", "2025-07-17T00:00:00Z"], ["1", "2025-07-17T00:00:00Z"], ["1", "2025-08-17T00:00:00Z"]], known
        # What the ledger says later counts, by the statement of "Deliver".
        told = statement(DELIVER, "INSERT INTO balances")
        values = ["'8'", "'production'", "'com.example.app'", "'340000000000003'", "'com.example.vip'", "0", "NULL", "5", "NULL", "NULL"]
        for value in values:
            told = told.replace("?", value, 1)
        database.run(told)
        assert database.rows("SELECT quantity FROM balances WHERE granted_as = '340000000000003'") == [["0"]]
        database.run(statement(PAGE, "INSERT IGNORE INTO balances"))
        assert database.rows("SELECT quantity FROM balances WHERE granted_as = '340000000000003'") == [["0"]]
        print(f"migration: {len(grants)} grants, the balances of MariaDB and the ledger agree")
    finally:
        database.stop()
        shutil.rmtree(folder)


main()
