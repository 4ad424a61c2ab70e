"""The faults that `scripts/mutants` inserts, and a copy of the sources in which each has a switch.

Those of the library's modules that have a table, and of the ledger's core, are made from the sources by generate.swift,
which lists the operators: these tables have only the faults that no operator makes, and the generated ones that change
no behavior. Those of the rest of the server are written down in tables.
"""
import collections, functools, hashlib, json, pathlib, re, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / ".build-mutants"
UNCOMPILABLE = BUILD / "uncompilable.json"
DECISIONS = "ReceiptServer/Sources/LedgerCore"
FILE_STRIDE = 1000  # numbers for each file, so that a change of one file leaves the switches of the others as they are

# The faults that MUTANT names are switched on. The file that MUTANTS_REACHED names has a byte for each fault that was
# reached: 1, or 2 for arguments that cannot be swapped.
SWITCHES = """\
import Glibc

@usableFromInline let mutantSwitches: [Bool] = {{
    var switches = [Bool](repeating: false, count: {count})
    guard let text = unsafe getenv("MUTANT") else {{ return switches }}
    for word in unsafe String(cString: text).split(separator: ",") {{ if let number = Int(word) {{ switches[number] = true }} }}
    return switches
}}()

@usableFromInline nonisolated(unsafe) let mutantsReached: UnsafeMutablePointer<UInt8>? = {{
    guard let path = unsafe getenv("MUTANTS_REACHED") else {{ return nil }}
    let file = unsafe open(path, O_RDWR)
    defer {{ close(file) }}
    let memory = unsafe mmap(nil, {count}, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
    return unsafe memory == MAP_FAILED ? nil : memory?.assumingMemoryBound(to: UInt8.self)
}}()

@usableFromInline func isMutant(_ number: Int) -> Bool {{
    if let mutantsReached = unsafe mutantsReached {{ unsafe mutantsReached[number] |= 1 }}
    return mutantSwitches[number]
}}
"""
OPERATORS = """
@usableFromInline func isTrue(_ number: Int, _ value: Bool) -> Bool { isMutant(number) || value }
@usableFromInline func isFalse(_ number: Int, _ value: Bool) -> Bool { !isMutant(number) && value }
@usableFromInline func isLess<T: Comparable>(_ number: Int, _ left: T, _ right: T) -> Bool {
    isMutant(number) ? left <= right : left < right
}
@usableFromInline func isAtMost<T: Comparable>(_ number: Int, _ left: T, _ right: T) -> Bool {
    isMutant(number) ? left < right : left <= right
}
@usableFromInline func isGreater<T: Comparable>(_ number: Int, _ left: T, _ right: T) -> Bool {
    isMutant(number) ? left >= right : left > right
}
@usableFromInline func isAtLeast<T: Comparable>(_ number: Int, _ left: T, _ right: T) -> Bool {
    isMutant(number) ? left > right : left >= right
}
@usableFromInline func swapped<T>(_ number: Int, _ own: T, _ other: T) -> T { isMutant(number) ? other : own }
// Arguments of two types cannot change places.
@_disfavoredOverload
@_lifetime(copy own)
@usableFromInline func swapped<T: ~Escapable, U: ~Escapable>(_ number: Int, _ own: T, _ other: U) -> T {
    if let mutantsReached = unsafe mutantsReached { unsafe mutantsReached[number] |= 2 }
    return own
}
@usableFromInline func raised<T: FixedWidthInteger>(_ number: Int, _ value: T) -> T { isMutant(number) ? value &+ 1 : value }
"""


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


