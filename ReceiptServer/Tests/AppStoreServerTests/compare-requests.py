"""Every call of Apple's client that is no inquiry about purchases, beside ours: the same request, the same answer.

Usage: compare-requests.py FAKE-APP-STORE CLIENT-TRIAL

Each client asks a fake App Store of its own, whose purchases are the same, through a server that keeps what is sent. A
call that Apple's client has and that nothing here or in the other comparisons makes is a failure.
"""

import base64, http.client, http.server, importlib, json, os, struct, subprocess, sys, tempfile, threading, urllib.parse
import urllib.request, uuid, zlib

from appstoreserverlibrary.api_client import APIException, AppStoreServerAPIClient, GetTransactionHistoryVersion
from appstoreserverlibrary.models.BulletPoint import BulletPoint
from appstoreserverlibrary.models.ConsumptionRequest import ConsumptionRequest
from appstoreserverlibrary.models.ConsumptionRequestV1 import ConsumptionRequestV1
from appstoreserverlibrary.models.DefaultConfigurationRequest import DefaultConfigurationRequest
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.ExtendRenewalDateRequest import ExtendRenewalDateRequest
from appstoreserverlibrary.models.HeaderPosition import HeaderPosition
from appstoreserverlibrary.models.ImageSize import ImageSize
from appstoreserverlibrary.models.MassExtendRenewalDateRequest import MassExtendRenewalDateRequest
from appstoreserverlibrary.models.PerformanceTestRequest import PerformanceTestRequest
from appstoreserverlibrary.models.RealtimeUrlRequest import RealtimeUrlRequest
from appstoreserverlibrary.models.TransactionHistoryRequest import TransactionHistoryRequest
from appstoreserverlibrary.models.UpdateAppAccountTokenRequest import UpdateAppAccountTokenRequest
from appstoreserverlibrary.models.UploadMessageImage import UploadMessageImage
from appstoreserverlibrary.models.UploadMessageRequestBody import UploadMessageRequestBody

program, trial = sys.argv[1:]


def value(name, raw):
    """A value of one of the library's enumerations."""
    return raw if raw is None else getattr(importlib.import_module(f"appstoreserverlibrary.models.{name}"), name)(raw)


BUNDLE = "com.example.app"
DATE = "2026-01-10T12:00:00Z"
REQUEST = "11111111-2222-4333-8444-555555555555"
TOKEN = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
IMAGE, MESSAGE, BULLET = (str(uuid.UUID(int=0x4000800000000000_8000000000000000 + n)) for n in (1, 2, 3))
failures = 0


def check(what, holds, found=""):
    global failures
    failures += not holds
    print(f"{'ok  ' if holds else 'FAIL'} {what}{'' if holds else f' (found: {found})'}")


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = zlib.compress((b"\0" + bytes(width)) * height)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) + chunk(b"IDAT", rows)
            + chunk(b"IEND", b""))


class Store:
    """A fake App Store behind a server that keeps what passes."""

    def __init__(self):
        folder = tempfile.mkdtemp()
        root, key = os.path.join(folder, "root.der"), os.path.join(folder, "key.p8")
        self.process = subprocess.Popen(
            [program, "--port", "0", "--root-out", root, "--key-out", key, "--environment", "sandbox"],
            stdout=subprocess.PIPE, text=True)
        self.options = json.loads(self.process.stdout.readline())
        self.root, self.key = open(root, "rb").read(), open(key, "rb").read()
        self.passed = passed = []
        port = urllib.parse.urlsplit(self.options["url"]).port

        class Passing(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def pass_on(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                connection = http.client.HTTPConnection("127.0.0.1", port)
                headers = {name: self.headers[name] for name in ("Authorization", "Content-Type") if name in self.headers}
                connection.request(self.command, self.path, body, headers)
                answer = connection.getresponse()
                data = answer.read()
                target = urllib.parse.urlsplit(self.path)
                passed.append((self.command, target.path, sorted(urllib.parse.parse_qsl(target.query)),
                               self.headers.get("Content-Type") if body else None, self.read(body), answer.status, self.read(data)))
                self.send_response(answer.status)
                if answer.headers.get("Content-Type"):
                    self.send_header("Content-Type", answer.headers["Content-Type"])
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = pass_on

            @staticmethod
            def read(body):
                try:
                    value = json.loads(body)
                except ValueError:
                    return body
                # What is signed differs in each signature.
                signed = ("signedAppTransactionInfo", "signedTransactions", "completeDate")
                return {name: bool(member) if name in signed else member for name, member in value.items()}

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Passing)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}"

    def post(self, path, **body):
        request = urllib.request.Request(f"{self.options['url']}/fake/{path}", json.dumps(body).encode(), method="POST")
        return json.load(urllib.request.urlopen(request))

    def fill(self):
        self.post("clock", date=DATE)
        self.subscription = self.post("purchase", product_id="monthly", type="auto-renewable", group="g", date=DATE)["transaction_id"]
        self.coins = self.post("purchase", product_id="coins", quantity=2, date=DATE)["transaction_id"]


