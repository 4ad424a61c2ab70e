"""Drives a browser over the support desk. scripts/check/support runs it, and says what its arguments do."""
import atexit, base64, json, os, signal, sys, time

import axe_core_python
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from support_cases import STAFF, Desk, Shop, words

arguments = sys.argv[1:]
portrait = arguments[1] if arguments[:1] == ["--picture"] else None
pictures = arguments[0] if arguments and not arguments[0].startswith("-") else None
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print("FAILED", what, flush=True)


shop = Shop(*(os.path.abspath(f".build/debug/{name}") for name in ["receipt", "receipt-server", "fake-app-store"]))

if arguments[:1] in (["--cases"], ["--answers"]):
    desk = Desk(shop)
    print(f"http://127.0.0.1:{shop.desk}/  token: {STAFF}\n")
    for number, case in enumerate(shop.cases, 1):
        print(f"{number}. {case.question}\n   {case.message}\n")
        if arguments == ["--answers"]:
            page = words(desk.search(case.message))
            print("   " + page.split("Answer", 1)[1].split("This page knows")[0].strip()[:1500] + "\n")
    sys.stdout.flush()
    if arguments == ["--cases"]:
        print("Enter ends it.", flush=True)
        # Without standard input, a signal ends it.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())
        if not sys.stdin.readline():
            signal.pause()
    sys.exit()

# MARK: The browser

options = webdriver.ChromeOptions()
for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-background-networking", "--disable-component-update",
                 "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]:
    options.add_argument(argument)
options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
os.environ["SE_OFFLINE"] = "true"
driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path="/usr/bin/chromedriver"))
atexit.register(driver.quit)
driver.set_script_timeout(120)
axe = open(os.path.join(os.path.dirname(axe_core_python.__file__), "axe.min.js")).read()
address = f"http://127.0.0.1:{shop.desk}/"


def script(text, *values):
    return driver.execute_script(text, *values)


def look(width=1180, scheme="light", media="screen"):
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]})
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})