class Mutant:
    """One fault: what replaces what. `edits` are its replacements in the bytes of its file, from `start` to `end`."""

    def __init__(self, module, package, file, place, others):
        self.module, self.package, self.file, self.place, self.others = module, package, file, place, others
        self.old, self.new, self.effect, self.reason = [], [], [], []
        self.declaration = self.name = None
        self.start = self.end = 0
        self.edits = []

    def __str__(self):
        if self.name:
            return f"{self.module} {self.declaration}\n    * {self.name}"
        return f"{self.place}: {self.declaration or self.file}\n    - " + "\n      ".join(self.old) + "\n    + " \
            + "\n      ".join(self.new) + f"\n    ! {' '.join(self.effect)}"

    @property
    def key(self):
        """Names it for the test that noticed it; another one if its text changes."""
        parts = [self.module, self.declaration, self.name] if self.name \
            else [self.declaration or self.file, self.old, self.new]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]

    def find(self, source, spans):
        """Finds the text of a fault in parts of its file: an expression, a part of a literal, or statements."""
        text = "\n".join(self.old)
        marked = re.fullmatch("(.*)([«‹])(.*)[»›](.*)", text, re.S)
        parts = (marked[1], marked[3], marked[4]) if marked else ("", text, "")
        pattern = "".join(f"({re.escape(part)})" for part in parts).replace("\\\n", r"\n[ \t]*").encode()
        found = {match.span(2) for start, end in spans for match in re.compile(pattern).finditer(source, start, end)}
        if len(found) != 1:
            sys.exit(f"{self}\n  Its text occurs {len(found)} times: correct the table.")
        (self.start, self.end), = found
        mark, new = marked[2] if marked else "", "\n".join(self.new)
        texts = {
            "‹": (f'\\(isMutant(%) ? "{new}" : "', '")'),
            "«": (f"(isMutant(%) ? ({new}) : (", "))"),
            "": (f"if isMutant(%) {{ {new} }} else {{ ", " }"),
        }
        self.edits = [(self.start, self.end, *texts[mark], None)]


def table(package, path, lines):
    """The mutants of one table."""
    mutants, group, header, sign, others = [], [], None, None, []
    for number, line in enumerate(lines, 1):
        if line.startswith("~"):
            others.append(line[1:].strip())
        elif not line:
            group = []
        elif line[0] not in "-+!=* ":
            header, group = line, []
        else:
            if line[0] in "-*":
                mutant = Mutant(pathlib.Path(path).stem, package, header, f"{path}:{number}", others)
                if not header.endswith(".swift"):
                    mutant.file, mutant.declaration = None, header
                mutants.append(mutant)
                group = group + [mutant] if line[0] == "*" else [mutant]
            sign = line[0].strip() or sign
            mutant = mutants[-1]
            if sign == "*":
                mutant.name = line[1:].strip()
            elif sign == "=":
                for mutant in group:
                    mutant.reason.append(line[1:].strip())
            else:
                lists = {"-": mutant.old, "+": mutant.new, "!": mutant.effect}
                lists[sign].append(line[1:].strip())
    return mutants


def generator():
    """The program that makes the faults, compiled with the parser that the toolchain has."""
    source, program = pathlib.Path(__file__).parent / "generate.swift", BUILD / "generate"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        BUILD.mkdir(exist_ok=True)
        command = ["swiftc", "-print-target-info"]
        information = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        host = information["paths"]["runtimeResourcePath"] + "/host"
        command = ["swiftc", "-O", "-swift-version", "6", "-I", host, "-L", host, "-Xlinker", "-rpath", "-Xlinker",
                   host, "-lSwiftSyntax", "-lSwiftParser", "-lSwiftOperators", source, "-o", program]
        subprocess.run(command, check=True)
    return program