apples, ours = Store(), Store()
try:
    for store in apples, ours:
        store.fill()
    check("both have the same purchases", (apples.subscription, apples.coins) == (ours.subscription, ours.coins))
    client = AppStoreServerAPIClient(
        apples.key, apples.options["key_id"], apples.options["issuer_id"], BUNDLE, Environment.SANDBOX)
    client._base_url = apples.url
    process = subprocess.Popen([trial], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    text = lambda data: base64.b64encode(data).decode()
    process.stdin.write(json.dumps(dict(
        url=ours.url, root=text(ours.root), key=text(ours.key), keyID=ours.options["key_id"],
        issuerID=ours.options["issuer_id"], bundleID=BUNDLE, environment="sandbox")) + "\n")

    def ask(call, **inquiry):
        process.stdin.write(json.dumps(dict(inquiry, call=call)) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    made = set()

    def compare(method, arguments, call, **inquiry):
        made.add(method)
        before = len(apples.passed), len(ours.passed)
        try:
            getattr(client, method)(*arguments)
        except APIException as error:
            pass
        answer = ask(call, **inquiry)
        one, other = apples.passed[before[0]:], ours.passed[before[1]:]
        check(f"{method}: {one[0][0]} {one[0][1]}, {one[0][5]}", one == other, (one, other, answer))
        return answer

    coins, subscription = apples.coins, apples.subscription
    compare("get_app_transaction_info", [coins], "app-transaction-info", id=coins)
    compare("get_app_transaction_info", ["99"], "app-transaction-info", id="99")
    compare("get_transaction_history", [coins, None, TransactionHistoryRequest(), GetTransactionHistoryVersion.V1],
            "transaction-history-v1", id=coins)
    compare("set_app_account_token", [coins, UpdateAppAccountTokenRequest(appAccountToken=TOKEN)],
            "set-app-account-token", id=coins, texts=[TOKEN])
    compare("set_app_account_token", ["99", UpdateAppAccountTokenRequest(appAccountToken=TOKEN)],
            "set-app-account-token", id="99", texts=[TOKEN])
    for percentage, preference in [(50_000, "GRANT_PRORATED"), (None, None), (100_000, "GRANT_PRORATED"), (0, "DECLINE")]:
        compare("send_consumption_information",
                [coins, ConsumptionRequest(customerConsented=True, sampleContentProvided=False, deliveryStatus=value("DeliveryStatus", "DELIVERED"),
                                           consumptionPercentage=percentage,
                                           refundPreference=value("RefundPreference", preference))],
                "send-consumption-information", id=coins, texts=["DELIVERED"] + ([preference] if preference else []),
                numbers=[] if percentage is None else [percentage])
    compare("send_consumption_data",
            [coins, ConsumptionRequestV1(
                customerConsented=True, consumptionStatus=value("ConsumptionStatus", 1), platform=value("Platform", 1),
                sampleContentProvided=True, deliveryStatus=value("DeliveryStatusV1", 0), appAccountToken=TOKEN,
                accountTenure=value("AccountTenure", 2), playTime=value("PlayTime", 3),
                lifetimeDollarsRefunded=value("LifetimeDollarsRefunded", 4),
                lifetimeDollarsPurchased=value("LifetimeDollarsPurchased", 5), userStatus=value("UserStatus", 1),
                refundPreference=value("RefundPreferenceV1", 2))],
            "send-consumption-information-v1", id=coins, texts=[TOKEN], numbers=[0, 1, 1, 2, 3, 4, 5, 1, 2])
    compare("finish_transaction", [coins], "finish-transaction", id=coins)
    for _ in range(3):
        compare("extend_subscription_renewal_date",
                [subscription, ExtendRenewalDateRequest(extendByDays=10, extendReasonCode=value("ExtendReasonCode", 1), requestIdentifier="a")],
                "extend-renewal-date", id=subscription, texts=["a"], numbers=[10, 1])
    compare("extend_renewal_date_for_all_active_subscribers",
            [MassExtendRenewalDateRequest(extendByDays=5, extendReasonCode=value("ExtendReasonCode", 3), requestIdentifier=REQUEST, productId="monthly",
                                          storefrontCountryCodes=["USA", "CHN"])],
            "extend-all-renewal-dates", texts=[REQUEST, "monthly", "USA", "CHN"], numbers=[5, 3])
    compare("get_status_of_subscription_renewal_date_extensions", [REQUEST, "monthly"],
            "renewal-extension-status", texts=[REQUEST, "monthly"])
    compare("get_status_of_subscription_renewal_date_extensions", [TOKEN, "monthly"],
            "renewal-extension-status", texts=[TOKEN, "monthly"])
    for id, size, image in [(IMAGE, "FULL_SIZE", png(3840, 160)), (BULLET, "BULLET_POINT", png(1024, 1024))]:
        compare("upload_image", [uuid.UUID(id), image, ImageSize(size)], "upload-image", id=id, texts=[size], bytes=text(image))
    compare("get_image_list", [], "images")
    compare("upload_message",
            [uuid.UUID(MESSAGE), UploadMessageRequestBody(
                header="Stay", body="“Here”", image=UploadMessageImage(imageIdentifier=uuid.UUID(IMAGE), altText="A cat"),
                headerPosition=HeaderPosition.ABOVE_IMAGE,
                bulletPoints=[BulletPoint(text="One", imageIdentifier=uuid.UUID(BULLET), altText="A cat")])],
            "upload-message", id=MESSAGE, texts=["Stay", "“Here”", IMAGE, "A cat", "One", BULLET])
    compare("get_message_list", [], "messages")
    compare("configure_default_message", ["monthly", "en-US", DefaultConfigurationRequest(messageIdentifier=uuid.UUID(MESSAGE))],
            "set-default-message", id=MESSAGE, texts=["monthly", "en-US"])
    compare("get_default_message", ["monthly", "en-US"], "default-message", texts=["monthly", "en-US"])
    compare("delete_default_message", ["monthly", "en-US"], "delete-default-message", texts=["monthly", "en-US"])
    compare("get_default_message", ["monthly", "en-US"], "default-message", texts=["monthly", "en-US"])
    compare("configure_realtime_url", [RealtimeUrlRequest(realtimeURL="https://example.com/a")],
            "set-realtime-url", texts=["https://example.com/a"])
    compare("get_realtime_url", [], "realtime-url")
    test = compare("initiate_performance_test", [PerformanceTestRequest(originalTransactionId=subscription)],
                   "start-performance-test", id=subscription)
    compare("get_performance_test_results", [test["answer"][0]], "performance-test-result", id=test["answer"][0])
    compare("delete_image", [uuid.UUID(IMAGE)], "delete-image", id=IMAGE)
    compare("delete_message", [uuid.UUID(MESSAGE)], "delete-message", id=MESSAGE)
    compare("delete_image", [uuid.UUID(IMAGE)], "delete-image", id=IMAGE)
    compare("delete_realtime_url", [], "delete-realtime-url")
    # Compared by the other two files.
    made |= {"get_transaction_info", "get_all_subscription_statuses", "get_refund_history", "look_up_order_id",
             "get_notification_history", "request_test_notification", "get_test_notification_status"}
    calls = {name for name in dir(AppStoreServerAPIClient) if not name.startswith("_")}
    check(f"all {len(calls)} calls of Apple's client are made", made == calls, made ^ calls)
    process.stdin.close()
    process.wait()
finally:
    for store in apples, ours:
        store.process.terminate()
        store.process.wait()
print(f"{failures} failed")
sys.exit(1 if failures else 0)
