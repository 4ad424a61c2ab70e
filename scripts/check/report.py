"""Drives a browser over pages of `receipt report`, from minted evidence. scripts/check/report runs it.

With `--picture FILE`, it makes the picture of the article on operation, and checks nothing."""
import base64, http.server, json, os, subprocess, sys, tempfile, threading, time

import axe_core_python
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

command = os.path.abspath(sys.argv[1])
portrait = sys.argv[3] if sys.argv[2:3] == ["--picture"] else None
pictures = sys.argv[2] if len(sys.argv) > 2 and not portrait else None
folder = tempfile.mkdtemp(prefix="receipt-report-")
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print("FAILED", what, flush=True)


def receipt(*words, status=0):
    run = subprocess.run([command, *words], cwd=folder, capture_output=True, text=True)
    assert run.returncode == status, (words, run.returncode, run.stderr)
    return run.stdout


# MARK: Evidence

receipt("ca", "--out", "rsa")
receipt("ca", "--key", "ec", "--out", "ec")
receipt("ca", "--out", "stranger")
ROOTS = ["--root", "rsa/root.der", "--root", "ec/root.der"]


def mint(name, specification, authority="rsa"):
    with open(f"{folder}/{name}.json", "w") as file:
        json.dump(specification, file)
    receipt("mint", "--ca", authority, "--out", name, f"{name}.json")
    return name


def purchase(product, number, type, bought, **others):
    return dict(product_id=product, transaction_id=str(number), product_type=type, quantity=1, purchase_date=bought, **others)


def period(product, number, begin, end, **others):
    return purchase(product, number, "auto-renewable", begin, expires_date=end, original_transaction_id="20", **others)


example = mint("example.der", dict(receipt_type="Production", bundle_id="com.example.notes", in_app=[
    purchase("com.example.notes.coins", 10, "consumable", "2025-06-20"),
    purchase("com.example.notes.pro", 11, "non-consumable", "2025-01-10"),
    purchase("com.example.notes.themes", 12, "non-consumable", "2025-02-01", cancellation_date="2025-02-08", cancellation_reason=1),
    purchase("com.example.notes.season", 13, "non-renewing", "2025-06-15"),
    period("com.example.notes.monthly", 20, "2024-11-01", "2024-12-01", is_trial_period=True),
    period("com.example.notes.monthly", 21, "2024-12-01", "2025-01-01"),
    period("com.example.notes.monthly", 22, "2025-02-10", "2025-03-10"),
    period("com.example.notes.monthly", 23, "2025-03-10", "2025-04-10", cancellation_date="2025-03-20T08:00:00Z"),
    period("com.example.notes.yearly", 24, "2025-03-20T08:00:05Z", "2026-03-20T08:00:05Z")]))
forged = mint("forged.der", dict(bundle_id="com.example.notes", in_app=[purchase("com.example.notes.pro", 1, "non-consumable", "2025-01-10")]), "stranger")
renewal = mint("renewal.jws", {"renewal_info": {
    "originalTransactionId": "70000", "productId": "com.example.notes.yearly", "autoRenewStatus": 1, "isInBillingRetryPeriod": True,
    "gracePeriodExpiresDate": "2025-06-17T00:00:00Z", "signedDate": "2025-06-02T00:00:00Z"}}, "ec")
transaction = mint("transaction.jws", {"transaction": {
    "bundleId": "com.example.notes", "productId": "com.example.notes.yearly", "transactionId": "70001", "originalTransactionId": "70000",
    "type": "Auto-Renewable Subscription", "purchaseDate": "2025-05-01T00:00:00Z", "expiresDate": "2025-06-01T00:00:00Z", "offerType": 1,
    "offerDiscountType": "FREE_TRIAL"}}, "ec")
with open(f"{folder}/{example}", "rb") as file:
    cut = file.read()[:700]
with open(f"{folder}/cut.der", "wb") as file:
    file.write(cut)