def generated():
    """The generated mutants, and the spans of declarations by module and path: [(file, start, end)]."""
    modules = {path.stem for path in (ROOT / "Tests/Mutants").glob("*.txt")}

    def files(*folders):
        return [name for name in git("ls-files", "-co", "--exclude-standard", *folders)
                if name.endswith(".swift") and (ROOT / name).is_file()]
    library = files(*(f"Sources/{module}" for module in sorted(modules)))
    command = [generator(), *library, "--decisions", *files(DECISIONS)]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    mutants, declarations, counts = [], collections.defaultdict(list), collections.Counter()
    for entry in json.loads(output):
        package, module = re.match(r"(?:(\w+)/)?Sources/(\w+)/", entry["file"]).groups(".")
        for declaration in entry["declarations"]:
            declarations[module, declaration["path"]].append((entry["file"], declaration["start"], declaration["end"]))
        for fault in entry["faults"]:
            mutant = Mutant(module, package, entry["file"], entry["file"], [])
            name = f"{fault['operator']} {fault['text']}"
            counts[module, fault["declaration"], name] += 1
            count = counts[module, fault["declaration"], name]
            mutant.declaration, mutant.name = fault["declaration"], name + (f" #{count}" if count > 1 else "")
            mutant.start, mutant.end = fault["start"], fault["end"]
            mutant.edits = [(edit["start"], edit["end"], edit["before"], edit["after"], edit.get("replacement"))
                            for edit in fault["edits"]]
            mutant.place = f"{module} {mutant.declaration}: {mutant.name}"
            mutants.append(mutant)
    return mutants, declarations


def place(mutant, declarations):
    """Finds the text of a table's fault in its file, or in the declaration that its table names."""
    if mutant.file:
        spans = {mutant.file: [(0, (ROOT / mutant.file).stat().st_size)]}
    else:
        spans = collections.defaultdict(list)
        for file, start, end in declarations[mutant.module, mutant.declaration]:
            spans[file].append((start, end))
    if not spans:
        sys.exit(f"{mutant.place}: no such declaration: {mutant.declaration}")
    # The extensions of a type may be in several files: the one that has the text.
    quote = re.sub("[«»‹›]", "", mutant.old[0]).encode()
    sources = {file: (ROOT / file).read_bytes() for file in spans}
    having = [file for file in spans if any(sources[file].find(quote, *span) >= 0 for span in spans[file])]
    mutant.file = (having or list(spans))[0]
    mutant.find(sources[mutant.file], spans[mutant.file])


def faults():
    """All mutants by number, without those that do not compile."""
    mutants, declarations = generated()
    by_name = {(mutant.module, mutant.declaration, mutant.name): mutant for mutant in mutants}
    for package in (".", "ReceiptServer"):
        for path in sorted((ROOT / package / "Tests/Mutants").glob("*.txt")):
            for mutant in table(package, path.relative_to(ROOT), path.read_text().splitlines()):
                if mutant.name:
                    same = by_name.get((mutant.module, mutant.declaration, mutant.name))
                    if not same:
                        sys.exit(f"{mutant.place}: no operator makes this any more: {mutant}")
                    if not mutant.reason:
                        sys.exit(f"{mutant.place}: without its reason")
                    same.reason = mutant.reason
                elif not (mutant.new and mutant.effect):
                    sys.exit(f"{mutant.place}: without new text, or without its effect")
                else:
                    place(mutant, declarations)
                    mutants.append(mutant)
    left_out, bases, counts, numbered = uncompilable(), {}, collections.Counter(), {}
    for mutant in sorted(mutants, key=lambda mutant: (mutant.package, mutant.file)):
        base = bases.setdefault(mutant.file, len(bases) * FILE_STRIDE)
        if not (mutant.name and [mutant.key, content_hash(mutant.file)] in left_out):
            numbered[base + counts[mutant.file]] = mutant
            counts[mutant.file] += 1
    return numbered


@functools.cache
def content_hash(file):
    return hashlib.sha256((ROOT / file).read_bytes()).hexdigest()[:12]


def uncompilable():
    """The generated faults that did not compile, each with the contents of its file."""
    return json.loads(UNCOMPILABLE.read_text()) if UNCOMPILABLE.exists() else []


def record_uncompilable(mutants):
    entries = [[mutant.key, content_hash(mutant.file)] for mutant in mutants]
    UNCOMPILABLE.write_text(json.dumps(uncompilable() + entries))


