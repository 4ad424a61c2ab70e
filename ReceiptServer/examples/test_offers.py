"""Tries each attack of the article "Signing offers" on offers.php. `test-offers` runs it."""

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = Path(sys.argv[1]).resolve()
CASES = HERE.parent.parent / "Bindings/cases/signing"
APP, PRODUCT, TOKEN, DAY = "com.example.app", "com.example.app.auto-renewable", "offers-token-0123456789", 86_400_000


def free_port():
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return each.getsockname()[1]


def send(url, body=None, headers={}):
    asked = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(asked, timeout=60) as response:
            return response.status, json.loads(response.read() or b"{}")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"{}")
    except OSError:
        return 0, {}


def wait(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"not within a minute: {what}")
        time.sleep(0.05)


def now():
    return int(time.time() * 1000)


def subscribe(account, number, environment="Production", **members):
    made = {"transactionId": number, "originalTransactionId": number, "bundleId": APP, "productId": PRODUCT, "type": "Auto-Renewable Subscription",
            "environment": environment, "quantity": 1, "purchaseDate": now() - DAY, "originalPurchaseDate": now() - DAY, "signedDate": now() - 60_000,
            "expiresDate": now() + DAY, "webOrderLineItemId": "9" + number, "subscriptionGroupIdentifier": "1", "inAppOwnershipType": "PURCHASED",
            "appTransactionId": "700" + number} | members
    made = {name: value for name, value in made.items() if value is not None}
    evidence = subprocess.run([PROGRAMS / "receipt", "mint", "--ca", FOLDER / "ca"], input=json.dumps({"transaction": made}), capture_output=True, text=True, check=True).stdout.strip()
    ledger("/v1/redeem", {"account": account, "evidence": evidence})


def ledger(path, body):
    status, answer = send(f"http://127.0.0.1:{SERVER}{path}", body, {"Authorization": "Bearer " + TOKEN})
    assert status == 200, (path, status, answer)


def offer(account, number, request=None, product=PRODUCT, name="winback"):
    body = {"request_id": request or str(uuid.uuid4()), "product_id": product, "offer_id": name, "transaction_id": number}
    return send(f"http://127.0.0.1:{PAGE}/offers", body, {"X-Example-Account": account} if account else {})


def integer(octets):
    octets = octets.lstrip(b"\0")
    octets = (b"\0" if octets[:1] >= b"\x80" else b"") + octets
    return bytes([2, len(octets)]) + octets


def claims(jws):
    header, payload, signature = jws.split(".")
    decoded = lambda part: base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    rs = decoded(signature)
    numbers = integer(rs[:32]) + integer(rs[32:])
    (FOLDER / "signature").write_bytes(bytes([0x30, len(numbers)]) + numbers)
    subprocess.run(["openssl", "dgst", "-sha256", "-verify", CASES / "public.pem", "-signature", FOLDER / "signature"],
                   input=f"{header}.{payload}".encode(), check=True, capture_output=True)
    return json.loads(decoded(payload))