# What strangers write: markup, styles, addresses, templates, directions, marks, and the fillings of the growth table.
HOSTILE = [
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "'><svg/onload=alert(1)>", "</style><script>alert(1)</script>",
    "</title><script>alert(1)</script>", "</details></table></main><h1>Genuine: Apple signed this</h1>", "<!--", "-->", "]]>", "<![CDATA[",
    "javascript:alert(1)", "<a href=javascript:alert(1)>x</a>", "<base href=//evil.example>", "<meta http-equiv=refresh content=0;url=//evil.example>",
    "<link rel=stylesheet href=//evil.example/x.css>", "<iframe src=//evil.example>", "<object data=//evil.example>", "<form action=//evil.example><button>",
    "<style>*{display:none}</style>", "style=\"position:fixed\"", "url(//evil.example)", "@import '//evil.example'", "expression(alert(1))",
    "{{constructor.constructor('alert(1)')()}}", "${alert(1)}", "&lt;script&gt;", "&#x3C;script&#x3E;", "\u202e)1(trela", "\u2066\u2067\u200f\u061c",
    "\u0000\u0001\u001b[31m", "\u2028\u2029", "\ufeff\u200b\u2060", "e" + "\u0301\u0316" * 300, "\u0645\u0631\u062d\u0628\u0627 " * 40, "\u0e01" + "\u0e49" * 200,
    "\U0001f469\u200d" * 80, "\u1112\u1161\u11ab" * 80, "\U0001f1e9" * 80, "\ufdfd" * 60, "W" * 5000, "i" * 5000, "a b " * 2000, "\n" * 500, "\r\t" * 200,
    "\\" * 500, "\"" * 500, "'" * 500, "&" * 2000, "<" * 2000, "9" * 400, "-" * 400, "." * 400, "=" * 400, "/" * 400, "\u7684" * 500]
fields = [purchase(text or "x", text or "x", "non-consumable", "2025-06-15") for text in HOSTILE]
everywhere = "\"'><script src=//evil.example></script><img src=//evil.example onerror=alert(1)>\u202e</style>"
for field in fields:
    field.update(original_transaction_id=field["product_id"], promotional_offer_id=field["product_id"])
hostile = [mint("hostile.der", dict(bundle_id=everywhere, application_version=everywhere, original_application_version=everywhere, in_app=fields))]
members = ["bundleId", "productId", "transactionId", "originalTransactionId", "webOrderLineItemId", "subscriptionGroupIdentifier", "type", "appAccountToken",
           "inAppOwnershipType", "offerIdentifier", "offerDiscountType", "offerPeriod", "storefront", "storefrontId", "transactionReason", "currency",
           "appTransactionId", "unknownMember" + everywhere]
for index, text in enumerate(HOSTILE[::3] + [everywhere]):
    hostile.append(mint(f"hostile-{index}.jws", {"transaction": {member: text for member in members}}, "ec" if index % 2 else "ec"))
hostile.append(mint("claim.der", dict(bundle_id=everywhere, in_app=fields), "stranger"))
name = "<img src=x onerror=alert(1)>\u202e.der"
with open(f"{folder}/{name}", "wb") as file:
    file.write(b"<script>alert(1)</script>")
hostile.append(name)
thousand = mint("thousand.der", dict(bundle_id="com.example.notes", in_app=[
    purchase(f"com.example.notes.product.{n % 10}", 200_000_000_000_001 + n, "consumable", f"2025-06-{n % 28 + 1:02}") for n in range(1000)]))


def page(output, *words, status=0):
    receipt("report", "--at", "2025-07-01", "--out", output, *words, status=status)
    return output


PAGES = {
    "genuine": page("genuine.html", *ROOTS, "--time-zone", "Asia/Shanghai", example),
    "chinese": page("chinese.html", *ROOTS, "--language", "zh-Hans", "--time-zone", "Asia/Shanghai", example),
    "forged": page("forged.html", *ROOTS, forged, status=1),
    "chinese-forged": page("chinese-forged.html", *ROOTS, "--language", "zh-Hans", forged, status=1),
    "other-app": page("other-app.html", *ROOTS, "--bundle-id", "com.example.other", example, status=1),
    "damaged": page("damaged.html", *ROOTS, "cut.der", status=1),
    "several": page("several.html", *ROOTS, transaction, renewal, example, forged, status=1),
    "hostile": page("hostile.html", *ROOTS, *hostile, status=1),
    "chinese-hostile": page("chinese-hostile.html", *ROOTS, "--language", "zh-Hans", *hostile, status=1),
    "thousand": page("thousand.html", *ROOTS, thousand),
}
size = os.path.getsize(f"{folder}/thousand.html")
check(size < 2_000_000, f"1,000 purchases: {size} bytes")


