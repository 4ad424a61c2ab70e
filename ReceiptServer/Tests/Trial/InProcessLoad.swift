import AppStoreReceipt
import Foundation
import LedgerTestSupport
import PurchaseLedger
import TrialSupport

/// Threads that redeem without HTTP, as in a program that uses the library.
enum InProcessLoad {
    /// Starts processes that redeem at the same time.
    ///
    /// - Parameter executable: The `server-trial` of the measured build.
    static func measure(
        _ location: String, processes: Int, clients: Int, seconds: Double, _ executable: URL
    ) throws -> Load.Result {
        let children = try (0..<processes).map { number in
            let child = try ChildProcess([
                executable.path(percentEncoded: false), "--in-process", location, "\(clients / processes)",
                "\(seconds)", "\(number)",
            ])
            guard child.readLine() == "ready" else { throw ChildProcess.Failure(description: child.readAll()) }
            return child
        }
        for child in children { child.write("go\n") }
        var result = Load.Result()
        for child in children {
            guard let name = child.readLine() else { throw ChildProcess.Failure(description: "no result") }
            let latencies = try Data(contentsOf: URL(filePath: name)).withUnsafeBytes { bytes in
                stride(from: 0, to: bytes.count, by: 4).map { bytes.loadUnaligned(fromByteOffset: $0, as: UInt32.self) }
            }
            try FileManager.default.removeItem(atPath: name)
            result.latencies += latencies
            child.wait()
        }
        result.answerCount = result.latencies.count
        result.seconds = seconds
        return result
    }

    /// Runs such a process: writes the microseconds of all redemptions to a file, and prints its name.
    ///
    /// - Parameter arguments: The ledger, the number of threads, the seconds, and the number of the process.
    static func run(_ arguments: [String], _ evidence: MintedEvidence) throws {
        guard arguments.count == 4, let clients = Int(arguments[1]), let seconds = Double(arguments[2]),
            let number = Int(arguments[3])
        else { throw ChildProcess.Failure(description: "--in-process LEDGER THREADS SECONDS NUMBER") }
        let ledger = try PurchaseLedger(arguments[0])
        var policy = VerificationPolicy(bundleIDs: [MintedEvidence.bundleID], environments: [.production])
        policy.clock = { .now }
        let verifier = try AppStoreVerifier(policy: policy, trust: evidence.trust)
        let purchases = try (0..<clients).map { client in
            try (0..<12).map { purchase in
                let id = (number * clients + client) * 12 + purchase + 1
                return try verifier.verify(Array(evidence.coins(id).utf8))
            }
        }
        for (client, own) in purchases.enumerated() {
            for purchase in own { _ = try ledger.redeem(purchase, for: "account \(number) \(client)") }
        }
        print("ready")
        fflush(nil)
        _ = readLine()
        let end = ContinuousClock.now + .milliseconds(Int(seconds * 1000))
        let all = Guarded<[UInt32]>([])
        let faults = Guarded<[String]>([])
        let threads = purchases.enumerated().map { client, own in
            Thread {
                var latencies: [UInt32] = []
                do {
                    var start = ContinuousClock.now
                    while start < end {
                        let purchase = own[latencies.count % own.count]
                        let redemption = try ledger.redeem(purchase, for: "account \(number) \(client)")
                        guard redemption.outcomes.map(\.outcome) == [.alreadyYours] else {
                            throw ChildProcess.Failure(description: "\(redemption.outcomes)")
                        }
                        let now = ContinuousClock.now
                        latencies.append(UInt32(clamping: Int((now - start) / .microseconds(1))))
                        start = now
                    }
                } catch {
                    faults.withLock { $0.append("\(error)") }
                }
                all.withLock { $0 += latencies }
            }
        }
        threads.forEach { $0.start() }
        while threads.contains(where: { !$0.isFinished }) { usleep(1000) }
        if let fault = faults.withLock(\.first) { throw ChildProcess.Failure(description: fault) }
        let file = FileManager.default.temporaryDirectory.appending(path: "latencies-\(UUID().uuidString)")
        try all.withLock { $0.withUnsafeBytes { Data($0) } }.write(to: file)
        print(file.path(percentEncoded: false))
    }
}
