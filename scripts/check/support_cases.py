"""A server with a support desk, and ten customers who wrote to support: minted evidence, and purchases from the fake
App Store.

scripts/check/support uses it for its tests and pictures, and `scripts/check/support --cases` for a reader who plays
support."""
import atexit, base64, datetime, http.client, http.server, json, os, re, subprocess, tempfile, threading, time, urllib.parse

APP = "com.example.notes"
STAFF = "token-of-support-0123456789abcdef0123456789abcdef"
BACKEND = "token-of-the-backend-0123456789abcdef0123456789ab"
SCOPES = "support,read,transfer,events,adjust,recover"


def date(days):
    moment = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class Case:
    """A customer's message, what support is asked, and sentences of the answer."""

    def __init__(self, name, message, question, *answer):
        self.name, self.message, self.question, self.answer = name, message, question, answer


class Shop:
    """A server, its App Store, and a backend whose webhook fails for one account."""

    def __init__(self, receipt, server, store, extra=()):
        self.folder = tempfile.mkdtemp(prefix="support-desk-")
        self.receipt_command = receipt
        self.processes = []
        atexit.register(self.stop)
        self.receipt("ca", "--out", "rsa")
        self.receipt("ca", "--key", "ec", "--out", "ec")
        self.receipt("ca", "--out", "stranger")
        self.webhook = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.backend())
        threading.Thread(target=self.webhook.serve_forever, daemon=True).start()
        store_url = self.start_store(store)
        self.start_server(server, extra)
        self.store = int(store_url.rsplit(":", 1)[1])
        self.cases = self.make()

    def path(self, name):
        return os.path.join(self.folder, name)

    def receipt(self, *words):
        run = subprocess.run([self.receipt_command, *words], cwd=self.folder, capture_output=True, text=True)
        assert run.returncode == 0, (words, run.stderr)

    @staticmethod
    def backend():
        class Backend(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                # Its table of balances is broken for this account.
                event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(500 if event["account"] == "anna" else 200)
                self.end_headers()

            def log_message(self, *arguments):
                pass

        return Backend

    def start_store(self, store):
        # The server's port is not known yet: its notifications go through a forwarder.
        shop = self

        class Forwarder(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, _ = shop.send("/v1/notifications", body)
                self.send_response(status)
                self.end_headers()

            def log_message(self, *arguments):
                pass

        forwarder = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Forwarder)
        threading.Thread(target=forwarder.serve_forever, daemon=True).start()
        process = subprocess.Popen(
            [store, "--port", "0", "--root-out", self.path("store.pem"), "--bundle-id", APP, "--environment", "production",
             "--notifications", f"http://127.0.0.1:{forwarder.server_port}/"], stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        return json.loads(process.stdout.readline())["url"]

    def start_server(self, server, extra):
        with open(self.path("tokens"), "w") as file:
            file.write(f"{BACKEND}\n{STAFF} {SCOPES}\n")
        with open(self.path("secret"), "w") as file:
            file.write("a secret of a test\n")
        process = subprocess.Popen(
            [server, "--listen", "127.0.0.1:0", "--support", "127.0.0.1:0", "--bundle-id", APP, "--environment", "production",
             "--root", self.path("rsa/root.der"), "--root", self.path("ec/root.der"), "--root", self.path("store.pem"),
             "--ledger", self.path("ledger.db"), "--new-ledger", "--token-file", self.path("tokens"), "--keep-evidence",
             "--webhook", f"http://127.0.0.1:{self.webhook.server_port}/", "--webhook-secret-file", self.path("secret"), *extra],
            stderr=subprocess.PIPE, text=True)
        self.processes.append(process)
        self.log = []
        for line in process.stderr:
            self.log.append(line)
            event = json.loads(line) if line.startswith("{") else {}
            if event.get("event") == "start":
                self.port = int(event["listen"].rsplit(":", 1)[1])
                self.desk = int(event["support"].rsplit(":", 1)[1])
                threading.Thread(target=lambda: [self.log.append(line) for line in process.stderr], daemon=True).start()
                return
        raise SystemExit("the server did not start:\n" + "".join(self.log))

    def stop(self):
        while self.processes:
            process = self.processes.pop()
            process.terminate()
            process.wait()

    # MARK: Requests

    def send(self, path, body, token=None, port=None):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=30)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connection.request("POST", path, body if isinstance(body, bytes) else json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        self.request_id = answer.headers.get("Request-Id")
        return answer.status, json.loads(text or b"null")

    def buy(self, product, **others):
        status, answer = self.send("/fake/purchase", dict(product_id=product, **others), port=self.store)
        assert status == 200, answer
        return answer

    def redeem(self, account, evidence, outcome=None):
        status, answer = self.send("/v1/redeem", dict(account=account, evidence=evidence), BACKEND)
        found = answer["outcomes"][0]["outcome"] if status == 200 else answer["error"]["code"] if "error" in answer else answer["code"]
        assert outcome is None or found == outcome, answer
        return found

    def mint(self, specification, authority="ec"):
        name = self.path("specification.json")
        with open(name, "w") as file:
            json.dump(specification, file)
        output = self.path(f"evidence-{time.monotonic_ns()}")
        self.receipt("mint", "--ca", authority, "--out", output, name)
        with open(output, "rb") as file:
            evidence = file.read()
        return evidence.decode() if evidence.startswith(b"ey") else base64.b64encode(evidence).decode()

    def transaction(self, number, product, type, bought, **others):
        return self.mint({"transaction": dict(
            {"bundleId": APP, "productId": f"{APP}.{product}", "transactionId": str(number), "originalTransactionId": str(number), "type": type,
             "purchaseDate": date(bought), "signedDate": date(min(bought, 0) + 0.001 if bought < 0 else 0), "quantity": 1}, **others)})

    # MARK: The ten

    def make(self):
        cases = []

        def case(*arguments):
            cases.append(Case(*arguments))

        lost = self.buy(f"{APP}.coins", quantity=3)
        self.redeem("anna", lost["signed_transaction"], "granted")
        self.send("/fake/refund", dict(transaction_id=lost["transaction_id"], percentage=30), port=self.store)
        case("lost", f"I am anna. I paid for 3 coins, transaction {lost['transaction_id']}, and the app shows a wrong number.",
             "Was she granted them, and does our backend know what she has now?",
             "anna has it:", "Apple refunded 30 % of it.", "Your backend has not been notified yet")

        refunded = self.buy(f"{APP}.coins", quantity=5, customer=2)
        self.redeem("安娜", refunded["signed_transaction"], "granted")
        self.redeem("ben", refunded["signed_transaction"], "belongs-to-another")
        self.send("/fake/refund", dict(transaction_id=refunded["transaction_id"]), port=self.store)
        case("refunded", f"你好,我是安娜。我的金币不见了!{refunded['signed_transaction']}", "Where did her coins go?",
             "Apple refunded or revoked it", "Nobody has it now.", "安娜 had been granted it:", "Your backend was notified.",
             "ben sent it, too. The answer: It belongs to another account, which sent it first.")

        stolen = self.transaction(340000000000003, "pro", "Non-Consumable", -3)
        self.redeem("carl", stolen, "granted")
        self.redeem("mallory", stolen, "belongs-to-another")
        case("stolen", "I am mallory. I bought Pro, look: " + stolen, "Why does mallory not get Pro?",
             "carl has it:", "mallory sent it, too. The answer: It belongs to another account, which sent it first.")

        sandbox = self.transaction(340000000000004, "pro", "Non-Consumable", -2, environment="Sandbox")
        self.redeem("dora", sandbox)
        line = json.dumps(dict(level="warning", message="redeem failed", account="dora", request=self.request_id, body=json.dumps(dict(evidence=sandbox))))
        case("sandbox", line, "dora says that she paid. Did she?", "Genuine, but not accepted by this verifier.", "environment-mismatch", "It is from the sandbox, in which apps are tested: nobody paid.")

        early = self.transaction(340000000000005, "monthly", "Auto-Renewable Subscription", 0, originalTransactionId="340000000000050",
                                 purchaseDate=date(0.8), expiresDate=date(30.8))
        self.redeem("emil", early, "too-early")
        case("early", "emil: renewal 340000000000005 was charged, but I still have the old period?", "Is something wrong?",
             "It belongs to emil, whose quantity is 0 now.", "Its period has not begun: Apple signs a renewal up to a day early. It begins", "and is granted then.")

        expired = self.transaction(340000000000006, "monthly", "Auto-Renewable Subscription", -40, expiresDate=date(-10))
        self.redeem("frida", expired, "expired")
        case("expired", "340000000000006", "frida cannot use Notes Monthly any more. Why?",
             "Its period has ended. A renewal is another transaction.", "frida sent it. The answer: Its period had ended")

        case("unknown", "Hello, Apple charged me! My transaction is 340000000000777.", "What do we know, and what do we answer?",
             "The ledger has no record of this.", "Only Apple can say whether it exists.")

        forged = self.mint(dict(bundle_id=APP, in_app=[dict(
            product_id=f"{APP}.pro", transaction_id="340000000000008", product_type="non-consumable", quantity=1, purchase_date=date(-1))]), "stranger")
        self.redeem("greta", forged)
        case("forged", "please unlock my receipt " + forged, "Should greta get Pro?", "Not genuine: trust nothing in it.", "greta sent evidence that was refused: untrusted-chain")

        other = self.mint(dict(bundle_id="com.example.other", in_app=[dict(
            product_id="com.example.other.pro", transaction_id="340000000000009", product_type="non-consumable", quantity=1, purchase_date=date(-1))]), "rsa")
        self.redeem("hugo", other)
        case("another app", other, "hugo sends this receipt. Why is it refused?", "bundle-id-mismatch", "hugo sent evidence that was refused: bundle-id-mismatch")

        moved = self.transaction(340000000000010, "pro", "Non-Consumable", -20)
        self.redeem("ida", moved, "granted")
        status, answer = self.send("/v1/accounts/ida/transfer", dict(
            to="jan", reason="ida asked on the phone: jan is her new account", transaction_id="340000000000010", environment="production"), STAFF)
        assert status == 200, answer
        case("moved", "ida", "ida says that Pro is gone. Who has it, and why?", "The evidence shows no active subscription",
             "Transferred from ida to jan. Reason: ida asked on the phone: jan is her new account")
        # Attempts are written in batches.
        time.sleep(2.5)
        return cases


class Desk:
    """The desk as a browser without a screen."""

    def __init__(self, shop, token=STAFF):
        self.port = shop.desk
        self.cookies = {}
        self.send("POST", "/sign-in", dict(token=token, language="en"))
        self.form = re.search(r'name="form" value="([0-9a-f]+)"', self.send("GET", "/")).group(1)

    def send(self, method, path, fields=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        if fields is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request(method, path, None if fields is None else urllib.parse.urlencode(fields), headers)
        answer = connection.getresponse()
        for cookie in answer.headers.get_all("Set-Cookie") or []:
            name, value = cookie.split(";")[0].split("=", 1)
            self.cookies[name] = value
        return answer.read().decode()

    def search(self, text):
        return self.send("POST", "/search", dict(form=self.form, text=text))


def words(page):
    """What a page says, without its markup."""
    text = re.sub(r"<[^>]*>", " ", page.split("<body>", 1)[1])
    for name, character in [("lt", "<"), ("gt", ">"), ("quot", '"'), ("#39", "'"), ("amp", "&")]:
        text = text.replace(f"&{name};", character)
    text = re.sub(r"\s+", " ", text)
    return re.sub(r" ([.,:;])", r"\1", text)