def seconds(*words):
    begin = time.monotonic()
    receipt(*words)
    return time.monotonic() - begin


report_time = min(seconds("report", *ROOTS, "--out", "/dev/null", thousand) for _ in range(3))
verify_time = min(seconds("verify", *ROOTS, thousand) for _ in range(3))
print(f"1,000 purchases: {size} bytes, {report_time:.2f} s, {report_time / verify_time:.1f} times 'receipt verify' (debug build)")


# MARK: The browser

requests = []


class Server(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *arguments):
        super().__init__(*arguments, directory=folder)

    def log_message(self, *arguments):
        requests.append(self.path)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
options = webdriver.ChromeOptions()
for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-background-networking", "--disable-component-update",
                 "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]:
    options.add_argument(argument)
options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
os.environ["SE_OFFLINE"] = "true"
driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path="/usr/bin/chromedriver"))
driver.set_script_timeout(120)
axe = open(os.path.join(os.path.dirname(axe_core_python.__file__), "axe.min.js")).read()


def show(name, width=1180, scheme="light", media="screen"):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
    driver.get(f"http://127.0.0.1:{server.server_port}/{PAGES[name]}")


def script(text):
    return driver.execute_script(text)


def picture(name):
    if not pictures:
        return
    os.makedirs(pictures, exist_ok=True)
    size = script("return [document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    clip = {"x": 0, "y": 0, "width": size[0], "height": min(size[1], 8000), "scale": 1}
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    with open(f"{pictures}/{name}.png", "wb") as file:
        file.write(base64.b64decode(shot["data"]))


if portrait:
    PAGES = {"portrait": page("portrait.html", *ROOTS, "--bundle-id", "com.example.notes", "--environment", "production", example)}
    show("portrait", 1100)
    height = script("return document.querySelector('.lane').getBoundingClientRect().bottom")
    clip = {"x": 0, "y": 0, "width": 1100, "height": height, "scale": 1}
    with open(portrait, "wb") as file:
        file.write(base64.b64decode(driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})["data"]))
    driver.quit()
    sys.exit()


def open_all():
    script("document.querySelectorAll('details').forEach(element => element.open = true)")


OVERFLOW = """
    const width = document.documentElement.clientWidth, wide = [];
    for (const element of document.body.querySelectorAll('*')) {
        const box = element.getBoundingClientRect();
        if (box.width && (box.right > width + 1 || box.left < -1) && !element.closest('.skip') && !element.closest('svg') && !element.closest('thead'))
            wide.push(element.tagName + '.' + element.className + ': ' + (element.textContent || '').slice(0, 40));
    }
    return [document.documentElement.scrollWidth - width, wide.slice(0, 5)];"""
MARKUP = """
    const allowed = new Set(arguments[0]);
    return [...document.querySelectorAll('*')].filter(e => !allowed.has(e.tagName.toLowerCase())
        || [...e.attributes].some(a => a.name.startsWith('on') || ['style', 'src', 'srcset', 'action', 'xlink:href'].includes(a.name)
            || a.name == 'href' && !a.value.startsWith('#'))).map(e => e.outerHTML.slice(0, 80)).slice(0, 5);"""
TAGS = ("html head meta title style body header main footer section article nav div span p a h1 h2 h3 h4 ul ol li dl dt dd table thead tbody tr th td details "
        "summary strong small code bdi time b i svg rect line circle path text").split()

