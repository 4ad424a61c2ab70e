"""Draws the stored figures as SVG, and writes them as tables into README.md. usage: draw.py"""

import json
import re
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

FOLDER = Path(__file__).parent
README = FOLDER.parent / "README.md"

# Readable on white and on black, and told apart without colours by the markers.
plt.rcParams.update({
    "svg.hashsalt": "pictures", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 11, "figure.figsize": (8, 4.5), "axes.grid": True,
    "savefig.transparent": True, "axes.spines.top": False, "axes.spines.right": False, "text.color": "#777", "axes.labelcolor": "#777",
    "xtick.color": "#777", "ytick.color": "#777", "axes.edgecolor": "#777", "grid.color": "#7775", "legend.frameon": False,
    "axes.prop_cycle": matplotlib.cycler(color=["#1f83e0", "#e0771f", "#2ca05a", "#a65bd0", "#888888"], marker=["o", "s", "^", "D", "x"]),
})


def figures(name):
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else []


def count(value, _=None):
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.3g}"


def save(name, alternative, axes, x, y, log_y=True):
    """Stores the picture, and returns its link."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if log_y:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
    axes.yaxis.set_major_formatter(FuncFormatter(count))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    axes.figure.tight_layout()
    # Without a date, the same figures give the same file.
    axes.figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None, "Creator": None})
    plt.close(axes.figure)
    return f"![{alternative}](Pictures/{name}.svg)\n\n"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join([" --- "] + [" ---: "] * (len(header) - 1)) + "|"]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def sizes(axes, values):
    # Zero purchases have a place on a logarithmic axis, too.
    axes.set_xscale("symlog", linthresh=1)
    axes.set_xticks(values, [count(value) for value in values])
    axes.minorticks_off()


def cost():
    tasks = {"verify": "this library", "verify-base64": "this library, from base64", "response": "this library, verifyReceipt's answer", "cms-verify": "OpenSSL, payload not read"}
    rows = figures("cost")
    floors = {row["purchases"]: row["median_ns"] for row in rows if row["task"] == "floor"}
    lines = {name: {row["purchases"]: row["median_ns"] / floors[row["purchases"]] for row in rows if row["task"] == task} for task, name in tasks.items()}
    for row in figures("peers"):
        if row["evidence"] == "receipt" and row["purchases"] in floors and row["library"] != "this library":
            lines.setdefault(row["library"], {})[row["purchases"]] = row["microseconds"] * 1000 / floors[row["purchases"]]
    axes = plt.subplots()[1]
    for name, values in lines.items():
        axes.plot(list(values), list(values.values()), label=name)
    sizes(axes, sorted(floors))
    picture = save("cost", "The time of a call divided by the floor, from 0 to 100,000 purchases", axes, "purchases in the receipt", "time of a call ÷ floor")
    header = ["purchases", "floor, µs", *lines]
    return picture + table(header, [[count(size), count(floors[size] / 1000), *(f"{line[size]:.2f}" if size in line else "–" for line in lines.values())] for size in sorted(floors)])


def peers():
    rows = [row for row in figures("peers") if row["evidence"] == "JWS"]
    note = ("The floor and this library are measured in one process. `apple-purchase-receipt-verifier` is measured from Python, by itself; "
            "it refuses receipts of more than 3 MiB. Apple's library verifies no receipts, only JWS:\n\n")
    return note + table(["verifies a JWS, from Python", "µs"], [[row["library"], count(row["microseconds"])] for row in rows])


def machine():
    """A sentence for the figures that were measured on one day, on one machine."""
    days = {}
    for name, found in figures("machine").items():
        smoke = " These were measured briefly, beside other work, and prove nothing." if found["smoke"] else ""
        days.setdefault(f"{found['date']}: {found['processor']}, {found['processors']} processors, {found['openssl']}.{smoke}", []).append(f"`{name}`")
    return "\n".join(f"{', '.join(names)}: measured on {day}" for day, names in sorted(days.items(), reverse=True))


def tasks():
    rows = figures("cost")
    values = [1, 10, 1_000, 100_000]
    cells = {}
    for row in rows:
        ratio = f" ({row['ratio_to_floor']:.2f})" if "ratio_to_floor" in row else ""
        cells.setdefault(row["task"], {})[row["purchases"]] = f"{row['median_ns'] / 1000:,.{1 if row['median_ns'] < 1e5 else 0}f}{ratio}"
    return table(["task", *(f"{count(value)} purchase{'' if value == 1 else 's'}" for value in values)],
                 [[f"`{task}`", *(line.get(value, "") for value in values)] for task, line in cells.items()])


def languages():
    rows = figures("languages")
    calls = list(dict.fromkeys(row["call"] for row in rows))
    names = list(dict.fromkeys(row["language"] for row in rows))
    found = {(row["language"], row["call"]): row["microseconds"] for row in rows}
    axes = plt.subplots()[1]
    width = 0.8 / max(len(calls), 1)
    for index, call in enumerate(calls):
        values = [1e6 / found[name, call] if (name, call) in found else 0 for name in names]
        axes.bar([place + (index - (len(calls) - 1) / 2) * width for place in range(len(names))], values, width, label=call)
    axes.set_xticks(range(len(names)), names)
    picture = save("languages", "Calls a second by language", axes, "", "calls a second, one thread", log_y=False)
    return picture + table(["language", *(f"{call}, µs" for call in calls)], [[name, *(f"{found[name, call]:.1f}" if (name, call) in found else "–" for call in calls)] for name in names])


def service():
    rows = figures("service")
    axes = plt.subplots()[1]
    for key, name in (("p50_ms", "median"), ("p99_ms", "99 % are faster")):
        axes.plot([row["per_second"] for row in rows], [row[key] for row in rows], label=name)
    for row in rows:
        axes.annotate(f"{row['clients']}", (row["per_second"], row["p99_ms"]), textcoords="offset points", xytext=(4, 5), fontsize=9)
    axes.xaxis.set_major_formatter(FuncFormatter(count))
    picture = save("service", "The service's latency against its load", axes, "requests a second; the numbers are connections", "latency, ms")
    return picture + table(["connections", "requests/s", "median, ms", "99 %, ms"], [[row["clients"], count(row["per_second"]), row["p50_ms"], row["p99_ms"]] for row in rows])


def ledger():
    rows = [row for row in figures("ledger") if row["work"] in ("grants", "floor", "floor-groups")]
    names = {"grants": "", "floor": ", plain SQL", "floor-groups": ", plain SQL in groups"}
    lines = {}
    for row in rows:
        name = f"{'SQLite' if row['store'] == 'sqlite' else 'PostgreSQL'}{', two servers' if row['servers'] == 2 else ''}{names[row['work']]}"
        lines.setdefault(name, {})[row["clients"]] = row
    axes = plt.subplots()[1]
    clients = sorted({row["clients"] for row in rows})
    for name, line in lines.items():
        axes.plot(list(line), [row["per_second"] for row in line.values()], label=name, linestyle=":" if "SQL in" in name or "plain" in name else "-")
    axes.set_xscale("log")
    axes.set_xticks(clients, [count(value) for value in clients])
    axes.minorticks_off()
    picture = save("ledger", "The ledger's durable grants a second by clients", axes, "clients", "durable grants a second")
    return picture + table(["ledger", *(f"{value} clients: a second (p99, ms)" for value in clients)],
                 [[name, *(f"{count(line[value]['per_second'])} ({line[value]['p99_ms']:.1f})" if value in line else "–" for value in clients)] for name, line in lines.items()])


text = README.read_text()
sources = {machine: "machine", cost: "cost", tasks: "cost", peers: "peers", languages: "languages", service: "service", ledger: "ledger"}
for draw, source in sources.items():
    start, end = f"<!-- {draw.__name__} -->\n", f"<!-- end of {draw.__name__} -->"
    if not figures(source):
        continue
    assert start in text and end in text, f"README.md has no place for {draw.__name__}"
    text = re.sub(re.escape(start) + ".*?" + re.escape(end), lambda _: start + draw() + "\n" + end, text, flags=re.S)
README.write_text(text)
