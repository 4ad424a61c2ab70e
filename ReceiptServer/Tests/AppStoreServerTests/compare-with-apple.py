"""Apple's client and verifier for Python ask the fake App Store: every method, all pages, each class of error, and
every JWS is verified.

Usage: compare-with-apple.py FAKE-APP-STORE
Prints one line for each check. Exit status 1 if one fails.
"""

import base64, http.server, json, os, subprocess, sys, tempfile, threading, time, urllib.request

from appstoreserverlibrary.api_client import APIError, APIException, AppStoreServerAPIClient, GetTransactionHistoryVersion
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.InAppOwnershipType import InAppOwnershipType
from appstoreserverlibrary.models.NotificationHistoryRequest import NotificationHistoryRequest
from appstoreserverlibrary.models.NotificationTypeV2 import NotificationTypeV2
from appstoreserverlibrary.models.OrderLookupStatus import OrderLookupStatus
from appstoreserverlibrary.models.SendAttemptResult import SendAttemptResult
from appstoreserverlibrary.models.Status import Status
from appstoreserverlibrary.models.Subtype import Subtype
from appstoreserverlibrary.models.TransactionHistoryRequest import Order, ProductType, TransactionHistoryRequest
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier, VerificationException

BUNDLE = "com.example.app"
HOUR = 3_600_000
checks = failures = verified = 0


def check(what, holds, found=""):
    global checks, failures
    checks += 1
    if not holds:
        failures += 1
    print(f"{'ok  ' if holds else 'FAIL'} {what}{'' if holds else f' (found: {found})'}")


class Receiver(http.server.BaseHTTPRequestHandler):
    status, payloads = 200, []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Receiver.payloads.append(json.loads(body)["signedPayload"])
        self.send_response(Receiver.status)
        self.end_headers()

    def log_message(self, *_):
        pass


class Fake:
    """A fake App Store, and Apple's client and verifier for it."""

    def __init__(self, program, environment, receiver):
        folder = tempfile.mkdtemp()
        root, key = os.path.join(folder, "root.der"), os.path.join(folder, "key.p8")
        self.process = subprocess.Popen(
            [program, "--port", "0", "--root-out", root, "--key-out", key, "--environment", environment.value.lower(),
             "--notifications", receiver],
            stdout=subprocess.PIPE, text=True)
        self.options = json.loads(self.process.stdout.readline())
        self.url = self.options["url"]
        self.root = open(root, "rb").read()
        self.key = open(key, "rb").read()
        self.environment = environment
        self.client = self.client_with()
        self.verifier = SignedDataVerifier(
            [self.root], False, environment, BUNDLE, 1234567890 if environment == Environment.PRODUCTION else None)

    def client_with(self, key=None, key_id=None, issuer=None, bundle=None):
        client = AppStoreServerAPIClient(
            key or self.key, key_id or self.options["key_id"], issuer or self.options["issuer_id"], bundle or BUNDLE,
            self.environment)
        client._base_url = self.url
        return client

    def post(self, path, **body):
        request = urllib.request.Request(self.url + "/fake/" + path, json.dumps(body).encode(), method="POST")
        return json.load(urllib.request.urlopen(request))

    def state(self):
        return json.load(urllib.request.urlopen(self.url + "/fake/state"))

    def settle(self):
        for _ in range(200):
            time.sleep(0.25)
            state = self.state()
            if state["notifications_pending"] == 0 or self.environment == Environment.PRODUCTION and Receiver.status != 200:
                return state
        return self.state()

    def transaction(self, jws):
        global verified
        verified += 1
        return self.verifier.verify_and_decode_signed_transaction(jws)

    def notification(self, jws):
        global verified
        verified += 1
        payload = self.verifier.verify_and_decode_notification(jws)
        if payload.data and payload.data.signedTransactionInfo:
            self.transaction(payload.data.signedTransactionInfo)
        if payload.data and payload.data.signedRenewalInfo:
            verified += 1
            self.verifier.verify_and_decode_renewal_info(payload.data.signedRenewalInfo)
        return payload

    def history(self, id, **request):
        found, revision, pages = [], None, 0
        while True:
            page = self.client.get_transaction_history(
                id, revision, TransactionHistoryRequest(**request), GetTransactionHistoryVersion.V2)
            pages += 1
            assert len(page.signedTransactions) <= 20 and page.environment == self.environment and page.bundleId == BUNDLE
            found += [self.transaction(jws) for jws in page.signedTransactions]
            revision = page.revision
            if not page.hasMore:
                return found, pages, revision

    def notifications(self, **request):
        found, token, pages = [], None, 0
        while True:
            page = self.client.get_notification_history(token, NotificationHistoryRequest(**request))
            pages += 1
            assert len(page.notificationHistory) <= 20
            found += [(self.notification(item.signedPayload), item.sendAttempts) for item in page.notificationHistory]
            token = page.paginationToken
            if not page.hasMore:
                return found, pages