def check():
    subscribe("anna", "10")
    status, answer = offer("anna", "10")
    assert status == 200, answer
    signed = claims(answer["jws"])
    assert (signed["aud"], signed["transactionId"], signed["offerIdentifier"]) == ("promotional-offer", "10", "winback"), signed

    subscribe("anna", "11", "Sandbox")
    subscribe("ben", "14")
    subscribe("carl", "12", inAppOwnershipType="FAMILY_SHARED")
    subscribe("dora", "13", inAppOwnershipType="ASSIGNED")
    subscribe("erik", "16", revocationDate=now() - 30_000)
    # The first period is whole, and the second refunded.
    subscribe("finn", "17", purchaseDate=now() - 40 * 86_400_000, expiresDate=now() - 10 * 86_400_000)
    subscribe("finn", "18", originalTransactionId="17", purchaseDate=now() - 10 * 86_400_000, revocationDate=now() - 30_000)
    subscribe("anna", "15", type="Consumable", expiresDate=None)
    for expected, code, account, number, more in [
        (401, "notSignedIn", "", "10", {}), (403, "notYours", "anna", "14", {}), (403, "notYours", "ben", "10", {}),
        (403, "notYours", "nobody", "10", {}), (403, "notYours", "anna", "10 ", {}), (403, "notYours", "anna", "010", {}),
        (403, "notYours", "anna", "10\0", {}), (403, "notYours", "anna", "\u0661\u0660", {}), (403, "notYours", "anna", "11", {}), (403, "notBought", "carl", "12", {}),
        (403, "notBought", "dora", "13", {}), (403, "notEligible", "erik", "16", {}),
        (403, "notEligible", "finn", "17", {}), (403, "notASubscription", "anna", "15", {}),
        (404, "noSuchOffer", "anna", "10", {"name": "forever"}), (404, "noSuchOffer", "anna", "10", {"product": "other"}),
        (400, "malformed", "anna", "10", {"request": "1"}), (400, "malformed", "anna", None, {}),
    ]:
        answer = offer(account, number, **more)
        assert answer == (expected, {"code": code}), (account, number, more, answer)

    # One request, twenty times at once; then a hundred requests.
    with ThreadPoolExecutor(20) as pool:
        request = str(uuid.uuid4())
        answers = [each[0] for each in pool.map(lambda _: offer("anna", "10", request), range(20))]
        assert sorted(answers) == [200] + [409] * 19, answers
        # Also in another case, as it is the same UUID.
        assert offer("anna", "10", request.upper()) == (409, {"code": "alreadySigned"})
        answers = [each[0] for each in pool.map(lambda _: offer("anna", "10"), range(100))]
        assert sorted(answers) == [200] + [429] * 99, answers
    # Another account of the same customer, and the subscription in another account.
    subscribe("anna2", "22", appTransactionId="70010")
    assert offer("anna2", "22") == (429, {"code": "tooMany"})
    subscribe("gina", "19", appTransactionId=None)
    assert [offer("gina", "19")[0] for _ in range(4)] == [200, 200, 200, 429]
    ledger("/v1/accounts/gina/transfer", {"to": "ida", "reason": "test"})
    assert offer("ida", "19") == (429, {"code": "tooMany"})
    # A key that others can read signs nothing, and says nothing.
    subscribe("jan", "21")
    (FOLDER / "key.p8").chmod(0o644)
    assert offer("jan", "21") == (500, {"code": "internal"})
    (FOLDER / "key.p8").chmod(0o600)
    assert offer("jan", "21")[0] == 200


with tempfile.TemporaryDirectory() as temporary:
    FOLDER, SERVER, PAGE, processes = Path(temporary), free_port(), free_port(), []
    subprocess.run([PROGRAMS / "receipt", "ca", "--key", "ec", "--out", FOLDER / "ca"], check=True, stdout=subprocess.DEVNULL)
    (FOLDER / "tokens").write_text(TOKEN + " redeem,read,transfer\n")
    (FOLDER / "tokens").chmod(0o600)
    (FOLDER / "key.p8").write_bytes((CASES / "key.p8").read_bytes())
    (FOLDER / "key.p8").chmod(0o600)
    environment = os.environ | {
        "LEDGER_URL": f"http://127.0.0.1:{SERVER}", "LEDGER_TOKEN": TOKEN, "DATABASE": str(FOLDER / "offers.db"), "PHP_CLI_SERVER_WORKERS": "8",
        "APPSTORERECEIPT": str(HERE.parent.parent / "Bindings/php/preload.php"), "KEY_FILE": str(FOLDER / "key.p8"), "KEY_ID": "2X9R4HXF34",
        "ISSUER_ID": "57246542-96fe-1a63-e053-0824d011072a", "BUNDLE_ID": APP}
    log = open(FOLDER / "log", "wb")
    start = lambda command: processes.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True))
    try:
        start([PROGRAMS / "receipt-server", "--bundle-id", APP, "--environment", "production", "--environment", "sandbox", "--root", FOLDER / "ca/root.der",
               "--ledger", FOLDER / "ledger.db", "--new-ledger", "--token-file", FOLDER / "tokens", "--listen", f"127.0.0.1:{SERVER}"])
        start(["php", "-d", "ffi.enable=1", "-S", f"127.0.0.1:{PAGE}", HERE / "offers.php"])
        wait(lambda: send(f"http://127.0.0.1:{SERVER}/healthz")[0] not in (0, 503), "the server")
        wait(lambda: send(f"http://127.0.0.1:{PAGE}/")[0] == 404, "the page")
        check()
    except BaseException:
        print((FOLDER / "log").read_text(errors="replace")[-3000:], file=sys.stderr)
        raise
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    print("offers.php: each attack is refused, and who bought gets three offers", flush=True)