for name in PAGES:
    begin = time.monotonic()
    # One page of each sort is seen in every way.
    views = [(1180, "light", "screen"), (360, "light", "screen"), (360, "dark", "screen"), (1180, "light", "print")]
    for width, scheme, media in views if name in ("genuine", "chinese", "forged") else views[:2]:
        label = f"{name}, {width} pixels, {scheme}, {media}"
        show(name, width, scheme, media)
        if scheme == "light" or name == "genuine":
            picture(f"{name}-{width}-{scheme}-{media}")
        if name not in ("thousand", "several"):
            open_all()
        excess, wide = script(OVERFLOW if name != "thousand" else "return [document.documentElement.scrollWidth - innerWidth, []]")
        check(excess <= 0 and not wide, f"{label}: wider than the page: {excess} {wide}")
        if media == "print":
            check(len(base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", {})["data"])) > 10_000, f"{label}: no pages")
            background = script("return getComputedStyle(document.body).backgroundColor")
            check(background == "rgb(255, 255, 255)", f"{label}: background {background}")
        if scheme == "dark":
            background = script("return getComputedStyle(document.body).backgroundColor")
            check(background == "rgb(16, 19, 23)", f"{label}: background {background}")
    foreign = driver.execute_script(MARKUP, TAGS)
    check(not foreign, f"{name}: markup that is not the writer's: {foreign}")
    hidden = script(r"return /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/.test(document.body.textContent)")
    check(not hidden, f"{name}: a hidden character is in the text")
    check(script("return getComputedStyle(document.body).margin") == "0px", f"{name}: the style sheet is not applied")
    check(script("return document.querySelectorAll('h1').length") == 1, f"{name}: one h1")
    if name not in ("thousand", "hostile", "chinese-hostile"):
        for scheme in ["light", "dark"] if name in ("genuine", "forged") else ["light"]:
            show(name, 1180, scheme)
            # The content security policy stands in the page: the tool's script comes from outside of it.
            if name in ("forged", "damaged"):
                open_all()
            driver.execute_cdp_cmd("Runtime.evaluate", {"expression": axe})
            result = driver.execute_async_script(
                "const done = arguments[0]; axe.run(document, {resultTypes: ['violations'], rules: {'color-contrast': {enabled: true}}}).then(done)")
            for violation in result["violations"]:
                check(False, f"{name}, {scheme}: axe: {violation['id']}: {violation['help']}: {violation['nodes'][0]['html'][:120]} {violation['nodes'][0].get('failureSummary', '')[:200]}")
    print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)

# MARK: The keyboard

show("genuine")
reached = []
for _ in range(40):
    driver.switch_to.active_element.send_keys(Keys.TAB)
    focused = script("const e = document.activeElement; return [e.tagName, e.textContent.slice(0, 30), getComputedStyle(e).outlineStyle]")
    if focused[0] == "BODY":
        break
    check(focused[2] != "none", f"keyboard: {focused} shows no focus")
    reached.append(focused[:2])
closed = script("return document.querySelectorAll('article > details > summary').length")
check(reached and "report" in reached[0][1], f"keyboard: the first is the way past the top: {reached[:1]}")
check(sum(tag == "SUMMARY" for tag, _ in reached) >= closed, f"keyboard: {reached}")
summary = driver.find_element(By.CSS_SELECTOR, "article > details > summary")
summary.send_keys(Keys.ENTER)
check(script("return document.querySelector('article > details').open"), "keyboard: Enter opens what is folded")

# MARK: What the browser says

entries = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
foreign = sorted({entry["params"]["request"]["url"] for entry in entries if entry["method"] == "Network.requestWillBeSent"
                  and not entry["params"]["request"]["url"].startswith((f"http://127.0.0.1:{server.server_port}/", "data:"))})
check(not foreign, f"requests: {foreign}")
check(not [entry for entry in entries if entry["method"] == "Page.javascriptDialogOpening"], "a dialog was opened")
pages = {"/" + page for page in PAGES.values()} | {"/favicon.ico"}
check(set(requests) <= pages, f"requests: {set(requests) - pages}")
console = [entry["message"] for entry in driver.get_log("browser") if "favicon" not in entry["message"]]
check(not console, f"the console: {console[:3]}")
driver.quit()
print(f"{len(PAGES)} pages, {len(HOSTILE)} hostile texts, {len(failures)} failures")
sys.exit(1 if failures else 0)