def picture(name, height=8000):
    size = script("return [document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    clip = {"x": 0, "y": 0, "width": size[0], "height": min(size[1], height), "scale": 1}
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    os.makedirs(os.path.dirname(os.path.abspath(name)), exist_ok=True)
    with open(name, "wb") as file:
        file.write(base64.b64decode(shot["data"]))


def press(button, *keys):
    """Sends a form by a click, or by keys, and waits for the page that answers: the driver does not always wait."""
    script("document.documentElement.dataset.old = '1'")
    button.send_keys(*keys) if keys else button.click()
    WebDriverWait(driver, 60).until(lambda driver: script("return document.readyState == 'complete' && !document.documentElement.dataset.old"))


def sign_in(language="en", zone="Asia/Shanghai"):
    driver.get(address)
    driver.find_element(By.ID, "token").send_keys(STAFF)
    Select(driver.find_element(By.ID, "language")).select_by_value(language)
    press(driver.find_element(By.CSS_SELECTOR, "main button"))
    driver.get(address + "settings")
    Select(driver.find_element(By.ID, "zone")).select_by_value(zone)
    Select(driver.find_element(By.ID, "language")).select_by_value(language)
    press(driver.find_element(By.CSS_SELECTOR, "main button"))


def search(text):
    look()
    driver.get(address)
    # As a paste does it: the keys of a receipt would take a minute.
    script("document.getElementById('text').value = arguments[0]", text)
    press(driver.find_element(By.CSS_SELECTOR, "form[role=search] button"))


if portrait:
    look(1100)
    sign_in()
    search(shop.cases[1].message)
    picture(portrait, script("return document.querySelector('main section').getBoundingClientRect().bottom + 12"))
    sys.exit()

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
        || [...e.attributes].some(a => a.name.startsWith('on') || ['style', 'src', 'srcset', 'xlink:href', 'formaction'].includes(a.name)
            || a.name == 'action' && !/^\\/[a-z-]+$/.test(a.value)
            || a.name == 'href' && !a.value.startsWith('#') && !['/', '/settings'].includes(a.value))).map(e => e.outerHTML.slice(0, 80)).slice(0, 5);"""
TAGS = ("html head meta title style body header main footer section article nav div span p a h1 h2 h3 h4 ul ol li dl dt dd table thead tbody tr th td details "
        "summary strong small code bdi time b i svg rect line circle path text form input textarea select option button label").split()


def examine(name, views):
    for width, scheme, media in views:
        label = f"{name}, {width} pixels, {scheme}, {media}"
        look(width, scheme, media)
        script("document.querySelectorAll('details').forEach(element => element.open = true)")
        excess, wide = script(OVERFLOW)
        check(excess <= 0 and not wide, f"{label}: wider than the page: {excess} {wide}")
        if pictures:
            picture(f"{pictures}/{name}-{width}-{scheme}-{media}.png")
        if media == "print":
            check(len(base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", {})["data"])) > 8_000, f"{label}: no pages")
            continue
        driver.execute_cdp_cmd("Runtime.evaluate", {"expression": axe})
        result = driver.execute_async_script(
            "const done = arguments[0]; axe.run(document, {resultTypes: ['violations'], rules: {'color-contrast': {enabled: true}}}).then(done)")
        for violation in result["violations"]:
            check(False, f"{label}: axe: {violation['id']}: {violation['help']}: {violation['nodes'][0]['html'][:120]} {violation['nodes'][0].get('failureSummary', '')[:200]}")
    foreign = script(MARKUP, TAGS)
    check(not foreign, f"{name}: markup that is not the writer's: {foreign}")
    hidden = script(r"return /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/.test(document.body.innerText)")
    check(not hidden, f"{name}: a hidden character is in the text")
    check(script("return document.querySelectorAll('h1').length") == 1, f"{name}: one h1")
    check(script("return new Set([...document.querySelectorAll('[id]')].map(e => e.id)).size == document.querySelectorAll('[id]').length"), f"{name}: an id is there twice")
    check(driver.current_url.rstrip("/") in {address.rstrip("/")} | {address + path for path in ["search", "act", "account", "settings", "sign-in"]}, f"{name}: {driver.current_url}")


WIDE, PHONE, DARK, PRINT = (1180, "light", "screen"), (360, "light", "screen"), (1180, "dark", "screen"), (1180, "light", "print")
begin = time.monotonic()
look()
driver.get(address)
examine("sign-in", [WIDE, PHONE, DARK])

# MARK: By keyboard alone

look()
driver.get(address)
driver.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
check(script("return document.activeElement.className") == "skip", "keyboard: the first is the way past the top")
for _ in range(2):
    driver.switch_to.active_element.send_keys(Keys.TAB)
    if script("return document.activeElement.id") == "token":
        break
check(script("return document.activeElement.id") == "token", "keyboard: the token follows")
press(driver.switch_to.active_element, "wrong-token-of-nobody", Keys.ENTER)
check("The token is unknown" in driver.find_element(By.TAG_NAME, "main").text, "a wrong token is said to be wrong")
check(script("return document.querySelector('[role=status]') !== null"), "a screen reader hears of it")
press(driver.find_element(By.ID, "token"), STAFF, Keys.ENTER)
check(driver.current_url == address, f"signed in: {driver.current_url}")
cookies = {cookie["name"]: cookie for cookie in driver.get_cookies()}
check(cookies["receipt-support"]["httpOnly"] and cookies["receipt-support"]["sameSite"] == "Strict", f"the cookie: {cookies}")
check(script("return document.cookie") == "", "a script would see a cookie")
reached = []
for _ in range(12):
    driver.switch_to.active_element.send_keys(Keys.TAB)
    tag, identity, outline = script("const e = document.activeElement; return [e.tagName, e.id || e.textContent.slice(0, 20), getComputedStyle(e).outlineStyle]")
    if tag == "BODY":
        break
    check(outline != "none", f"keyboard: {tag} {identity} shows no focus")
    reached.append(identity)
check("text" in reached and "Search" in reached, f"keyboard: {reached}")
driver.find_element(By.ID, "text").send_keys(shop.cases[5].message + Keys.TAB)
press(driver.switch_to.active_element, Keys.ENTER)
check("Its period has ended" in driver.find_element(By.TAG_NAME, "main").text, "keyboard: a search by keys alone")
summary = driver.find_element(By.CSS_SELECTOR, "main details > summary")
summary.send_keys(Keys.ENTER)
check(script("return document.querySelector('main details').open"), "keyboard: Enter opens the acts")
examine("search", [WIDE])

# MARK: The ten cases, in both languages

for language in ["en", "zh-Hans"]:
    driver.delete_all_cookies()
    look()
    sign_in(language)
    for case in shop.cases:
        search(case.message)
        if language == "en":
            text = words(driver.page_source)
            for sentence in case.answer:
                check(sentence in text, f"{case.name}: the page does not say '{sentence}'")
        check(script("return document.documentElement.lang") == language, f"{case.name}: {language}")
        examine(f"{case.name.replace(' ', '-')}-{language}", [WIDE, PHONE, DARK, PRINT] if case.name in ("refunded", "lost") else [WIDE, PHONE])
    driver.get(address + "settings")
    examine(f"settings-{language}", [WIDE, PHONE])

# MARK: An act

driver.delete_all_cookies()
look()
sign_in()
search(shop.cases[0].message)
script("document.querySelectorAll('details').forEach(element => element.open = true)")
form = driver.find_element(By.XPATH, "//form[input[@name='act' and @value='set-quantity']]")
form.find_element(By.NAME, "quantity").send_keys("7")
form.find_element(By.TAG_NAME, "button").click()
check("Nothing was done" not in driver.page_source and driver.current_url.endswith("/search"), "the browser asks for a reason")
form.find_element(By.NAME, "reason").send_keys("a gift for <b>anna</b>, 安娜's friend")
press(form.find_element(By.TAG_NAME, "button"))
text = words(driver.page_source)
check("The quantity is now 7; it was 2." in text and "Reason: a gift for <b>anna</b>, 安娜's friend" in text, "an act and its reason are in the story")
examine("act", [WIDE, PHONE])
driver.refresh()
try:
    driver.switch_to.alert.accept()
except Exception:
    pass
check("The quantity is now 7; it was 2." in words(driver.page_source) or "Nothing was done again." in words(driver.page_source), "a page that is loaded again does nothing again")

# MARK: Hostile texts

HOSTILE = ["<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "</textarea></form><form action=//evil.example><button>", "</style><style>*{display:none}</style>",
           "\u202e)1(trela", "e" + "\u0301" * 100, "W" * 255, "\ufdfd" * 60, "&lt;script&gt;", "javascript:alert(1)"]
for number, hostile in enumerate(HOSTILE):
    purchase = shop.transaction(350000000000000 + number, "x", "Consumable", 0, productId=hostile[:80])
    shop.redeem(hostile[:60], purchase)
time.sleep(2)
for number, hostile in enumerate(HOSTILE):
    search(hostile[:60] if number % 2 else str(350000000000000 + number))
    examine(f"hostile-{number}", [WIDE, PHONE])

# MARK: What the browser says

entries = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
foreign = sorted({entry["params"]["request"]["url"] for entry in entries if entry["method"] == "Network.requestWillBeSent"
                  and not entry["params"]["request"]["url"].startswith((address, "data:"))})
check(not foreign, f"requests: {foreign}")
secrets = [entry["params"]["request"]["url"] for entry in entries if entry["method"] == "Network.requestWillBeSent" and "?" in entry["params"]["request"]["url"]]
check(not secrets, f"something in an address: {secrets[:3]}")
check(not [entry for entry in entries if entry["method"] == "Page.javascriptDialogOpening"
           and entry["params"].get("type") != "beforeunload"], "a dialog was opened")
console = [entry["message"] for entry in driver.get_log("browser") if entry["level"] in ("WARNING", "SEVERE")
           and "favicon" not in entry["message"] and "403 (Forbidden)" not in entry["message"]]
check(not console, f"the console: {console[:3]}")
print(f"{len(shop.cases)} cases, {len(HOSTILE)} hostile texts, {time.monotonic() - begin:.0f} s, {len(failures)} failures")
sys.exit(1 if failures else 0)
