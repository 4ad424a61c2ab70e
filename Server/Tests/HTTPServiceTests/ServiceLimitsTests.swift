import Testing

@testable import HTTPService

struct ServiceLimitsTests {
    @Test(arguments: [(1 << 20, 4096), (4672, 4096), (4671, 4088), (1024, 848), (256, 128), (130, 2), (64, 1), (0, 1)])
    func `the connections fit into the open files`(fileCount: Int, connectionCount: Int) {
        var limits = ServiceLimits()
        limits.fit(openFileCount: fileCount)
        #expect(limits.maximumConnectionCount == connectionCount)
        #expect(limits.openFileCount <= fileCount || connectionCount == 1)
    }
}
