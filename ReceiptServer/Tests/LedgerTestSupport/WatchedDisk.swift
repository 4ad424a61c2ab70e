import CWatchedVFS
import Foundation

/// A folder that SQLite uses through a VFS. It records writes and syncs, and fails the calls that a test chooses.
///
/// The data is also written to real files.
package final class WatchedDisk: @unchecked Sendable {
    package enum Operation: Sendable {
        case create(String, file: Int)
        case delete(String)
        case write(file: Int, offset: Int, bytes: [UInt8])
        case truncate(file: Int, size: Int)
        case sync(file: Int)
        /// The folder's names are durable.
        case syncNames
    }

    /// The calls that fail.
    package struct Fault: Sendable {
        package enum Kind: String, CaseIterable, Sendable {
            /// One call fails.
            case once
            /// All calls fail from then on.
            case lasting
            /// All calls that need space fail from then on.
            case full
        }

        let kind: Kind
        /// The number of calls that still succeed.
        var rest: Int

        /// - Parameter count: The number of calls that succeed first.
        package init(_ kind: Kind, after count: Int) { (self.kind, rest) = (kind, count) }
    }

    private struct State {
        var operations: [Operation] = []
        /// The numbers of the existing files, by name.
        var files: [String: Int] = [:]
        var fileCount = 0
        var fault: Fault?
        var failureCount = 0
    }

    /// The name of the VFS.
    package let vfs: String
    /// The initial contents of the folder, which are durable.
    package let beginning: [String: [UInt8]]
    private let syncTime: Duration
    private let state: Guarded<State>
    private var handle: UnsafeMutableRawPointer?

    /// - Parameters:
    ///   - folder: A path without symbolic links.
    ///   - syncTime: The delay of each sync.
    package init(_ folder: String, syncTime: Duration = .zero) throws {
        self.syncTime = syncTime
        vfs = "watched \(UUID().uuidString)"
        var beginning: [String: [UInt8]] = [:]
        var state = State()
        // SQLite recreates the WAL index when no connection uses it.
        for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted() where !name.hasSuffix("-shm") {
            beginning[name] = Array(try Data(contentsOf: URL(filePath: folder + "/" + name)))
            state.files[name] = state.fileCount
            state.fileCount += 1
        }
        self.beginning = beginning
        self.state = Guarded(state)
        handle = watched_vfs_make(
            vfs,
            { context, call in
                guard let context, let call else { return 0 }
                return Unmanaged<WatchedDisk>.fromOpaque(context).takeUnretainedValue().take(&call.pointee)
            }, Unmanaged.passUnretained(self).toOpaque())
        guard handle != nil else { throw ChildProcess.Failure(description: "no VFS") }
    }

    deinit { watched_vfs_free(handle) }

    package var operations: [Operation] { state.withLock(\.operations) }

    /// The number of operations so far.
    package var position: Int { state.withLock(\.operations.count) }

    /// Makes calls fail from now on, or with `nil`, none.
    package func fail(_ fault: Fault?) { state.withLock { $0.fault = fault } }

    /// Runs `body` while nothing fails.
    package func withoutFault<Result>(_ body: () throws -> Result) rethrows -> Result {
        let fault = state.withLock { $0.fault }
        fail(nil)
        defer { fail(fault) }
        return try body()
    }

    /// The number of calls that failed.
    package var failureCount: Int { state.withLock(\.failureCount) }

    private func take(_ call: inout watched_call) -> Int32 {
        if call.kind == watched_sync { usleep(UInt32(syncTime / .microseconds(1))) }
        return state.withLock { state in
            if let code = Self.failure(of: call, &state) {
                if call.kind == watched_write {
                    // Write only half.
                    call.written = call.length / 2
                    Self.note(call, call.written, &state)
                }
                return code
            }
            let name = call.path.map { (String(cString: $0) as NSString).lastPathComponent } ?? ""
            switch call.kind {
            case watched_opened:
                if let file = state.files[name] {
                    call.file = Int64(file)
                } else {
                    call.file = Int64(state.fileCount)
                    state.operations.append(.create(name, file: state.fileCount))
                    state.files[name] = state.fileCount
                    state.fileCount += 1
                }
            case watched_delete:
                if state.files.removeValue(forKey: name) != nil { state.operations.append(.delete(name)) }
            case watched_write: Self.note(call, call.length, &state)
            case watched_truncate:
                state.operations.append(.truncate(file: Int(call.file), size: Int(call.offset)))
            case watched_sync: state.operations.append(.sync(file: Int(call.file)))
            case watched_folder_sync: state.operations.append(.syncNames)
            default: break
            }
            return 0
        }
    }

    private static func note(_ call: watched_call, _ length: Int32, _ state: inout State) {
        let bytes = [UInt8](UnsafeRawBufferPointer(start: call.bytes, count: Int(length)))
        state.operations.append(.write(file: Int(call.file), offset: Int(call.offset), bytes: bytes))
    }

    /// Returns the error of a call, or `nil` if it doesn't fail.
    private static func failure(of call: watched_call, _ state: inout State) -> Int32? {
        guard var fault = state.fault, let code = code(of: call.kind, isFull: fault.kind == .full) else { return nil }
        guard fault.rest == 0 else {
            fault.rest -= 1
            state.fault = fault
            return nil
        }
        if fault.kind == .once { state.fault = nil }
        state.failureCount += 1
        return code
    }

    /// Returns SQLite's error for a call; `nil` if it cannot fail.
    private static func code(of kind: watched_kind, isFull: Bool) -> Int32? {
        func input(_ number: Int32) -> Int32 { 10 | number << 8 }
        if isFull {
            switch kind {
            case watched_write: return 13  // SQLITE_FULL
            case watched_shm_map: return input(19)  // SQLITE_IOERR_SHMSIZE
            default: return nil
            }
        }
        switch kind {
        case watched_open: return 14  // SQLITE_CANTOPEN
        case watched_read: return input(1)
        case watched_write: return input(3)
        case watched_sync: return input(4)
        case watched_truncate: return input(6)
        case watched_size: return input(7)
        case watched_unlock: return input(8)
        case watched_delete: return input(10)
        case watched_access: return input(13)
        case watched_lock: return input(15)
        case watched_shm_lock: return input(20)
        case watched_shm_map: return input(21)
        default: return nil
        }
    }
}
