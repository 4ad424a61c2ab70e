"""Apple's client for Python beside ours over random inquiries: both ask the same, and read the same in every answer,
valid or broken.

Usage: compare-clients.py FAKE-APP-STORE CLIENT-TRIAL COUNT SEED

The JWS in the answers are those of a fake App Store; some are changed. Where the clients read an answer differently,
REASONS says why, by what was done to it; a difference without a reason fails.
"""

import base64, http.server, json, os, random, subprocess, sys, tempfile, threading, time, urllib.parse, urllib.request
from collections import Counter

import jwt
from appstoreserverlibrary.api_client import APIException, AppStoreServerAPIClient, GetTransactionHistoryVersion
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.InAppOwnershipType import InAppOwnershipType
from appstoreserverlibrary.models.NotificationHistoryRequest import NotificationHistoryRequest
from appstoreserverlibrary.models.NotificationTypeV2 import NotificationTypeV2
from appstoreserverlibrary.models.Status import Status
from appstoreserverlibrary.models.Subtype import Subtype
from appstoreserverlibrary.models.TransactionHistoryRequest import Order, ProductType, TransactionHistoryRequest
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier, VerificationException
from cryptography.hazmat.primitives.serialization import load_pem_private_key

program, trial, count, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
random = random.Random(seed)
BUNDLE, APPLE_ID, NOW = "com.example.app", 1234567890, int(time.time() * 1000)

# What was done to a success that ours does not read, and Apple's does.
REASONS = {
    "another type": "a member of another type than documented; Apple's converts it, or takes it as it is",
    "a member twice": "RFC 8259, 4: readers differ over a name that occurs twice; Python's takes the last one",
    "NaN": "RFC 8259, 6: JSON has no NaN; Python's reader takes it",
    "half a surrogate pair": "it is no text; Python's reader makes a string of it that cannot be stored",
    "nested deeply": "a limit of ours: 64 levels",
    "no token": "a test notification without its token cannot be asked about",
    "no member": "an object without any documented member is not Apple's: where nothing is to be told, that has empty members",
}
# The fault of an error whose code only one client has.
ERROR_REASONS = {
    "no message": "Apple's wants the message beside the code",
    "another content type": "Apple's reads no code unless the type is exactly application/json",
    "a code of no number": "ours takes a code of another type for none; Apple's takes it as it is",
    "a code twice": "ours reads JSON with a member twice as none",
}


# A server that keeps what it is asked, and answers what it is told to.

