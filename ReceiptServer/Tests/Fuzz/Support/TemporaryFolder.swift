import Foundation

/// A folder of this process, in memory where that can be, which is removed when the process ends.
package let temporaryFolder: String = {
    atexit { try? FileManager.default.removeItem(atPath: temporaryFolder) }
    let parent = FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
    let folder = parent + "/fuzz-\(ProcessInfo.processInfo.processIdentifier)"
    try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    return folder
}()

package func write(_ text: String, to path: String) throws {
    try text.write(toFile: path, atomically: true, encoding: .utf8)
}
