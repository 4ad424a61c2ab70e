#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import AppStoreReceipt

// One attack of one size, in a process of its own so that its memory is its own: `scripts/cost-table` asks for all of them.
//
//   cost-table                 the names, one a line
//   cost-table INDEX N         bytes, nanoseconds, bytes of memory at the peak, outcome
//
// Or how everything grows that a stranger can fill, for `scripts/growth-table`:
//
//   cost-table growth RECEIPT [--all] [--thorough] [WORD]...

private func status(_ key: String) -> Int {
    guard let file = unsafe fopen("/proc/self/status", "r") else { return 0 }
    defer { unsafe _ = fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while unsafe fgets(&line, 256, file) != nil {
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if text.hasPrefix(key) { return (text.split { !$0.isNumber }.first.flatMap { Int($0) } ?? 0) * 1024 }
    }
    return 0
}

/// Resets the peak of resident memory (Linux, proc(5)).
private func resetPeak() {
    guard let file = unsafe fopen("/proc/self/clear_refs", "w") else { return }
    unsafe _ = fputs("5", file)
    unsafe _ = fclose(file)
}

if CommandLine.arguments.count > 2, CommandLine.arguments[1] == "growth" {
    exit(try GrowthTable.run(CommandLine.arguments[2], Array(CommandLine.arguments.dropFirst(3))))
}
let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
if arguments.count == 2, Attack.all.indices.contains(arguments[0]) {
    let (byteCount, run) = try Attack.all[arguments[0]].prepare(arguments[1])
    resetPeak()
    let before = status("VmRSS")
    var outcome = ""
    let first = processorTime { outcome = run() }
    let peak = max(0, status("VmHWM") - before)
    // The minimum of several runs, because other work of the machine only adds time.
    var times = [first]
    while times.count < 3 || times.count < 25 && times.reduce(0, +) < 200_000_000 {
        times.append(processorTime { outcome = run() })
    }
    print(byteCount, times.min() ?? first, peak, outcome)
} else {
    for attack in Attack.all { print(attack.name) }
}
