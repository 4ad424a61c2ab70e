import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

/// `receipt batch` as a process among others: pipes, signals and terminals.
@Suite(.timeLimit(.minutes(10))) struct BatchExecutableTests {
    private let executable: URL
    private let folder: TemporaryFolder
    private let root: String
    private let receipt: String

    init() throws {
        executable = try builtExecutable()
        folder = try TemporaryFolder()
        let authority = try Minted.authority
        root = try folder.write("root.der", authority.root.certificate)
        let builder = ReceiptBuilder(bundleID: "com.example.app", purchases: [.consumable("coins", transactionID: "1")])
        receipt = Data(try builder.signed(by: authority)).base64EncodedString()
    }

    private func lines(_ count: Int) -> String {
        (0..<count).map { "{\"id\":\($0),\"receipt-data\":\"\(receipt)\"}\n" }.joined()
    }

    private func id(_ line: some StringProtocol) throws -> Int? {
        ((try JSONSerialization.jsonObject(with: Data(line.utf8)) as? NSDictionary)?["input"] as? NSDictionary)?["id"]
            as? Int
    }

    /// Starts the command with pipes for what is not given.
    private func start(
        _ words: [String] = [], input: Any, errorOutput: Any = Pipe()
    ) throws -> (process: Process, output: FileHandle) {
        let process = Process()
        process.executableURL = executable
        process.arguments = ["batch", "--root", root] + words
        process.standardInput = input
        process.standardError = errorOutput
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        return (process, output.fileHandleForReading)
    }

    private func file(_ text: String) throws -> FileHandle {
        try FileHandle(forReadingFrom: URL(filePath: try folder.write("lines", text)))
    }

    private func text(_ pipe: Any?) -> String {
        String(decoding: (pipe as? Pipe)?.fileHandleForReading.readDataToEndOfFile() ?? Data(), as: UTF8.self)
    }

    private func readLine(_ output: FileHandle) throws -> String {
        var line = Data()
        while let byte = try output.read(upToCount: 1), byte != Data("\n".utf8) { line += byte }
        return String(decoding: line, as: UTF8.self)
    }

    @Test func `a line is answered before the next one comes`() throws {
        let input = Pipe()
        let (process, output) = try start(["--brief", "--jobs", "3"], input: input)
        for number in 0..<20 {
            try input.fileHandleForWriting.write(
                contentsOf: Data("{\"id\":\(number),\"receipt-data\":\"\(receipt)\"}\n".utf8))
            #expect(try id(readLine(output)) == number)
        }
        try input.fileHandleForWriting.write(contentsOf: Data(receipt.utf8))
        try input.fileHandleForWriting.close()
        #expect(try readLine(output).hasPrefix("{\"verified\":true"))
        process.waitUntilExit()
        #expect(process.terminationStatus == 0 && process.terminationReason == .exit)
    }

    @Test func `a closed pipe ends it without a word`() throws {
        let (process, output) = try start(input: file(lines(3000)))
        #expect(try id(readLine(output)) == 0)
        try output.close()
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == 141)
        #expect(text(process.standardError) == "")
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `a signal ends it while it waits for input, with all lines answered that were there`(signal: Int32) throws {
        let input = Pipe()
        let (process, output) = try start(input: input)
        try input.fileHandleForWriting.write(contentsOf: Data(lines(3).utf8))
        for number in 0..<3 { #expect(try id(readLine(output)) == number) }
        #expect(kill(process.processIdentifier, signal) == 0)
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == 130)
        #expect(try output.readToEnd() ?? Data() == Data())
        #expect(text(process.standardError) == "")
    }

    /// An empty line has an answer of 300 bytes: a few thousand fill every pipe, and leave room in that of the input.
    @Test(arguments: zip([SIGINT, SIGTERM], [true, false]))
    func `a signal ends it while nobody takes its output, with the input at its end or not`(
        signal: Int32, isAtEnd: Bool
    ) throws {
        let input = Pipe()
        let (process, output) = try start(input: input)
        try input.fileHandleForWriting.write(contentsOf: Data(repeating: UInt8(ascii: "\n"), count: 8000))
        if isAtEnd { try input.fileHandleForWriting.close() }
        #expect(try readLine(output).contains("empty-input"))
        // Until the pipe is full, so that the write of the rest waits.
        var (byteCount, lastByteCount) = (CInt(0), CInt(-1))
        while byteCount != lastByteCount {
            lastByteCount = byteCount
            Thread.sleep(forTimeInterval: 0.2)
            #expect(unsafe ioctl(output.fileDescriptor, UInt(FIONREAD), &byteCount) == 0)
        }
        #expect(process.isRunning && kill(process.processIdentifier, signal) == 0)
        expectEnd(of: process)
        #expect(process.terminationReason == .exit && process.terminationStatus == 130)
        #expect(text(process.standardError) == "")
    }

    /// Ends it by force when it does not end by itself, within a time that suffices on any machine.
    private func expectEnd(of process: Process) {
        let deadline = ContinuousClock.now + .seconds(120)
        while process.isRunning, .now < deadline { Thread.sleep(forTimeInterval: 0.02) }
        #expect(!process.isRunning)
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }

    @Test func `a signal ends it after a whole line, however slowly its output is taken`() throws {
        let (process, output) = try start(input: file(lines(3000)))
        #expect(try id(readLine(output)) == 0)
        Thread.sleep(forTimeInterval: 0.3)
        process.interrupt()
        var rest = Data()
        // What is in the pipe and on its way there takes some seconds.
        while let part = try output.read(upToCount: 1 << 13), !part.isEmpty {
            rest += part
            Thread.sleep(forTimeInterval: 0.2)
        }
        expectEnd(of: process)
        #expect(process.terminationReason == .exit && process.terminationStatus == 130)
        let lines = String(decoding: rest, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.last == "" && lines.count < 2000)
        #expect(try lines.dropLast().map { try id($0) } == Array(1..<lines.count))
    }

    @Test func `a signal ends it at work, after a whole line`() throws {
        let (process, output) = try start(["--jobs", "4"], input: file(lines(6000)))
        #expect(try id(readLine(output)) == 0)
        process.interrupt()
        let rest = String(decoding: try output.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == 130)
        #expect(rest.hasSuffix("\n") || rest.isEmpty)
        let ids = try rest.split(separator: "\n").map { try id($0) }
        #expect(ids == Array(1..<ids.count + 1))
        #expect(ids.count < 5999)
    }

    @Test(arguments: [[], ["--only", "verified"]])
    func `after a signal, the summary says from which line to go on`(options: [String]) throws {
        let (process, output) = try start(["--jobs", "4", "--summary"] + options, input: file(lines(6000)))
        #expect(try id(readLine(output)) == 0)
        process.interrupt()
        let count = String(decoding: try output.readToEnd() ?? Data(), as: UTF8.self).split(separator: "\n").count
        process.waitUntilExit()
        let summary = text(process.standardError)
        #expect(process.terminationStatus == 130 && summary.hasPrefix("receipt: "))
        #expect(summary.contains(" refused\nreceipt: not checked: "))
        #expect(summary.hasSuffix("\nreceipt: interrupted; to go on, pass --from-line \(count + 2)\n"))
    }

    @Test func `killed again and again, it continues to what one run writes`() throws {
        let input = try folder.write("lines", (0..<8).map { _ in lines(300) + "\nx\n" }.joined())
        let (whole, output) = try start(["--allow-refused", input], input: FileHandle.nullDevice)
        let expected = try output.readToEnd()
        whole.waitUntilExit()
        let verdicts = try folder.write("verdicts", "")
        var killCount = 0
        while true {
            let (process, _) = try start(
                ["--allow-refused", "--continue", verdicts, input], input: FileHandle.nullDevice)
            // Later with each kill, so that the work ends on any machine.
            Thread.sleep(forTimeInterval: 0.02 * Double(killCount + 1))
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            guard process.terminationReason == .uncaughtSignal else { break }
            killCount += 1
        }
        print("killed \(killCount) times")
        #expect(killCount > 0)
        #expect(try Data(contentsOf: URL(filePath: verdicts)) == expected)
    }

    @Test func `a summary counts the lines that were written, and no others`() throws {
        let (process, output) = try start(["--summary"], input: file(lines(3000)))
        _ = try readLine(output)
        try output.close()
        process.waitUntilExit()
        let count = try #require(text(process.standardError).firstMatch(of: /receipt: ([0-9]+) lines/)?.1)
        // A pipe has 64 KiB, in which some thirty verdicts have room.
        #expect(try #require(Int(count)) < 200, "\(count)")
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status")))
    func `its memory does not grow with its input`() throws {
        let input = Pipe()
        let (process, output) = try start(["--brief", "--jobs", "2"], input: input)
        let lines = Data(lines(100).utf8)
        /// Sends so many times a hundred lines, and gives the most memory that the process ever had, in kilobytes.
        func peak(_ count: Int) throws -> Int {
            for _ in 0..<count {
                try input.fileHandleForWriting.write(contentsOf: lines)
                for number in 0..<100 { #expect(try id(readLine(output)) == number) }
            }
            let status = try String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
            return try #require(Int(line.filter(\.isNumber)))
        }
        let before = try peak(5)
        #expect(try peak(15) < before + 5000)
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/ptmx")))
    func `a terminal sees how far it is`() throws {
        // What posix_openpt and ptsname do, which Glibc's module does not have: TIOCSPTLCK and TIOCGPTN.
        let terminal = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var (isLocked, number): (CInt, CInt) = (0, 0)
        try #require(unsafe ioctl(terminal, 0x4004_5431, &isLocked) == 0 && ioctl(terminal, 0x8004_5430, &number) == 0)
        let other = unsafe open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
        try #require(other >= 0)
        defer { for descriptor in [terminal, other] { close(descriptor) } }
        let (process, output) = try start(
            ["--brief"], input: file(lines(300)), errorOutput: FileHandle(fileDescriptor: other))
        #expect(String(decoding: try output.readToEnd() ?? Data(), as: UTF8.self).split(separator: "\n").count == 300)
        process.waitUntilExit()
        // One read need not give all of it: how much there is depends on how long the work took.
        var text = ""
        repeat {
            text += String(decoding: FileHandle(fileDescriptor: terminal).availableData, as: UTF8.self)
        } while !text.hasSuffix("\r\n")
        #expect(text.contains(" %  ") && text.contains(" lines/s  ETA 0:"))
        #expect(text.contains("\r\u{1B}[K300 lines  "))
    }
}
