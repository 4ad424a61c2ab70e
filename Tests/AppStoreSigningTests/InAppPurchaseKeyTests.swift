import Dispatch
import Foundation
import Synchronization
import Testing

@testable @_spi(Surfaces) import AppStoreSigning

/// One after the other, since one changes the environment of the process.
@Suite(.serialized) struct InAppPurchaseKeyTests {
    @Test func `there are keys`() throws { #expect(try SharedCases.all.get().keys.count >= 20) }

    @Test(arguments: SharedCases.keys)
    func `a key of another kind is refused by its name, and no error has anything of it`(
        each: SharedCases.Key
    ) throws {
        let bytes = try SharedCases.bytes(of: each.file)
        let code = each.expect.code
        guard let code else {
            let key = try InAppPurchaseKey(p8: bytes)
            let signature = try key.derSignature(of: [1, 2, 3].span)
            #expect(signature.first == 0x30)
            #expect("\(key)" == "an In-App Purchase key" && String(reflecting: key) == "an In-App Purchase key")
            return
        }
        let error = try #require(#expect(throws: SigningError.self) { try InAppPurchaseKey(p8: bytes) })
        #expect(error.code.rawValue == code, "\(error)")
        #expect(error.offset.map { 0...bytes.count ~= $0 } ?? (code == "key-other-kind"))
        guard case .unusableKey(let fault) = error.reason else {
            Issue.record("\(error)")
            return
        }
        var name: String?
        if case .otherKind(let kind) = fault { name = kind.rawValue }
        #expect(name == each.expect.kind)
        if let name { #expect(error.description.contains("(\(name))")) }
        // Ten characters of a line of the file would be something of the key.
        let text = String(decoding: bytes, as: UTF8.self)
        for output in ["\(error)", String(reflecting: error), error.json] {
            for line in text.split(separator: "\n") where !line.hasPrefix("-----") && line.count >= 10 {
                for start in stride(from: 0, to: line.count - 9, by: 5) {
                    #expect(!output.contains(line.dropFirst(start).prefix(10)), "\(output)")
                }
            }
        }
    }

    @Test func `every beginning of a key and every changed byte is a key or refused`() throws {
        let bytes = try SharedCases.bytes(of: "key.p8")
        for count in 0..<bytes.count - 1 {
            #expect(throws: SigningError.self, "\(count)") { try InAppPurchaseKey(p8: Array(bytes[..<count])) }
        }
        var accepted = 0
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            if (try? InAppPurchaseKey(p8: changed)) != nil { accepted += 1 }
        }
        // Line breaks that become other whitespace, and nothing of the key.
        #expect(accepted <= 4, "\(accepted)")
    }

    @Test func `a character that is not base64 is refused where it is`() throws {
        let bytes = try SharedCases.bytes(of: "crlf.p8")
        let lines = bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }
        for index in lines[0] + 1..<lines[lines.count - 2] where bytes[index] >= UInt8(ascii: "0") {
            var changed = bytes
            changed[index] = UInt8(ascii: "*")
            let error = #expect(throws: SigningError.self) { try InAppPurchaseKey(p8: changed) }
            #expect(error?.code == .keyNotPEM && error?.offset == index)
        }
    }

    @Test func `the bytes that a key is made of are overwritten, also if it is refused`() throws {
        for file in ["key.p8", "rsa.p8", "text.p8", "encrypted.p8"] {
            var bytes = try SharedCases.bytes(of: file)
            _ = try? InAppPurchaseKey(erasing: &bytes)
            #expect(!bytes.isEmpty && bytes.allSatisfy { $0 == 0 }, "\(file)")
        }
    }

