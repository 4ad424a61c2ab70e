import Foundation

/// A disk's possible contents after a power cut, which can follow any operation of a ``WatchedDisk``.
///
/// Of the unsynced changes, the disk has all, none, random writes or sectors, the last ones, or the first ones with the
/// last of them torn. If a file has grown but the bytes are lost, they are zero or random. A name refers to any file
/// that it has referred to since the folder was synced.
package struct DiskAfterCut {
    private static let sector = 512

    private enum Change {
        case write(offset: Int, bytes: [UInt8])
        case truncate(size: Int)
    }

    private struct File {
        var durable: [UInt8] = []
        var changes: [(number: Int, change: Change)] = []
    }

    private var files: [Int: File] = [:]
    private var names: [String: Int] = [:]
    /// The changes since the folder was synced.
    private var nameChanges: [(name: String, file: Int?)] = []
    private var count = 0
    private let ignoresSync: Bool

    /// - Parameter ignoresSync: Whether a sync makes nothing durable.
    package init(_ disk: WatchedDisk, ignoringSync ignoresSync: Bool = false) {
        self.ignoresSync = ignoresSync
        for (number, (name, bytes)) in disk.beginning.sorted(by: { $0.key < $1.key }).enumerated() {
            files[number] = File(durable: bytes)
            names[name] = number
        }
    }

    /// Applies one more operation before the cut.
    package mutating func apply(_ operation: WatchedDisk.Operation) {
        count += 1
        switch operation {
        case .create(let name, let file): nameChanges.append((name, file))
        case .delete(let name): nameChanges.append((name, nil))
        case .write(let file, let offset, let bytes):
            files[file, default: File()].changes.append((count, .write(offset: offset, bytes: bytes)))
        case .truncate(let file, let size):
            files[file, default: File()].changes.append((count, .truncate(size: size)))
        case .sync(let number):
            guard !ignoresSync, var file = files[number] else { return }
            for (_, change) in file.changes { Self.apply(change, to: &file.durable) { 0 } }
            file.changes = []
            files[number] = file
        case .syncNames:
            guard !ignoresSync else { return }
            for (name, file) in nameChanges { names[name] = file }
            nameChanges = []
        }
    }

    /// The unsynced changes that survive.
    private enum Kept: CaseIterable {
        case none, all, firsts, lasts, writes, sectors
    }

    /// Writes random possible contents to a folder.
    package func write(to folder: String, using generator: inout some RandomNumberGenerator) throws {
        let kept = Kept.allCases.randomElement(using: &generator) ?? .none
        for (name, file) in namesAfterCut(kept, using: &generator) {
            try Data(contents(of: file, kept, using: &generator)).write(to: URL(filePath: folder + "/" + name))
        }
    }

    private func namesAfterCut(
        _ kept: Kept, using generator: inout some RandomNumberGenerator
    ) -> [(String, Int)] {
        var result = names
        for name in Set(nameChanges.map(\.name)).sorted() {
            let states = [names[name]] + nameChanges.filter { $0.name == name }.map(\.file)
            switch kept {
            case .none: break
            case .all: result[name] = states.last ?? nil
            default: result[name] = states.randomElement(using: &generator) ?? nil
            }
        }
        return result.sorted { $0.key < $1.key }
    }

    private func contents(
        of number: Int, _ kept: Kept, using generator: inout some RandomNumberGenerator
    ) -> [UInt8] {
        guard let file = files[number] else { return [] }
        var bytes = file.durable
        let isZero = Bool.random(using: &generator)
        let place = Int.random(in: 0...file.changes.count, using: &generator)
        let isRare = Bool.random(using: &generator)
        var length = bytes.count
        for (index, (_, change)) in file.changes.enumerated() {
            if case .write(let offset, let written) = change { length = max(length, offset + written.count) }
            func fill() -> UInt8 { isZero ? 0 : UInt8.random(in: 0...255, using: &generator) }
            func chance() -> Bool { Int.random(in: 0..<4, using: &generator) == 0 ? isRare : !isRare }
            let isKept =
                switch kept {
                case .none: false
                case .all: true
                case .firsts: index < place
                case .lasts: index >= place
                case .writes, .sectors: chance()
                }
            guard case .write(let offset, let written) = change, kept == .sectors || kept == .firsts && index == place
            else {
                if isKept { Self.apply(change, to: &bytes, fill) }
                continue
            }
            // Keep random sectors, or the first ones.
            var start = 0
            var isTorn = false
            while start < written.count {
                let end = min(written.count, (offset + start) / Self.sector * Self.sector + Self.sector - offset)
                if kept == .firsts { isTorn = isTorn || chance() }
                if kept == .firsts ? !isTorn : chance() {
                    Self.apply(.write(offset: offset + start, bytes: Array(written[start..<end])), to: &bytes, fill)
                }
                start = end
            }
        }
        // The new size can survive without the bytes.
        if kept != .none, bytes.count < length, Bool.random(using: &generator) {
            Self.apply(.write(offset: length, bytes: []), to: &bytes) {
                isZero ? 0 : UInt8.random(in: 0...255, using: &generator)
            }
        }
        return bytes
    }

    private static func apply(_ change: Change, to bytes: inout [UInt8], _ fill: () -> UInt8) {
        switch change {
        case .truncate(let size): bytes.removeLast(max(0, bytes.count - size))
        case .write(let offset, let written):
            while bytes.count < offset { bytes.append(fill()) }
            let overlap = min(written.count, bytes.count - offset)
            bytes.replaceSubrange(offset..<offset + overlap, with: written[..<overlap])
            bytes.append(contentsOf: written[overlap...])
        }
    }
}