def error_of(call):
    try:
        call()
        return None
    except APIException as error:
        return error


def date(milliseconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(milliseconds / 1000))


def compare(program, environment, receiver):
    print(f"-- {environment.value}")
    fake = Fake(program, environment, receiver)
    try:
        Receiver.status, Receiver.payloads = 200, []
        run(fake)
    finally:
        fake.process.terminate()
        fake.process.wait()


def run(fake):
    now = int(time.time() * 1000)
    start = now - 20 * 24 * HOUR
    subscription = fake.post(
        "purchase", product_id="monthly", type="auto-renewable", period="P1W", group="g1", date=date(start),
        app_account_token="7e3fb20b-4cdb-47cc-936d-99d65f608138")
    renewed = fake.post("renew", transaction_id=subscription["transaction_id"], date=date(start + 7 * 24 * HOUR))
    fake.post("renew", transaction_id=subscription["transaction_id"], date=date(start + 14 * 24 * HOUR))
    pro = fake.post("purchase", product_id="pro", type="non-consumable", date=date(start))
    season = fake.post("purchase", product_id="season", type="non-renewing", date=date(start))
    coins = [fake.post("purchase", product_id="coins", quantity=2, date=date(start + n * HOUR)) for n in range(45)]
    for coin in coins[:25]:
        fake.post("refund", transaction_id=coin["transaction_id"], date=date(start + 100 * HOUR))
    other = fake.post("purchase", product_id="pro", type="non-consumable", customer=2, date=date(start))
    fake.settle()

    client, id = fake.client, coins[30]["transaction_id"]

    # Get Transaction Info
    info = fake.transaction(client.get_transaction_info(id).signedTransactionInfo)
    check("transaction info: the transaction", info.transactionId == id and info.quantity == 2 and info.bundleId == BUNDLE)
    info = fake.transaction(client.get_transaction_info(coins[0]["transaction_id"]).signedTransactionInfo)
    check("transaction info: a refund is in it", info.revocationDate is not None)
    check("purchase: the JWS for the app is the transaction",
          fake.transaction(pro["signed_transaction"]).transactionId == pro["transaction_id"])

    # Get All Subscription Statuses
    for any_id in (id, renewed["transaction_id"], subscription["app_transaction_id"]):
        answer = client.get_all_subscription_statuses(any_id)
        items = answer.data[0].lastTransactions
        check("statuses: by any id", len(answer.data) == 1 and len(items) == 1 and items[0].status == Status.ACTIVE
              and items[0].originalTransactionId == subscription["original_transaction_id"]
              and answer.environment == fake.environment and answer.bundleId == BUNDLE)
    last = fake.transaction(items[0].signedTransactionInfo)
    renewal = fake.verifier.verify_and_decode_renewal_info(items[0].signedRenewalInfo)
    check("statuses: the last period and its renewal information", last.originalTransactionId == renewal.originalTransactionId
          and last.appAccountToken == "7e3fb20b-4cdb-47cc-936d-99d65f608138" and renewal.autoRenewProductId == "monthly")
    check("statuses: filter", client.get_all_subscription_statuses(id, [Status.EXPIRED, Status.REVOKED]).data == []
          and len(client.get_all_subscription_statuses(id, [Status.EXPIRED, Status.ACTIVE]).data) == 1)

    # Get Transaction History
    found, pages, revision = fake.history(id)
    ids = [transaction.transactionId for transaction in found]
    check("history: 3 pages, each transaction once", pages == 3 and len(ids) == 50 == len(set(ids)), (pages, len(ids)))
    check("history: nobody else's", other["transaction_id"] not in ids)
    for name, request, count in [
        ("productIds", dict(productIds=["pro", "season"]), 2), ("sort", dict(sort=Order.DESCENDING), 50),
        ("productTypes", dict(productTypes=[ProductType.AUTO_RENEWABLE, ProductType.NON_RENEWABLE]), 4),
        ("groups", dict(subscriptionGroupIdentifiers=["g1"]), 3), ("revoked", dict(revoked=True), 25),
        ("not revoked", dict(revoked=False), 25), ("ownership", dict(inAppOwnershipType=InAppOwnershipType.PURCHASED), 50),
        ("shared", dict(inAppOwnershipType=InAppOwnershipType.FAMILY_SHARED), 0),
        ("dates", dict(startDate=start // 1000 * 1000, endDate=start // 1000 * 1000 + HOUR), 4),
    ]:
        found, _, _ = fake.history(id, **request)
        check(f"history: filter {name}", len(found) == count, len(found))
    page = client.get_transaction_history(id, revision, TransactionHistoryRequest(), GetTransactionHistoryVersion.V2)
    check("history: the last revision finds nothing while nothing is new", page.signedTransactions == [] and not page.hasMore)

    # Get Refund History
    refunds, revision, pages = [], None, 0
    while True:
        page = client.get_refund_history(id, revision)
        pages, revision = pages + 1, page.revision
        refunds += [fake.transaction(jws) for jws in page.signedTransactions]
        if not page.hasMore:
            break
    dates = [refund.revocationDate for refund in refunds]
    check("refunds: 2 pages, by date", pages == 2 and len(refunds) == 25 and dates == sorted(dates), (pages, len(refunds)))

    # Look Up Order ID
    answer = client.look_up_order_id(pro["apple_order_id"])
    check("order: valid", answer.status == OrderLookupStatus.VALID
          and [fake.transaction(jws).transactionId for jws in answer.signedTransactions] == [pro["transaction_id"]])
    answer = client.look_up_order_id("MXNOTHING")
    check("order: not valid", answer.status == OrderLookupStatus.INVALID and not answer.signedTransactions)

    # Notifications
    window = dict(startDate=start - HOUR, endDate=now + HOUR)
    sent, pages = fake.notifications(**window)
    uuids = [payload.notificationUUID for payload, _ in sent]
    received = [fake.notification(jws).notificationUUID for jws in Receiver.payloads]
    check("notifications: what was received is the history", sorted(uuids) == sorted(received) and len(uuids) == len(set(uuids)),
          (len(uuids), len(received)))
    check("notifications: pages of 20", pages == (len(uuids) + 19) // 20 and pages > 3, pages)
    check("notifications: attempts", all(a[0].sendAttemptResult == SendAttemptResult.SUCCESS for _, a in sent))
    sent, _ = fake.notifications(**window, notificationType=NotificationTypeV2.REFUND)
    check("notifications: by type", len(sent) == 25 and {p.notificationType for p, _ in sent} == {NotificationTypeV2.REFUND})
    sent, _ = fake.notifications(**window, notificationType=NotificationTypeV2.SUBSCRIBED, notificationSubtype=Subtype.INITIAL_BUY)
    check("notifications: by subtype", len(sent) == 1)
    sent, _ = fake.notifications(**window, transactionId=other["transaction_id"])
    check("notifications: by customer", len(sent) == 1)
    sent, _ = fake.notifications(**window, onlyFailures=True)
    check("notifications: no failures", len(sent) == 0)
    token = client.request_test_notification().testNotificationToken
    fake.settle()
    status = client.get_test_notification_status(token)
    check("test notification", fake.notification(status.signedPayload).notificationType == NotificationTypeV2.TEST
          and [a.sendAttemptResult for a in status.sendAttempts] == [SendAttemptResult.SUCCESS])
    Receiver.status = 500
    fake.post("purchase", product_id="coins")
    fake.settle()
    time.sleep(0.5)
    fake.post("clock", advance_seconds=158 * 3600)
    time.sleep(1.5)
    sent, _ = fake.notifications(startDate=now - HOUR, endDate=now + 200 * HOUR, onlyFailures=True)
    failed = [a for p, a in sent if p.notificationType == NotificationTypeV2.ONE_TIME_CHARGE]
    expected = [0, 1, 13, 37, 85, 157] if fake.environment == Environment.PRODUCTION else [0]
    hours = [round((a.attemptDate - failed[0][0].attemptDate) / HOUR) for a in failed[0]] if failed else None
    check("notifications: attempts of a failure, in hours", hours == expected, hours)
    check("notifications: the result of a failure", failed and
          {a.sendAttemptResult for a in failed[0]} == {SendAttemptResult.UNSUCCESSFUL_HTTP_RESPONSE_CODE})

    # Errors
    now = int(time.mktime(time.gmtime())) * 1000 + 158 * HOUR
    history = lambda **r: lambda: client.get_notification_history(r.pop("token", None), NotificationHistoryRequest(**r))
    transactions = lambda revision=None, **r: lambda: client.get_transaction_history(
        id, revision, TransactionHistoryRequest(**r), GetTransactionHistoryVersion.V2)
    errors = [
        ("retry: rate limit", "rate-limit", lambda: client.get_transaction_info(id), APIError.RATE_LIMIT_EXCEEDED),
        ("retry: internal error", "internal-error", lambda: client.get_transaction_info(id), APIError.GENERAL_INTERNAL),
        ("retry: retryable", "internal-error-retryable", lambda: client.get_refund_history(id, None), APIError.GENERAL_INTERNAL_RETRYABLE),
        ("restart: token", None, history(token="x", startDate=now - HOUR, endDate=now), APIError.INVALID_PAGINATION_TOKEN),
        ("restart: revision", None, transactions("x"), APIError.INVALID_REQUEST_REVISION),
        ("shorten", None, history(startDate=now - 200 * 24 * HOUR, endDate=now), APIError.START_DATE_TOO_FAR_IN_PAST),
        ("final: unknown id", None, lambda: client.get_transaction_info("99"), APIError.TRANSACTION_ID_NOT_FOUND),
        ("final: no id", None, lambda: client.get_transaction_info("abc"), APIError.INVALID_TRANSACTION_ID),
        ("final: app transaction", None, lambda: client.get_transaction_info(subscription["app_transaction_id"]),
         APIError.APP_TRANSACTION_ID_NOT_SUPPORTED_ERROR),
        ("final: test notification", None, lambda: client.get_test_notification_status("a_b"), APIError.TEST_NOTIFICATION_NOT_FOUND),
        ("fault: order of dates", None, history(startDate=now, endDate=now - HOUR), APIError.START_DATE_AFTER_END_DATE),
        ("fault: no start", None, history(endDate=now), APIError.INVALID_START_DATE),
        ("fault: no end", None, history(startDate=now - HOUR), APIError.INVALID_END_DATE),
        ("fault: two filters", None, history(startDate=now - HOUR, endDate=now, transactionId=id,
                                             notificationType=NotificationTypeV2.REFUND), APIError.MULTIPLE_FILTERS_SUPPLIED),
        ("fault: test token", None, lambda: client.get_test_notification_status("x"), APIError.INVALID_TEST_NOTIFICATION_TOKEN),
        ("fault: dates of transactions", None, transactions(startDate=2, endDate=1), APIError.START_DATE_AFTER_END_DATE),
    ]
    for name, fault, call, expected in errors:
        if fault:
            fake.post("fault", fault=fault)
        error = error_of(call)
        check(f"error {name}", error is not None and error.api_error == expected, error and error.raw_api_error)
    fake.post("fault", fault="unavailable")
    error = error_of(lambda: client.get_transaction_info(id))
    check("error retry: 503 of a proxy", error is not None and error.http_status_code == 503 and error.api_error is None)
    for name, others in [("key id", dict(key_id="OTHER")), ("issuer", dict(issuer="x")), ("app", dict(bundle="com.example.x"))]:
        error = error_of(lambda: fake.client_with(**others).get_transaction_info(id))
        check(f"error configuration: other {name}", error is not None and error.http_status_code == 401)
    for fault in ("changed-signature", "untrusted-root", "other-app", "other-environment"):
        fake.post("fault", fault=fault)
        try:
            fake.transaction(client.get_transaction_info(id).signedTransactionInfo)
            check(f"a JWS with the fault {fault} is refused", False)
        except VerificationException as error:
            check(f"a JWS with the fault {fault} is refused", True)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/notifications"
for environment in (Environment.SANDBOX, Environment.PRODUCTION):
    compare(sys.argv[1], environment, url)
print(f"{checks} checks, {failures} failed; {verified} JWS verified by Apple's verifier")
sys.exit(1 if failures else 0)
