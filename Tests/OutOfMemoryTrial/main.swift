import CFailingAllocator
import CFork
import TestSupport

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

// Verifies genuine evidence while allocations fail, each time in a child process, and prints a table of the outcomes.
//
// `out-of-memory-trial [--all] [--step N] [--verbose] [SUBJECT]...`: fails the allocations of libcrypto, or with
// `--all` those of the whole process. With a step, only each N-th number is tried. With `--verbose`, each refusal and
// crash is a line.

struct Options {
    var includesAll = false
    var step: UInt = 1
    var isVerbose = false
    var subjects: [Subject] = []

    init?(_ arguments: some Sequence<String>) {
        var arguments = Array(arguments)[...]
        while let argument = arguments.popFirst() {
            switch argument {
            case "--all": includesAll = true
            case "--verbose": isVerbose = true
            case "--step":
                guard let value = arguments.popFirst().flatMap(UInt.init), value > 0 else { return nil }
                step = value
            default:
                guard let subject = Subject(rawValue: argument) else { return nil }
                subjects.append(subject)
            }
        }
        if subjects.isEmpty { subjects = Subject.allCases }
    }
}

let schedules: [(name: String, value: failing_schedule)] = [
    ("the n-th", failing_once), ("every n-th", failing_every), ("from the n-th on", failing_onwards),
    ("none: the n-th is found elsewhere", failing_elsewhere),
]

/// The outcome of a verification. The raw value is the exit status of a child.
enum Outcome: Int32, CaseIterable {
    case verified, outOfMemory, otherHostError, refused
    /// libcrypto's initialization failed permanently: with memory again, the same process still has errors of the host.
    case unusable
    /// Fewer allocations than the number to fail.
    case notReached
    // How a child died
    case abort, segmentationFault, hang

    /// - Parameter status: as `trial_in_child` returns it.
    init(status: Int32) {
        switch status {
        case 0...: self = Outcome(rawValue: status) ?? .hang
        case -SIGSEGV, -SIGBUS: self = .segmentationFault
        case -SIGKILL, -SIGCHLD: self = .hang
        // The Swift runtime ends a process by SIGABRT, SIGILL or SIGTRAP.
        default: self = .abort
        }
    }

    static let columns: [(title: String, outcome: Outcome)] = [
        ("verified", .verified), ("`out-of-memory`", .outOfMemory), ("another error of the host", .otherHostError),
        ("refused (must be 0)", .refused), ("the same, until a restart", .unusable),
        ("abort of the Swift runtime", .abort),
        ("segmentation fault", .segmentationFault), ("hang (must be 0)", .hang),
    ]
}

/// A closure that C can call.
final class Work {
    let body: () -> Int32
    init(_ body: @escaping () -> Int32) { self.body = body }

    func inChild(seconds: UInt32) -> Int32 {
        unsafe trial_in_child(
            { context in
                guard let context = unsafe context else { return 1 }
                return unsafe Unmanaged<Work>.fromOpaque(context).takeUnretainedValue().body()
            }, Unmanaged.passUnretained(self).toOpaque(), seconds)
    }
}

/// Runs `work` with failing allocations, and then without.
func attempt(
    _ subject: Subject, _ work: () -> Refusal?, _ number: UInt, _ schedule: failing_schedule, _ options: Options
) -> Outcome {
    failing_start(number, schedule, options.includesAll ? 1 : 0)
    let refusal = work()
    guard failing_stop() >= number else { return .notReached }
    if options.isVerbose, let refusal, refusal.code != "out-of-memory" { print("\(number): \(refusal.code)") }
    if let refusal, !refusal.isOfHost { return .refused }
    if let later = work() {
        if options.isVerbose { print("\(number): later \(later.code)") }
        return later.isOfHost || subject.isConfiguration ? .unusable : .refused
    }
    return
        switch refusal?.code
    {
    case nil: .verified
    case "out-of-memory": .outOfMemory
    default: .otherHostError
    }
}

/// Tries a subject with each number and prints its rows. Returns the exit status.
func tryAll(_ subject: Subject, _ options: Options) -> Int32 {
    let work: () -> Refusal?
    do {
        work = try subject.prepared()
    } catch {
        print("\(subject.rawValue): \(error)")
        return 2
    }
    var status: Int32 = 0
    for schedule in schedules {
        var counts = [Int](repeating: 0, count: Outcome.allCases.count)
        var number: UInt = 1
        while true {
            let child = Work {
                if !options.isVerbose { closeStandardError() }
                let outcome = attempt(subject, work, number, schedule.value, options)
                fflush(nil)
                return outcome.rawValue
            }
            fflush(nil)
            let outcome = Outcome(status: child.inChild(seconds: 10))
            if outcome == .notReached { break }
            if options.isVerbose, outcome.rawValue > Outcome.notReached.rawValue { print("\(number): \(outcome)") }
            counts[Int(outcome.rawValue)] += 1
            number += options.step
        }
        let cells = Outcome.columns.map { String(counts[Int($0.outcome.rawValue)]) }
        print("| \(subject.rawValue) | \(schedule.name) | \(counts.reduce(0, +)) | \(cells.joined(separator: " | ")) |")
        // If no memory comes back, the Swift runtime dereferences NULL when it writes why it aborts.
        let faults: [Outcome] =
            schedule.value == failing_once ? [.refused, .segmentationFault, .hang] : [.refused, .hang]
        if faults.contains(where: { counts[Int($0.rawValue)] > 0 }) { status = 1 }
    }
    return status
}

/// The Swift runtime says there why it ends a process.
func closeStandardError() { close(STDERR_FILENO) }

guard failing_prepare_libcrypto() == 1, let options = Options(CommandLine.arguments.dropFirst()) else {
    print("usage: out-of-memory-trial [--all] [--step N] [--verbose] [SUBJECT]...")
    print("subjects: \(Subject.allCases.map(\.rawValue).joined(separator: ", "))")
    exit(2)
}
guard !options.includesAll || failing_has_all() == 1 else {
    print("other allocations than libcrypto's can only fail with glibc")
    exit(2)
}
print("| verified | fails | tries | \(Outcome.columns.map(\.title).joined(separator: " | ")) |")
print("| --- | --- | ---: |\(String(repeating: " ---: |", count: Outcome.columns.count))")
var status: Int32 = 0
for subject in options.subjects {
    // A process of its own, in which libcrypto has done nothing yet.
    fflush(nil)
    let result = Work {
        let status = tryAll(subject, options)
        fflush(nil)
        return status
    }.inChild(seconds: 3600)
    if result != 0 { status = 1 }
}
exit(status)