    @Test func `the decoded block of a key is overwritten, also if it is another kind`() throws {
        for file in ["key.p8", "rsa.p8", "trailing.p8", "zero.p8"] {
            let text = String(decoding: try SharedCases.bytes(of: file), as: UTF8.self)
            let base64 = text.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
            var der = Array(try #require(Data(base64Encoded: base64)))
            _ = try? PrivateKeyFile(erasing: &der)
            #expect(!der.isEmpty && der.allSatisfy { $0 == 0 }, "\(file)")
        }
    }

    /// RFC 5958, 2, and RFC 5915, 3
    @Test func `a key has the versions, the curve and the form of a point that it must have`() throws {
        func tlv(_ tag: UInt8, _ contents: [UInt8]...) -> [UInt8] {
            let bytes = Array(contents.joined())
            return [tag] + (bytes.count < 128 ? [UInt8(bytes.count)] : [0x81, UInt8(bytes.count)]) + bytes
        }
        let ecPublicKey: [UInt8] = [6, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1]
        let p256: [UInt8] = [6, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7]
        let p384: [UInt8] = [6, 5, 0x2B, 0x81, 4, 0, 34]
        func code(version: UInt8 = 0, keyVersion: UInt8 = 1, curve: [UInt8]? = nil, pointCount: Int? = nil)
            -> SigningError.Code?
        {
            let fields = curve.map { tlv(0xA0, $0) } ?? []
            let point = pointCount.map { tlv(0xA1, tlv(3, [0], [UInt8](repeating: 4, count: $0))) } ?? []
            let key = tlv(0x30, [2, 1, keyVersion], tlv(4, [UInt8](repeating: 1, count: 32)), fields, point)
            var der = tlv(0x30, [2, 1, version], tlv(0x30, ecPublicKey, p256), tlv(4, key))
            do throws(SigningError) {
                _ = try PrivateKeyFile(erasing: &der)
                return nil
            } catch {
                return error.code
            }
        }
        let refused = SigningError.Code.keyNotPKCS8
        #expect(code() == nil && code(version: 1) == nil && code(version: 2) == refused)
        #expect(code(keyVersion: 0) == refused && code(keyVersion: 2) == refused)
        #expect(code(curve: p256) == nil && code(curve: p384) == refused)
        #expect(code(pointCount: 65) == nil && code(pointCount: 64) == refused && code(pointCount: 33) == refused)
    }

    // MARK: Files

    @Test(arguments: [0o600, 0o400, 0o700])
    func `a file that its owner alone can read is taken`(rights: Int) throws {
        let folder = try TemporaryFolder()
        _ = try InAppPurchaseKey(file: folder.write("key.p8", SharedCases.bytes(of: "key.p8"), rights: rights))
    }

    @Test(arguments: [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644, 0o660, 0o777])
    func `a file that others can read or change is refused`(rights: Int) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("key.p8", SharedCases.bytes(of: "key.p8"), rights: rights)
        #expect(throws: SigningError(.unusableKey(.accessibleToOthers))) { try InAppPurchaseKey(file: path) }
    }

    @Test func `what is no file is refused, and nothing waits for it`() throws {
        let folder = try TemporaryFolder()
        let pipe = folder.url.appending(path: "pipe").path
        #expect(mkfifo(pipe, 0o600) == 0)
        for path in [pipe, folder.url.path, "/dev/zero"] {
            #expect(throws: SigningError(.unusableKey(.noFile)), "\(path)") { try InAppPurchaseKey(file: path) }
        }
        let key = try folder.write("key.p8", SharedCases.bytes(of: "key.p8"))
        for path in [folder.url.path + "/none", "", key + "\0"] {
            #expect(throws: SigningError(.unusableKey(.unreadable(ENOENT)))) { try InAppPurchaseKey(file: path) }
        }
        // Opened, and nothing at its beginning can be read.
        #expect(throws: SigningError(.unusableKey(.unreadable(EIO)))) { try InAppPurchaseKey(file: "/proc/self/mem") }
        let large = try folder.write("large", [UInt8](repeating: 0x41, count: 65537))
        #expect(throws: SigningError(.unusableKey(.tooLarge))) { try InAppPurchaseKey(file: large) }
        let limit = try folder.write("limit", [UInt8](repeating: 0x41, count: 65536))
        #expect(throws: SigningError(.unusableKey(.notPEM), offset: 0)) { try InAppPurchaseKey(file: limit) }
    }