def switched(source, mutants):
    """The source with a switch for each (number, mutant), and the span of each in the result."""
    edits = []
    for number, mutant in mutants:
        for start, end, before, after, replacement in mutant.edits:
            size = end - start
            # What opens a wider fault comes first; what closes it comes last.
            # Of one size: what stands before a condition, what replaces an expression, and inside it what changes it.
            inner = 1 if not mutant.name else 0 if mutant.name.startswith("never") else 2
            if replacement is None:
                edits.append((start, (1, -size, inner, number), start, before, number))
                edits.append((end, (0, size, -inner, -number), end, after, number))
            else:
                edits.append((start, (1, -size, inner, number), end, replacement, number))
    output, position, length, spans = [], 0, 0, {}
    for start, _, end, text, number in sorted(edits):
        if start < position:
            sys.exit(f"Mutant {number} overlaps another in: {source[start:end]}")
        text = text.replace("(%", f"({number}").encode()
        output += [source[position:start], text]
        first = length + start - position
        length = first + len(text)
        spans[number] = spans.get(number, (first, 0))[0], length
        position = end
    output.append(source[position:])
    return b"".join(output), spans


def switch_count(mutants):
    return (max(mutants) // FILE_STRIDE + 1) * FILE_STRIDE


def write_copy(package, mutants):
    """The tree with the mutants of one package, and their spans in it. A file is written only if it changed, so that
    the next build is short."""
    tree = BUILD / ("root" if package == "." else f"root-of-{package}")
    by_file, modules, contents, spans = {}, set(), {}, {}
    for number, mutant in mutants.items():
        if mutant.package == package:
            by_file.setdefault(mutant.file, []).append((number, mutant))
    for name in git("ls-files", "-co", "--exclude-standard"):
        path = ROOT / name
        if path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        if name in by_file:
            data, spans[name] = switched(data, by_file.pop(name))
            modules.add(name[:name.index("/", name.index("Sources/") + 8)])
        contents[name] = data, path.stat().st_mode
    if by_file:
        sys.exit(f"No such file: {', '.join(by_file)}")
    count = switch_count(mutants)
    for module in modules:
        contents[module + "/Mutants.swift"] = (SWITCHES.format(count=count) + OPERATORS).encode(), 0o644
    for name, (data, mode) in contents.items():
        path = tree / name
        if not (path.is_file() and path.read_bytes() == data):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(mode)
    for folder in ("Sources", "Tests", "ReceiptServer/Sources", "ReceiptServer/Tests"):
        for path in (tree / folder).rglob("*"):
            if path.is_file() and str(path.relative_to(tree)) not in contents:
                path.unlink()
    return tree, spans


def refused(output, tree, spans, mutants):
    """The numbers of the generated faults at which the compiler found errors. If all errors are beside them: those of
    the same declaration that can change types, or leave a variable without a value."""
    inside, near = set(), {}
    for name, line in set(re.findall(r"^(/.*?):(\d+):\d+: error: ", output, re.M)):
        path = pathlib.Path(name)
        file = str(path.relative_to(tree)) if path.is_relative_to(tree) else None
        if file not in spans:
            continue
        lines = path.read_bytes().split(b"\n")
        start = sum(len(text) + 1 for text in lines[:int(line) - 1])
        for column, message in re.findall(rf"^{re.escape(name)}:{line}:(\d+): error: (.*)", output, re.M):
            offset = start + int(column) - 1
            around = [(end - first, number) for number, (first, end) in spans[file].items()
                      if first <= offset < end and mutants[number].name]
            if around and "before being initialized" not in message:
                inside.add(min(around)[1])
            else:
                for number in spans[file]:
                    if mutants[number].name and mutants[number].name.split()[0] in ("swap", "drop"):
                        distance = max(spans[file][number][0] - offset, offset - spans[file][number][1])
                        near.setdefault((file, line), []).append((distance, number))
    if inside:
        return inside
    result = set()
    for candidates in near.values():
        declaration = mutants[min(candidates)[1]].declaration
        same = [number for _, number in candidates if mutants[number].declaration == declaration]
        swaps = {number for number in same if mutants[number].name.startswith("swap")}
        result |= swaps or set(same)
    return result
