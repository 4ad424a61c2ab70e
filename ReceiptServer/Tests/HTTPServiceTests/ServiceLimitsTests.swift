import Testing

@testable import HTTPService

struct ServiceLimitsTests {
    @Test(arguments: [("2000000", true), ("1999999", false)])
    func `the memory holds one body, or the service does not start`(memory: String, isEnough: Bool) throws {
        let values = try OptionTable(ServiceLimits.options).read(
            ["--maximum-body", "2000000", "--memory", memory]) { _ in nil }
        let message = "--memory must be at least the size of one body, 2000000"
        do throws(ConfigurationError) {
            _ = try ServiceLimits(values)
            #expect(isEnough)
        } catch {
            #expect(!isEnough && error.description == message)
        }
    }

    @Test(arguments: [(1 << 20, 4096), (4672, 4096), (4671, 4088), (1024, 848), (256, 128), (130, 2), (64, 1), (0, 1)])
    func `the connections fit into the open files`(fileCount: Int, connectionCount: Int) {
        var limits = ServiceLimits()
        limits.fit(openFileCount: fileCount)
        #expect(limits.maximumConnectionCount == connectionCount)
        #expect(limits.openFileCount <= fileCount || connectionCount == 1)
    }
}