    @Test func `a credential of systemd is taken with the rights that its access list shows`() throws {
        let folder = try TemporaryFolder()
        let key = try SharedCases.bytes(of: "key.p8")
        let path = try folder.write("app-store-key", key, rights: 0o440)
        _ = try folder.write("open", key, rights: 0o444)
        // systemd writes none that its group can change.
        _ = try folder.write("changed", key, rights: 0o460)
        let inner = folder.url.appending(path: "inner")
        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: false)

        unsetenv("CREDENTIALS_DIRECTORY")
        let none = SigningError(.unusableKey(.noCredential))
        #expect(throws: none) { try InAppPurchaseKey(systemdCredential: "app-store-key") }
        #expect(throws: SigningError(.unusableKey(.accessibleToOthers))) { try InAppPurchaseKey(file: path) }

        setenv("CREDENTIALS_DIRECTORY", folder.url.path, 1)
        defer { unsetenv("CREDENTIALS_DIRECTORY") }
        _ = try InAppPurchaseKey(systemdCredential: "app-store-key")
        _ = try InAppPurchaseKey(file: path)
        for name in ["", ".", "..", "a/b", "inner/../app-store-key", "a\0b"] {
            #expect(throws: none, "\(name)") { try InAppPurchaseKey(systemdCredential: name) }
        }
        #expect(throws: SigningError(.unusableKey(.unreadable(ENOENT)))) {
            try InAppPurchaseKey(systemdCredential: "none")
        }
        for name in ["open", "changed"] {
            #expect(throws: SigningError(.unusableKey(.accessibleToOthers)), "\(name)") {
                try InAppPurchaseKey(systemdCredential: name)
            }
        }
        // A way out of the folder is no credential.
        #expect(throws: SigningError(.unusableKey(.accessibleToOthers))) {
            try InAppPurchaseKey(file: folder.url.path + "/inner/../app-store-key")
        }
        setenv("CREDENTIALS_DIRECTORY", "credentials", 1)
        #expect(throws: none) { try InAppPurchaseKey(systemdCredential: "app-store-key") }
    }

    // MARK: Memory

    /// Searches what the process can write for the number of `erased.p8` and a part of its text. They are stored here
    /// with their bits inverted.
    private struct Search {
        private static let invertedText: [UInt8] = [
            0xBC, 0xA6, 0x8D, 0xCE, 0xBB, 0xB6, 0xCC, 0xA9, 0xB5, 0xA5, 0xAA, 0xA7, 0x89, 0xAF, 0xBB, 0xB2,
            0xC8, 0xAC, 0x94, 0xAC, 0xB8, 0x96, 0xB2, 0xB8, 0xB8, 0x8C, 0xD4, 0x97, 0xAD, 0xBE, 0xB1, 0xBC,
        ]
        private static let inverted: [UInt8] = [
            0x6A, 0xE1, 0x39, 0x06, 0xB3, 0x71, 0x44, 0x0D, 0x69, 0xB3, 0xCB, 0x03, 0xF6, 0x75, 0x0A, 0xF3,
            0x72, 0x2A, 0xDA, 0x6A, 0xE8, 0x43, 0x0F, 0x33, 0x12, 0xD6, 0xED, 0xE5, 0xDC, 0xF9, 0xE5, 0x30,
        ]
        private let page: UnsafeMutablePointer<UInt8>
        private static let pageCount = 4096

        init() {
            // A page of its own, to be passed over.
            page = mmap(nil, Self.pageCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                .assumingMemoryBound(to: UInt8.self)
            for index in 0..<32 {
                page[index] = ~Self.inverted[index]
                // The order of libcrypto's numbers.
                page[64 + index] = ~Self.inverted[31 - index]
                page[128 + index] = ~Self.invertedText[index]
            }
        }

        func end() { munmap(page, Self.pageCount) }

        /// How often the number is there as in the file, and as libcrypto computes with it, and how often the text.
        func counts() throws -> [Int] {
            let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
            let memory = open("/proc/self/mem", O_RDONLY)
            defer { close(memory) }
            let size = 1 << 20
            let chunk = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)!
            defer { munmap(chunk, size) }
            var counts = [0, 0, 0]
            for line in maps.split(separator: "\n") where line.split(separator: " ")[1].hasPrefix("rw") {
                let ends = line.split(separator: " ")[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
                var start = ends[0]
                while start < ends[1] {
                    let count = pread(memory, chunk, min(size, Int(ends[1] - start)), off_t(start))
                    // A thread can free a part of a region meanwhile, whatever else is in it.
                    guard count >= 32 else {
                        start = (start / UInt(Self.pageCount) + 1) * UInt(Self.pageCount)
                        continue
                    }
                    let own = [UInt(bitPattern: page), UInt(bitPattern: chunk)]
                    for needle in 0..<3 {
                        counts[needle] += occurrences(of: page + 64 * needle, in: chunk, count, at: start, apart: own)
                    }
                    start += UInt(count < size ? count : count - 31)
                }
            }
            return counts
        }

        private func occurrences(
            of needle: UnsafePointer<UInt8>, in chunk: UnsafeMutableRawPointer, _ count: Int, at start: UInt,
            apart own: [UInt]
        ) -> Int {
            var found = 0
            var position = 0
            while count - position >= 32, let match = memchr(chunk + position, CInt(needle[0]), count - position - 31) {
                let offset = match - UnsafeMutableRawPointer(chunk)
                position = offset + 1
                guard memcmp(match, needle, 32) == 0 else { continue }
                let address = start + UInt(offset)
                let isOwn = own[0]..<own[0] + 4096 ~= address || own[1]..<own[1] + 1 << 20 ~= address
                if !isOwn { found += 1 }
            }
            return found
        }
    }

    /// In a process of its own: while other tests take and free memory, a search overlooks some.
    @Test func `nothing of a key is left in memory when it goes`() async {
        await #expect(processExitsWith: .success) { try Self.findNothingOfKey() }
    }

    private static func findNothingOfKey() throws {
        let folder = try TemporaryFolder()
        let path = folder.url.appending(path: "key.p8").path
        // Copied by the kernel, not by this process.
        let copy = Process()
        copy.executableURL = URL(filePath: "/usr/bin/install")
        copy.arguments = ["-m", "600", SharedCases.folder.appending(path: "erased.p8").path, path]
        try copy.run()
        copy.waitUntilExit()
        func changed(_ name: String, by command: String) throws -> String {
            let file = folder.url.appending(path: name).path
            let sed = Process()
            sed.executableURL = URL(filePath: "/bin/sh")
            sed.arguments = ["-c", "umask 077; sed '\(command)' \(path) > \(file)"]
            try sed.run()
            sed.waitUntilExit()
            return file
        }
        // A file with so much whitespace that its decoder gets memory in which there is room for much more.
        let wide = try changed("wide.p8", by: #"2,4s/./&\n\n\n\n\n\n\n\n/g"#)
        // One that is faulty at its end, when the number has been read.
        let faulty = try changed("faulty.p8", by: "4s/.$/*/")
        let search = Search()
        defer { search.end() }
        #expect(try search.counts() == [0, 0, 0])
        // Many, on threads of their own: what one frees, it would use again for the next.
        let keys = Mutex<[InAppPurchaseKey]>([])
        DispatchQueue.concurrentPerform(iterations: 32) {
            guard let key = try? InAppPurchaseKey(file: $0 % 2 == 0 ? path : wide) else { return }
            keys.withLock { $0.append(key) }
        }
        #expect(throws: SigningError.self) { try InAppPurchaseKey(file: faulty) }
        DispatchQueue.concurrentPerform(iterations: 32) { _ in _ = try? InAppPurchaseKey(file: faulty) }
        // Only libcrypto has them: each once, to compute with.
        let loaded = try search.counts()
        #expect(loaded[0] == 0 && loaded[1] >= 32 && loaded[2] == 0, "\(loaded)")
        DispatchQueue.concurrentPerform(iterations: 32) { index in
            let key = keys.withLock { $0[index] }
            for _ in 0..<10 { _ = try? key.es256Signature(of: [1, 2, 3].span) }
        }
        let used = try search.counts()
        #expect(used[0] == 0 && used[1] >= 32 && used[2] == 0, "\(used)")
        keys.withLock { $0.removeAll() }
        #expect(try search.counts() == [0, 0, 0])
    }
}