class Shop(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A client that has the head and knows that no body follows asks the next inquiry: all is sent at once.
    wbufsize = -1
    disable_nagle_algorithm = True
    status, content_type, body = 200, "application/json", b""
    asked = []

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        target = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qsl(target.query, keep_blank_values=True, strict_parsing=bool(target.query))
        Shop.asked.append((self.command, target.path, sorted(query), body, self.headers))
        self.send_response(Shop.status)
        self.send_header("Content-Type", Shop.content_type)
        self.send_header("Content-Length", str(len(Shop.body)))
        self.end_headers()
        self.wfile.write(Shop.body)

    do_POST = do_GET

    def log_message(self, *_):
        pass


shop = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop)
threading.Thread(target=shop.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{shop.server_port}"


# What Apple signs: of a fake App Store, which cannot reach anybody with its notifications.

folder = tempfile.TemporaryDirectory()
root_file, key_file = os.path.join(folder.name, "root.der"), os.path.join(folder.name, "key.p8")
fake = subprocess.Popen(
    [program, "--port", "0", "--root-out", root_file, "--key-out", key_file, "--environment", "production", "--notifications", "http://127.0.0.1:9/"],
    stdout=subprocess.PIPE, text=True)
try:
    options = json.loads(fake.stdout.readline())
    root, key = open(root_file, "rb").read(), open(key_file, "rb").read()
    client = AppStoreServerAPIClient(key, options["key_id"], options["issuer_id"], BUNDLE, Environment.PRODUCTION)
    client._base_url = options["url"]

    def post(path, **body):
        return json.load(urllib.request.urlopen(urllib.request.Request(options["url"] + "/fake/" + path, json.dumps(body).encode(), method="POST")))

    bought = [post("purchase", product_id="coins", quantity=n % 9 + 1) for n in range(12)]
    bought += [post("purchase", product_id="monthly", type="auto-renewable", period="P1M", group=f"g{n}") for n in range(4)]
    post("refund", transaction_id=bought[0]["transaction_id"])
    page = client.get_transaction_history(bought[0]["transaction_id"], None, TransactionHistoryRequest(), GetTransactionHistoryVersion.V2)
    TRANSACTIONS = page.signedTransactions
    RENEWALS = [item.signedRenewalInfo for group in client.get_all_subscription_statuses(bought[0]["transaction_id"]).data for item in group.lastTransactions]
    # Each is in the history from its first attempt on.
    deadline = time.time() + 60
    NOTIFICATIONS = []
    while len(NOTIFICATIONS) < 10 and time.time() < deadline:
        time.sleep(0.25)
        page = client.get_notification_history(None, NotificationHistoryRequest(startDate=NOW - 10**7, endDate=NOW + 10**7))
        NOTIFICATIONS = [item.signedPayload for item in page.notificationHistory]
finally:
    fake.terminate()
    fake.wait()
assert len(TRANSACTIONS) > 10 and len(RENEWALS) == 4 and len(NOTIFICATIONS) >= 10
client._base_url = url
verifier = SignedDataVerifier([root], False, Environment.PRODUCTION, BUNDLE, APPLE_ID)
IDS = [bought["transaction_id"] for bought in bought]

ours = subprocess.Popen([trial], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def send(**members):
    ours.stdin.write(json.dumps(members) + "\n")
    ours.stdin.flush()


def ask_ours(inquiry):
    send(**inquiry)
    return json.loads(ours.stdout.readline())


send(url=url, root=base64.b64encode(root).decode(), key=base64.b64encode(key).decode(), keyID=options["key_id"],
     issuerID=options["issuer_id"], bundleID=BUNDLE)


# What is asked

def word():
    return "".join(random.choice(["a", "Z", "7", ".", "-", "_", " ", "+", "&", "=", "%", "/", "?", "#", "ß", "e\u0301", "安", "😀", "\""])
                   for _ in range(random.randrange(1, 12)))


def some(values):
    return random.sample(values, random.randrange(1, len(values) + 1))


def maybe(value, share=0.5):
    return value() if random.random() < share else None


def date():
    return random.randrange(1_500_000_000_000, 1_900_000_000_000)


def inquiry():
    """What ours is asked, and the same call of Apple's client."""
    call = random.choice(list(READERS))
    id = random.choice(IDS + [str(random.randrange(1, 10**18)), "MX1234567A", "a-b_c.d"])
    asked = {"call": call, "id": id}
    if call == "transaction-info":
        return asked, lambda: client.get_transaction_info(id)
    if call == "subscription-statuses":
        statuses = maybe(lambda: some(list(Status)))
        asked["statuses"] = statuses and [status.value for status in statuses]
        return asked, lambda: client.get_all_subscription_statuses(id, statuses)
    if call == "transaction-history":
        request = TransactionHistoryRequest(
            startDate=maybe(date), endDate=maybe(date), productIds=maybe(lambda: [word() for _ in range(random.randrange(1, 4))]),
            productTypes=maybe(lambda: some(list(ProductType))), sort=maybe(lambda: random.choice(list(Order))),
            subscriptionGroupIdentifiers=maybe(lambda: [word()]), inAppOwnershipType=maybe(lambda: random.choice(list(InAppOwnershipType))),
            revoked=maybe(lambda: random.random() < 0.5))
        page = maybe(word)
        asked |= {
            "startDate": request.startDate, "endDate": request.endDate, "productIDs": request.productIds,
            "productTypes": request.productTypes and [type.value for type in request.productTypes], "sort": request.sort and request.sort.value,
            "subscriptionGroupIDs": request.subscriptionGroupIdentifiers, "isRevoked": request.revoked, "page": page,
            "ownershipType": request.inAppOwnershipType and request.inAppOwnershipType.value}
        return asked, lambda: client.get_transaction_history(id, page, request, GetTransactionHistoryVersion.V2)
    if call == "refund-history":
        asked["page"] = page = maybe(word)
        return asked, lambda: client.get_refund_history(id, page)
    if call == "order-lookup":
        return asked, lambda: client.look_up_order_id(id)
    if call == "notification-history":
        type = maybe(lambda: random.choice(list(NotificationTypeV2)))
        subtype = type and maybe(lambda: random.choice(list(Subtype)))
        customer = None if type else maybe(word)
        failures, page = maybe(lambda: True), maybe(word)
        asked |= {
            "startDate": date(), "endDate": date(), "notificationType": type and type.value, "notificationSubtype": subtype and subtype.value,
            "transactionID": customer, "onlyFailures": failures, "page": page}
        request = NotificationHistoryRequest(
            startDate=asked["startDate"], endDate=asked["endDate"], notificationType=type, notificationSubtype=subtype, transactionId=customer,
            onlyFailures=failures)
        return asked, lambda: client.get_notification_history(page, request)
    if call == "request-test-notification":
        return asked, client.request_test_notification
    return asked, lambda: client.get_test_notification_status(id)


def claims(headers):
    """The token's header and claims, and whether it is signed and of now."""
    scheme, token = headers["Authorization"].split(" ")
    assert scheme == "Bearer"
    found = jwt.decode(token, load_pem_private_key(key, None).public_key(), ["ES256"], audience="appstoreconnect-v1")
    assert 0 < found["exp"] - time.time() <= 3600
    return {**jwt.get_unverified_header(token), **{name: found[name] for name in ("aud", "bid", "iss")}}


def request(asked):
    method, path, query, body, headers = asked
    # Python writes True; the documentation, true.
    query = [(name, value.lower() if name == "revoked" else value) for name, value in query]
    return method, path, query, body and json.loads(body), headers["Accept"], body and headers["Content-Type"], claims(headers)


# What is answered: objects are lists of pairs, since a name can occur twice.

class Members(list):
    pass


def dump(value):
    if isinstance(value, Members):
        return "{" + ",".join(f"{json.dumps(name)}:{dump(member)}" for name, member in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dump, value)) + "]"
    return value.text if isinstance(value, Raw) else json.dumps(value, ensure_ascii=random.random() < 0.5)


class Raw:
    def __init__(self, text):
        self.text = text


def jws(pool):
    found = random.choice(pool)
    if random.random() < 0.15:
        # Not the last letter of a part, which has unused bits.
        place = random.randrange(0, len(found) - 2)
        if found[place] != "." and found[place + 1] != ".":
            found = found[:place] + random.choice([letter for letter in "abcXYZ019-_" if letter != found[place]]) + found[place + 1:]
    return found


def several(make, limit=3):
    return [make() for _ in range(random.randrange(limit + 1))]


def app():
    return [("environment", random.choice(["Production", "Sandbox", "Elsewhere"])), ("bundleId", random.choice([BUNDLE, word()])),
            ("appAppleId", random.choice([APPLE_ID, random.randrange(2**62)]))]


def sent():
    attempt = lambda: Members([("attemptDate", date()), ("sendAttemptResult", random.choice(["SUCCESS", "TIMED_OUT", "NEW_RESULT"]))])
    return Members([("signedPayload", jws(NOTIFICATIONS)), ("sendAttempts", several(attempt))])


def page():
    return Members([("revision", word()), ("hasMore", random.random() < 0.5), *app(), ("signedTransactions", several(lambda: jws(TRANSACTIONS)))])


def subscription():
    return Members([("status", random.randrange(8)), ("originalTransactionId", random.choice(IDS)), ("signedTransactionInfo", jws(TRANSACTIONS)),
                    ("signedRenewalInfo", jws(RENEWALS))])


ANSWERS = {
    "transaction-info": lambda: Members([("signedTransactionInfo", jws(TRANSACTIONS))]),
    "subscription-statuses": lambda: Members(
        [*app(), ("data", several(lambda: Members([("subscriptionGroupIdentifier", word()), ("lastTransactions", several(subscription, 2))]), 2))]),
    "transaction-history": page, "refund-history": page,
    "order-lookup": lambda: Members([("status", random.randrange(3)), ("signedTransactions", several(lambda: jws(TRANSACTIONS)))]),
    "notification-history": lambda: Members([("paginationToken", word()), ("hasMore", random.random() < 0.5), ("notificationHistory", several(sent))]),
    "request-test-notification": lambda: Members([("testNotificationToken", word())]),
    "test-notification-status": sent,
}


def objects(value):
    if isinstance(value, list):
        if isinstance(value, Members):
            yield value
        for member in value:
            yield from objects(member[1] if isinstance(value, Members) else member)


def random_value():
    return random.choice([None, True, 5, -1.5, 10**30, "text", [], [None], [5], Members(), Members([("a", [])])])


FAULTS = ["missing", "null", "unknown", "another type", "a member twice", "NaN", "a byte order mark", "UTF-16", "half a surrogate pair", "nested deeply",
          "cut", "more behind it", "no JSON"]


def changed(answer):
    """The bytes of an answer, after a fault, and the fault."""
    fault = random.choice(FAULTS) if random.random() < 0.4 else None
    members = random.choice([found for found in objects(answer) if found])
    place = random.randrange(len(members))
    name, value = members[place]
    if fault == "missing":
        del members[place]
        if not answer:
            fault = "no member"
    elif fault == "null":
        members[place] = name, None
        if name == "testNotificationToken":
            fault = "no token"
    elif fault == "unknown":
        members.insert(place, (word() + "!", random_value()))
    elif fault == "another type":
        other = random_value()
        while other is None or type(other) is type(value) and not isinstance(other, list):
            other = random_value()
        members[place] = name, other
    elif fault == "a member twice":
        members.insert(random.randrange(len(members) + 1), (name, random.choice([value, None])))
    elif fault == "NaN":
        members.append(("new", Raw(random.choice(["NaN", "Infinity", "-Infinity"]))))
    elif fault == "half a surrogate pair":
        members.append(("new", Raw(random.choice(['"\\ud800"', '"a\\udc00\\ud800"']))))
    elif fault == "nested deeply":
        members.append(("new", Raw("[" * 100 + "]" * 100)))
    text = dump(answer)
    if fault == "cut":
        text = text[:random.randrange(len(text))]
    elif fault == "more behind it":
        text += random.choice(["{}", "x", "]", ",", "\x00"])
    elif fault == "no JSON":
        text = random.choice(["<html>", "", "'", "{a:1}", "\ufffd"])
    elif fault == "a byte order mark":
        return b"\xef\xbb\xbf" + text.encode(), fault
    elif fault == "UTF-16":
        return text.encode("utf-16-le"), fault
    return text.encode(), fault


def failure():
    """An answer that is none: its status, type and body, and what is unusual."""
    code = random.choice([4000006, 4040010, 4290000, 5000000, 1, 10**15])
    members = Members([("errorCode", code), ("errorMessage", word())])
    fault = random.choice([None, None, "no message", "another content type", "a code of no number", "a code twice", "no JSON", "no code"])
    content_type = "application/json"
    if fault == "no message":
        members.pop()
    elif fault == "another content type":
        content_type = random.choice(["text/html", "application/json; charset=utf-8", "APPLICATION/JSON"])
    elif fault == "a code of no number":
        members[0] = "errorCode", random.choice([str(code), 1.5, True, []])
    elif fault == "a code twice":
        members.append(("errorCode", 7))
    elif fault == "no code":
        del members[0]
    body = random.choice([b"", b"<html>", b"[]"]) if fault == "no JSON" else dump(members).encode()
    return random.choice([400, 401, 403, 404, 408, 409, 413, 429, 500, 502, 503, 504]), content_type, body, fault


# What Apple's client and verifier read

accepted = Counter()


def verdict(jws, verify, id):
    if jws is None:
        return None
    try:
        found = getattr(verify(jws), id)
    except VerificationException:
        accepted["refused"] += 1
        return "refused"
    accepted["accepted"] += 1
    return found


def transaction(jws):
    return verdict(jws, verifier.verify_and_decode_signed_transaction, "transactionId")


def read_transaction(answer, id):
    found = answer.signedTransactionInfo and transaction(answer.signedTransactionInfo)
    if found in (None, "refused"):
        return [found, False]
    info = verifier.verify_and_decode_signed_transaction(answer.signedTransactionInfo)
    return [found, id in (info.transactionId, info.originalTransactionId)]


def read_app(answer):
    return [answer.rawEnvironment, answer.bundleId, answer.appAppleId]


def read_page(answer, _):
    return [answer.revision, answer.hasMore or False, [transaction(jws) for jws in answer.signedTransactions or []]]


def read_sent(item, _):
    payload = verdict(item.signedPayload, verifier.verify_and_decode_notification, "notificationUUID")
    return [payload, [[attempt.attemptDate, attempt.rawSendAttemptResult] for attempt in item.sendAttempts or []]]


READERS = {
    "transaction-info": read_transaction,
    "subscription-statuses": lambda answer, _: [read_app(answer), [
        [group.subscriptionGroupIdentifier, item.rawStatus, item.originalTransactionId, transaction(item.signedTransactionInfo),
         verdict(item.signedRenewalInfo, verifier.verify_and_decode_renewal_info, "originalTransactionId")]
        for group in answer.data or [] for item in group.lastTransactions or []]],
    "transaction-history": lambda answer, _: read_page(answer, _) + [read_app(answer)], "refund-history": read_page,
    "order-lookup": lambda answer, _: [answer.rawStatus, [transaction(jws) for jws in answer.signedTransactions or []]],
    "notification-history": lambda answer, _: [
        answer.paginationToken, answer.hasMore or False, [read_sent(item, _) for item in answer.notificationHistory or []]],
    "request-test-notification": lambda answer, _: [answer.testNotificationToken],
    "test-notification-status": read_sent,
}


def ask_apple(asked, call):
    try:
        answer = call()
    except APIException as error:
        return {"error": [error.http_status_code, error.raw_api_error]}
    except Exception:
        return {"error": "unreadable"}
    return {"answer": READERS[asked["call"]](answer, asked["id"])}


print(f"seed {seed}")
explained, outcomes, calls, wrong = Counter(), Counter(), Counter(), 0
for number in range(count):
    asked, call = inquiry()
    if random.random() < 0.2:
        Shop.status, Shop.content_type, Shop.body, fault = failure()
        reasons = ERROR_REASONS
    else:
        Shop.status, Shop.content_type = random.choice([200, 200, 200, 202]), "application/json"
        Shop.body, fault = changed(ANSWERS[asked["call"]]())
        reasons = REASONS
    Shop.asked = []
    apples, own = ask_apple(asked, call), ask_ours(asked)
    first, second = map(request, Shop.asked)
    calls[asked["call"]] += 1
    if first == second and apples == own:
        outcomes["an answer" if "answer" in own else "unreadable" if own["error"] == "unreadable" else "an error"] += 1
        continue
    # Ours reads nothing where Apple's does; or both have the status, and one the code.
    is_safe = own == {"error": "unreadable"} if reasons is REASONS else own["error"][0] == apples["error"][0] == Shop.status
    if first == second and fault in reasons and is_safe:
        explained[fault] += 1
        continue
    wrong += 1
    if wrong <= 10:
        print(f"DIFFERENT {asked}\n  after: {fault}\n  answer: {Shop.status} {Shop.body[:2000]!r}\n  Apple's: {first} {apples}\n  ours:    {second} {own}")
ours.stdin.close()
ours.wait()
shop.shutdown()
for fault, found in sorted(explained.items()):
    print(f"{found:5} {fault}: {(REASONS | ERROR_REASONS)[fault]}")
print(f"{count} inquiries of {len(calls)} kinds: both read {outcomes['an answer']} answers, "
      f"{outcomes['an error']} errors and {outcomes['unreadable']} that no client reads, "
      f"with {accepted['accepted']} JWS that Apple's verifier accepts and {accepted['refused']} that it refuses; {sum(explained.values())} differences of {len(explained)} kinds have a reason, "
      f"{wrong} have none")
# A comparison of nothing would find nothing.
is_empty = len(calls) < len(READERS) or outcomes["an answer"] * 4 < count or accepted["accepted"] * 4 < count
sys.exit(1 if wrong or is_empty else 0)
